// The commands of an installed Countersign, from the tasks of deno.json, with their help texts; and the words that can follow each, for
// the completion of shells.

/** A command. */
export interface ListedCommand {
  readonly name: string;
  /** Below the folder of the sources: "cli/pair.ts". */
  readonly program: string;
  /** Of the runtime. */
  readonly flags: readonly string[];
  readonly summary: string;
}

/** A command with the text of its `--help`, and those of its resources. */
export interface DocumentedCommand extends ListedCommand {
  readonly help: string;
  /** By the words after `countersign`: "admin log-export". */
  readonly helpOf: ReadonlyMap<string, string>;
}

/** The tasks of deno.json. */
type Tasks = Readonly<Record<string, { readonly description: string; readonly command: string }>>;

/** The package has everything, so that no command downloads or asks. */
const INSTALLED_FLAGS = ["--no-prompt", "--cached-only", "--no-remote"];

/** The tasks that an administrator runs: the gateway, and the commands. Others build and test the product. */
export function listCommands(tasks: Tasks): ListedCommand[] {
  return Object.entries(tasks).flatMap(([name, { description, command }]) => {
    const found = /(?:^|&& )(?:[A-Z_]+=\w+ )?deno run (?<flags>.+) (?<program>main\.ts|cli\/\w+\.ts)$/.exec(
      command,
    )?.groups;
    if (found === undefined) return [];
    const { flags = "", program = "" } = found;
    const given = flags.split(" ");
    const summary = name === "start"
      ? "Run the gateway, as the service does"
      : description.replace(/: deno task .*$/, "");
    return [{
      name,
      program,
      flags: [...given, ...INSTALLED_FLAGS.filter((one) => !given.includes(one))],
      summary,
    }];
  });
}

/** The file that the launcher reads: a line for each command, with tabs. */
export function commandTable(commands: readonly ListedCommand[]): string {
  return commands.map(({ name, program, flags, summary }) =>
    `${[name, bundledProgram(program), flags.join(" "), summary].join("\t")}\n`
  )
    .join("");
}

/** The path of a program in the bundle: "cli/pair.ts" → "cli/pair.mjs". */
export const bundledProgram = (program: string): string => program.replace(/\.ts$/, ".mjs");

/** The words that can follow `countersign` and the words of the key: commands, actions, and options. */
export function completionWords(commands: readonly DocumentedCommand[]): Map<string, string[]> {
  const words = new Map([["", [...commands.map(({ name }) => name), "check", "version", "--help"]]]);
  for (const { name, help, helpOf } of commands) {
    for (const [at, text] of [[name, help] as const, ...helpOf]) {
      const below = [...helpOf.keys()].flatMap((one) =>
        one.startsWith(`${at} `) ? [one.slice(at.length + 1)] : []
      );
      words.set(at, [...new Set([...below, ...actionsIn(text, at), ...optionsIn(text), "--help"])]);
    }
  }
  return words;
}

/** The first words after the command in the lines of its usage. */
function actionsIn(help: string, at: string): string[] {
  return help.split("\n").flatMap((line) => {
    const [, word = ""] = line.startsWith(`  countersign ${at} `)
      ? /^ *([a-z][a-z-]*)/.exec(line.slice(14 + at.length)) ?? []
      : [];
    return word === "" ? [] : [word];
  });
}

const optionsIn = (help: string): string[] => help.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [];
