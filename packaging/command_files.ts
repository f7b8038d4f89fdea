// Writes the files of a package that come from the list of commands: what the launcher reads, the man page, and completions of shells.
// Usage: deno run -A packaging/command_files.ts <root of the tree>

import { bashCompletion, fishCompletion, zshCompletion } from "./completion.ts";
import {
  commandTable,
  completionWords,
  type DocumentedCommand,
  listCommands,
  type ListedCommand,
} from "./command_list.ts";
import { manPage } from "./man_page.ts";

const ROOT = decodeURIComponent(new URL("../", import.meta.url).pathname);

type RunArguments = (args: readonly string[]) => Promise<{ readonly out: string }>;

/** What a command prints for `--help`. Most programs export a function for their arguments; the others are started. */
async function helpText({ flags, program }: ListedCommand, words: readonly string[] = []): Promise<string> {
  const args = [...words, "--help"];
  if (program.startsWith("cli/")) {
    const exported: Record<string, unknown> = await import(`${ROOT}${program}`);
    const [, run] = Object.entries(exported).find(([name]) => name.endsWith("Command")) ?? [];
    if (run !== undefined) return (await (run as RunArguments)(args)).out;
  }
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, `${ROOT}${program}`, ...args],
    env: { NO_COLOR: "1" },
  }).output();
  if (code !== 0) {
    throw new Error(`${program} --help ended with ${code}: ${new TextDecoder().decode(stderr)}`);
  }
  return new TextDecoder().decode(stdout);
}

/** The resources that the help of a command lists. */
function resourcesIn(help: string): string[] {
  const [, list = ""] = /\nResources:\n((?: {2}\S.*\n)+)/.exec(help) ?? [];
  return list.split("\n").flatMap((line) => /^ {2}(\S+)/.exec(line)?.[1] ?? []);
}

/** The commands of this checkout with their help texts. Starts each command. */
async function documentCommands(): Promise<DocumentedCommand[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const documented: DocumentedCommand[] = [];
  for (const command of listCommands(tasks)) {
    const { name } = command;
    const help = await helpText(command);
    const ofResources = resourcesIn(help).map(async (one) =>
      [`${name} ${one}`, await helpText(command, [one])] as const
    );
    documented.push({ ...command, help, helpOf: new Map(await Promise.all(ofResources)) });
  }
  return documented;
}

/** The files, by their paths below the root of an installed system. */
function commandFiles(
  commands: readonly DocumentedCommand[],
  { date, version }: { date: string; version: string },
): Map<string, string> {
  const words = completionWords(commands);
  const summaries = new Map(commands.map(({ name, summary }) => [name, summary]));
  return new Map([
    ["usr/lib/countersign/commands", commandTable(commands)],
    ["usr/lib/countersign/version", `countersign ${version}\n`],
    ["usr/share/man/man1/countersign.1", manPage(commands, { version, date })],
    ["usr/share/bash-completion/completions/countersign", bashCompletion(words)],
    ["usr/share/zsh/vendor-completions/_countersign", zshCompletion(words)],
    ["usr/share/fish/vendor_completions.d/countersign.fish", fishCompletion(words, summaries)],
  ]);
}

if (import.meta.main) {
  const [root] = Deno.args;
  if (root === undefined) throw new Error("Usage: deno run -A packaging/command_files.ts <root of the tree>");
  // Before the modules are loaded, whose texts contain it.
  Deno.env.set("COUNTERSIGN_COMMAND", "countersign");
  const { VERSION: version } = await import(`${ROOT}compose.ts`);
  // Builds of one commit are equal: packages set the time of the commit.
  const seconds = Number(Deno.env.get("SOURCE_DATE_EPOCH") ?? Date.now() / 1000);
  const date = new Date(seconds * 1000).toISOString().slice(0, 10);
  for (const [path, text] of commandFiles(await documentCommands(), { date, version })) {
    await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
  Deno.exit();
}
