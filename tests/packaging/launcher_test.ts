// The launcher of the package with a stub of the runtime, and what packaging/ derives from the tasks of deno.json.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { bundledProgram, commandTable, completionWords, listCommands } from "../../packaging/command_list.ts";
import { bashCompletion } from "../../packaging/completion.ts";
import { runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
const COMMANDS = listCommands(tasks);

/** Shows who runs it, with what, and makes a file. */
const STUB = `#!/bin/sh
touch "$STUB_FILE"
id -un
printf '%s\\n' "$@" "command=$COUNTERSIGN_COMMAND config=$COUNTERSIGN_CONFIG cache=$DENO_DIR log=$DENO_LOG token=\${TOKEN-} quoted=\${QUOTED-} set=$SET"
`;

async function installed() {
  const folder = await Deno.makeTempDir({ prefix: "launcher_" });
  await Deno.chmod(folder, 0o755);
  await Deno.writeTextFile(`${folder}/deno`, STUB, { mode: 0o755 });
  await Deno.writeTextFile(`${folder}/commands`, commandTable(COMMANDS));
  await Deno.writeTextFile(`${folder}/version`, "countersign 1.2.3\n");
  await Deno.writeTextFile(
    `${folder}/environment`,
    `# A comment\n  TOKEN = a b$(touch ${folder}/injected) \r\nQUOTED= "q" \nSET=file\n; x\n9A=1\nA-B=2\n`,
  );
  const installedAt = (await Deno.readTextFile(`${ROOT}packaging/bin/countersign`))
    .replaceAll("/usr/lib/countersign", folder)
    .replace("/etc/countersign/environment", `${folder}/environment`)
    .replace("SERVICE_USER=countersign", "SERVICE_USER=nobody");
  const launcher = `${folder}/countersign`;
  await Deno.writeTextFile(launcher, installedAt, { mode: 0o755 });
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runProgram("/bin/sh", {
      args: [launcher, ...args],
      env: {
        COUNTERSIGN_CONFIG: `${folder}/countersign.toml`,
        STUB_FILE: "/dev/null",
        SET: "caller",
        ...env,
      },
    });
  return {
    ...{ folder, launcher, run },
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
  const { flags = [] } = COMMANDS.find(({ name }) => name === "pair") ?? {};
  const [, ...lines] = stdout.trimEnd().split("\n");
  assertEquals(lines.slice(0, -1), [
    ...["run", "--no-code-cache"],
    ...flags,
    `${launcher.folder}/node_modules/countersign/${bundledProgram("cli/pair.ts")}`,
    "ada b",
    "--totp",
    "-",
  ]);
  assertEquals(
    lines.at(-1),
    `command=countersign config=${launcher.folder}/countersign.toml cache=/dev/null/cache ` +
      `log=error,deno::cache=off token=a b$(touch ${launcher.folder}/injected) quoted=q set=caller`,
  );
});

Deno.test("a command of root continues as the user of the service, without rights of root", async () => {
  await using launcher = await installed();
  const nobody = await runProgram("/usr/bin/id", { args: ["-u", "nobody"] });
  const ofService = `${launcher.folder}/data`;
  await Deno.mkdir(ofService, { mode: 0o700 });
  await Deno.chown(ofService, Number(nobody.stdout), null);
  const file = `${ofService}/made`;
  const { stdout, stderr, code } = await launcher.run(["backup", file], { STUB_FILE: file });
  assertEquals([code, stderr, stdout.split("\n")[0]], [0, "", "nobody"]);
  const { uid, mode } = await Deno.stat(file);
  assertEquals([uid, (mode ?? 0) & 0o777], [Number(nobody.stdout), 0o600]);
  // A link that the service planted: the command must not follow it to what only root can write.
  await Deno.mkdir(`${launcher.folder}/private`, { mode: 0o700 });
  const planted = `${ofService}/lock`;
  await Deno.symlink(`${launcher.folder}/private/made`, planted);
  const ended = await launcher.run(["pair", "ada"], { STUB_FILE: planted });
  assertMatch(ended.stderr, /Permission denied/);
  // sudo can keep variables of the caller.
  for (const name of ["COUNTERSIGN_USER", "COUNTERSIGN_LIBRARY", "COUNTERSIGN_ENVIRONMENT"]) {
    const kept = await launcher.run(["pair", "ada"], {
      [name]: name === "COUNTERSIGN_USER" ? "root" : "/tmp",
    });
    assertEquals(kept.stdout.split("\n")[0], "nobody", name);
  }
});

Deno.test("the launcher names files and directories in the arguments that the service cannot use", async () => {
  await using launcher = await installed();
  const secret = `${launcher.folder}/private`;
  await Deno.mkdir(secret, { mode: 0o700 });
  await Deno.writeTextFile(`${secret}/seeds.csv`, "", { mode: 0o644 });
  await Deno.writeTextFile(`${launcher.folder}/seeds.csv`, "", { mode: 0o644 });
  const rows = [
    [["tokens", "import", `${secret}/seeds.csv`], /^The user nobody cannot read .*\/seeds\.csv\./],
    [["admin", "x", "add", `--ca-file=${secret}/seeds.csv`], /^The user nobody cannot read .*\/seeds\.csv\./],
    [["backup", `${secret}/new`], /^The user nobody cannot write to .*\/private\/\./],
    [["export", "--output", `${secret}/new`], /^The user nobody cannot write to .*\/private\/\./],
    [["support-bundle"], /^The user nobody cannot write to \.\/\./],
    [["tokens", "import", `${launcher.folder}/seeds.csv`], null],
    [["export", `--output=${secret}/new`], /^The user nobody cannot write to .*\/private\/\./],
    // The command says that it is missing.
    [["import", `${launcher.folder}/missing.csv`], null],
    [["pair", "EXAMPLE\\ada", "--url=https://a.example/b", "-", ""], null],
  ] as const;
  for (const [args, err] of rows) {
    const { code, stderr } = await launcher.run(args);
    assertEquals(code, err === null ? 0 : 1, args.join(" "));
    if (err !== null) assertMatch(stderr, err);
  }
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
    args: ["--reuid=nobody", "--clear-groups", "/bin/sh", launcher.launcher, "pair", "ada"],
    env: { COUNTERSIGN_CONFIG: `${launcher.folder}/countersign.toml` },
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
