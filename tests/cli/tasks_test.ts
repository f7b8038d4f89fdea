// Every task of deno.json that runs a command, in its own process with the permissions of the task. Other tests of commands call them in
// their process.

import { assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { openOperator, openStandIn } from "./operator.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** The flags of a task, and its program. */
type Task = readonly [flags: readonly string[], program: string];

const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
const TASKS = new Map<string, Task>(
  Object.entries<{ command: string }>(tasks).flatMap(([name, { command }]) => {
    const [, flags = "", program] = /^deno run (.+) (cli\/\w+\.ts)$/.exec(command) ?? [];
    return program === undefined ? [] : [[name, [flags.split(" "), program]]];
  }),
);

/** Arguments, `~` for the folder of the operator, with the exit code and both streams. */
interface Run {
  readonly line: string;
  readonly stdin?: string;
  readonly code?: number;
  readonly out?: RegExp;
  readonly err?: RegExp;
}

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const NOTHING = /^$/;
const WITHOUT_SERVER: readonly Run[] = [
  { line: "check-config", out: /countersign\.toml is valid\./ },
  { line: "pair ann --device d", out: /^Added the device "d"/ },
  { line: "unlock", code: 2, err: /^Cannot use the arguments: .*\n\nUnlock a user/ },
  { line: "backup ~/a.backup", out: /^Backed up \d+ entries/ },
  { line: "restore ~/a.backup --force", out: /^Restored \d+ entries/, err: /^Deleting \d+ entries/ },
  { line: "move-store ~/data/countersign.kv ~/copy.kv", out: / {2}pairing 1\n/ },
  { line: "try --help", out: /deno task try/ },
];
const WITH_SERVER: readonly Run[] = [
  { line: "pair ann --totp -", stdin: `${SEED}\n`, out: /^Added / },
  { line: "backup ~/b.backup", out: /^Backed up \d+ entries/ },
  { line: "support-bundle ~/a.tar.gz", out: /^Wrote / },
  { line: "restore ~/a.backup --force", code: 1, err: /another process uses it/ },
  { line: "import default ~/people.csv", out: /^1 created, / },
  { line: "export default", out: /^\{.*"userName":"bob".*\}\n$/ },
  { line: "settings list", out: /^ +key +source +value\n/ },
  { line: "disconnect --user ann", out: /./ },
  { line: "shadow-report", out: /^No client is in shadow mode/ },
  { line: "tokens list", out: /^There are no such tokens\.\n$/ },
  { line: "enrol campaigns", out: /^There are no campaigns\.\n$/ },
  { line: "unlock ann --show", out: /^"ann" is not locked\./ },
  { line: "client forget vpn", code: 1, err: /^There is no client "vpn"\./ },
  { line: "scim-credential list", out: /^There are no credentials\.\n$/ },
  { line: "admin log-export list", out: /^There are no destinations\.\n$/ },
  { line: "mail-test a@example.com", code: 1, err: /^No mail server is configured\./ },
  { line: "refresh default", out: /^Target "default" is up to date/ },
  { line: "outbox default", out: /^Target "default" has no pending writes\.\n$/ },
];

Deno.test("every task of a command works with its permissions, with and without a running server", async () => {
  await using operator = await openOperator();
  const { home } = operator;
  await Deno.writeTextFile(`${home}/people.csv`, "userName\nbob\n");
  const run = async ({ line, stdin, code = 0, out = NOTHING, err = NOTHING }: Run) => {
    const [task = "", ...args] = line.replaceAll("~", home).split(" ");
    const [flags, program] = TASKS.get(task) as Task;
    const ended = await runProgram(Deno.execPath(), {
      args: ["run", ...flags, `${ROOT}${program}`, ...args],
      cwd: home,
      env: { NO_COLOR: "1", COUNTERSIGN_CONFIG: `${home}/countersign.toml`, COUNTERSIGN_MASTER_KEY: "" },
      ...stdin === undefined ? {} : { stdin },
    });
    assertEquals(ended.code, code, `${line}: ${ended.stderr}`);
    assertMatch(ended.stdout, out, line);
    assertMatch(ended.stderr, err, line);
  };
  for (const one of WITHOUT_SERVER) await run(one);
  await using _server = await openStandIn(operator);
  for (const one of WITH_SERVER) await run(one);
  const ran = [...WITHOUT_SERVER, ...WITH_SERVER].map(({ line }) => line.split(" ")[0]);
  assertEquals(new Set(ran), new Set(TASKS.keys()));
});

Deno.test("deno task starts a command in the repository, and passes on its arguments and its exit code", async () => {
  await using operator = await openOperator();
  const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
    args: ["task", "--quiet", "pair", "ann", "--fax", "1"],
    cwd: ROOT,
    env: { NO_COLOR: "1", COUNTERSIGN_CONFIG: `${operator.home}/countersign.toml` },
  });
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^Cannot use the arguments: unknown option '--fax'/);
});
