// The launcher of the package with a stub of the runtime, and what packaging/ derives from the tasks of deno.json.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { commandTable, completionWords, listCommands } from "../../packaging/command_list.ts";
import { bashCompletion } from "../../packaging/completion.ts";
import { runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
const COMMANDS = listCommands(tasks);

/** Shows who runs it, with what, and makes a file. */
const STUB = `#!/bin/sh
touch "$STUB_FILE"
id -un
printf '%s\\n' "$@" "command=$COUNTERSIGN_COMMAND config=$COUNTERSIGN_CONFIG cache=$DENO_DIR token=\${TOKEN-} quoted=\${QUOTED-} set=$SET"
`;

async function installed() {
  const folder = await Deno.makeTempDir({ prefix: "launcher_" });
  await Deno.chmod(folder, 0o755);
  await Deno.writeTextFile(`${folder}/deno`, STUB, { mode: 0o755 });
  await Deno.writeTextFile(`${folder}/commands`, commandTable(COMMANDS));
  await Deno.writeTextFile(`${folder}/version`, "countersign 1.2.3\n");
  await Deno.writeTextFile(
    `${folder}/environment`,
    `# A comment\nTOKEN=a b$(touch ${folder}/injected)\nQUOTED="q"\nSET=file\n; x\n9A=1\nA-B=2\n`,
  );
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runProgram("/bin/sh", {
      args: [`${ROOT}packaging/bin/countersign`, ...args],
      env: {
        COUNTERSIGN_LIBRARY: folder,
        COUNTERSIGN_ENVIRONMENT: `${folder}/environment`,
        COUNTERSIGN_CONFIG: `${folder}/countersign.toml`,
        COUNTERSIGN_USER: "nobody",
        STUB_FILE: `${folder}/made`,
        SET: "caller",
        ...env,
      },
    });
  return {
    ...{ folder, run },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

Deno.test("the launcher has every command of deno.json, and no task of the development", async () => {
  const programs: string[] = [];
  for await (const { name } of Deno.readDir(`${ROOT}cli`)) {
    const text = await Deno.readTextFile(`${ROOT}cli/${name}`);
    if (text.includes("import.meta.main")) programs.push(`cli/${name}`);
  }
  assertEquals(COMMANDS.map(({ program }) => program).toSorted(), [...programs, "main.ts"].toSorted());
  for (const { summary, flags } of COMMANDS) {
    assertMatch(summary, /^[A-Z][^\t]*[^:]$/);
    assertEquals(new Set(flags).size, flags.length);
    assert(flags.includes("--cached-only") && flags.includes("--no-remote") && flags.includes("--no-prompt"));
  }
  await using launcher = await installed();
  const { stdout, code } = await launcher.run(["--help"]);
  assertEquals(code, 0);
  for (const { name, summary } of COMMANDS) {
    assert(stdout.split("\n").some((line) => line.startsWith(`  ${name} `) && line.endsWith(summary)), name);
  }
});

Deno.test("the launcher passes on arguments, and the variables of the service that are not set", async () => {
  await using launcher = await installed();
  const { stdout, code } = await launcher.run(["pair", "ada b", "--totp", "-"]);
  assertEquals(code, 0);
  const { flags = [], program } = COMMANDS.find(({ name }) => name === "pair") ?? {};
  const [, ...lines] = stdout.trimEnd().split("\n");
  assertEquals(lines.slice(0, -1), [
    "run",
    ...flags,
    `${launcher.folder}/app/${program}`,
    "ada b",
    "--totp",
    "-",
  ]);
  assertEquals(
    lines.at(-1),
    `command=countersign config=${launcher.folder}/countersign.toml cache=${launcher.folder}/cache ` +
      `token=a b$(touch ${launcher.folder}/injected) quoted=q set=caller`,
  );
});

Deno.test("a command of root continues as the user of the service, with the right to write where root can", async () => {
  await using launcher = await installed();
  // Only root can write here.
  await Deno.mkdir(`${launcher.folder}/private`, { mode: 0o700 });
  const file = `${launcher.folder}/private/made`;
  const { stdout, stderr, code } = await launcher.run(["backup", "x"], { STUB_FILE: file });
  assertEquals([code, stderr, stdout.split("\n")[0]], [0, "", "nobody"]);
  const { uid, mode } = await Deno.stat(file);
  const nobody = await runProgram("/usr/bin/id", { args: ["-u", "nobody"] });
  assertEquals([uid, (mode ?? 0) & 0o777], [Number(nobody.stdout), 0o600]);
  // The gateway itself has no rights of root.
  const started = await launcher.run(["start"], { STUB_FILE: `${launcher.folder}/private/other` });
  assertMatch(started.stderr, /Permission denied/);
});

Deno.test("the launcher refuses unknown commands, and names root to a user who cannot read the settings", async () => {
  await using launcher = await installed();
  const rows = [
    [["nope"], 2, /^There is no command "nope"\./],
    [["pai"], 2, /^There is no command "pai"\./],
    [[".*"], 2, /^There is no command ".\*"\./],
  ] as const;
  for (const [args, code, err] of rows) {
    const ended = await launcher.run(args);
    assertEquals([ended.code, ended.stdout], [code, ""], args[0]);
    assertMatch(ended.stderr, err);
  }
  assertEquals((await launcher.run(["version"])).stdout, "countersign 1.2.3\n");
  await Deno.writeTextFile(`${launcher.folder}/countersign.toml`, "", { mode: 0o600 });
  const asUser = await runProgram("setpriv", {
    args: ["--reuid=nobody", "--clear-groups", "/bin/sh", `${ROOT}packaging/bin/countersign`, "pair", "ada"],
    env: { COUNTERSIGN_LIBRARY: launcher.folder, COUNTERSIGN_CONFIG: `${launcher.folder}/countersign.toml` },
  });
  assertEquals(asUser.code, 1);
  assertMatch(asUser.stderr, /as nobody\. Run the command as root: sudo countersign pair/);
});

Deno.test("bash completes commands, actions, options and files", async () => {
  const help = "Usage:\n  countersign enrol invite --all  Invite.\n  countersign enrol report  Write.\n";
  const helpOf = new Map([[
    "admin log-export",
    "Usage:\n  countersign admin log-export add <name>  Add.\n  --url <url>\n",
  ]]);
  const words = completionWords(
    COMMANDS.map((one) => ({
      ...one,
      help: one.name === "enrol" ? help : "",
      helpOf: one.name === "admin" ? helpOf : new Map(),
    })),
  );
  const complete = async (line: string): Promise<string> => {
    const typed = line.split(" ");
    const script = `complete() { :; }\n${bashCompletion(words)}\nCOMP_WORDS=(${
      typed.map((word) => `'${word}'`).join(" ")
    }) COMP_CWORD=${typed.length - 1}\n_countersign; echo "\${COMPREPLY[*]}"`;
    const { stdout, stderr } = await runProgram("bash", { args: ["-c", script] });
    assertEquals(stderr, "");
    return stdout.trim();
  };
  assertEquals(await complete("countersign ba"), "backup");
  assertEquals(await complete("countersign enrol "), "invite report --all --help");
  assertEquals(await complete("countersign enrol invite --a"), "--all");
  assertEquals(await complete("countersign admin "), "log-export --help");
  assertEquals(await complete("countersign admin log-export "), "add --url --help");
  assertEquals(await complete("countersign backup /tmp"), "");
});
