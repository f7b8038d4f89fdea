// Credentials with the real listener: fast guesses, malformed and revoked credentials; and an administrator elsewhere
// who is not affected.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { MAX_FAILURES_PER_SOURCE } from "../../platform/failure_limit.ts";
import { runProgram } from "../support/child.ts";
import { PROGRAM_FLAGS, type RunningProgram, startProgram } from "../support/program.ts";
import { basic, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, READER, STRANGER, WRITER } from "../scim/rows/rows_world.ts";
import { sendRaw } from "./identity_raw.ts";

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: credentialsToml(["default", "small"]) + "[targets.small]\n" });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
});
Deno.test.afterAll(() => gateway.dispose());

const ask = (authorization: string | null, { from = "127.0.0.1", path = "/idm/scim/default/Users" } = {}) =>
  sendRaw({
    httpUrl: gateway.httpUrl,
    head: `GET ${path} HTTP/1.1\r\n${authorization === null ? "" : `Authorization: ${authorization}\r\n`}`,
    from,
    // Checks of one source run one after another, and each takes seconds on a busy machine.
    timeoutMs: 300_000,
  });

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
const RIGHT = base64(`${WRITER.name}:${WRITER.password}`);

/** Headers that are no credential; a request with one is no guess. */
const MALFORMED: readonly (string | null)[] = [
  null,
  "",
  "Basic",
  "Basic ",
  "Basic !!!!",
  `Basic ${RIGHT}=`,
  `Basic ${RIGHT} ${RIGHT}`,
  `Basic ${base64("no colon")}`,
  `Basic ${new Uint8Array([0xff, 0x3a, 0xff]).toBase64()}`,
  `Basic ${base64("a\u0000:b")}`,
  `Bearer ${RIGHT}`,
  `Digest username="${WRITER.name}"`,
  `Basic${RIGHT}`,
  `"Basic ${RIGHT}"`,
  `Basic ${base64("x".repeat(9000))}`,
];
for (const [at, given] of MALFORMED.entries()) {
  Deno.test(`credential ${at}, ${given?.slice(0, 24) ?? "none"}: 401 with a challenge, and nothing about the target`, async () => {
    for (
      const path of [
        "/idm/scim/default/Users",
        "/idm/scim/nowhere/Users",
        "/idm/scim/default/Me",
        "/idm/scim",
      ]
    ) {
      const { status, text } = await ask(given, { path });
      assertEquals(status, 401);
      assertMatch(text, /^www-authenticate: Basic realm="[^"]+", charset="UTF-8"\r$/im);
      assertMatch(text, /"status":"401"/);
      const body = text.slice(text.indexOf("\r\n\r\n"));
      assert(!body.includes("nowhere") && !body.includes("default"));
    }
  });
}

Deno.test("the scheme is case-insensitive, and two headers are no credential", async () => {
  assertEquals((await ask(`bAsIc ${RIGHT}`)).status, 200);
  const twice = await ask(`Basic ${RIGHT}\r\nAuthorization: Basic ${base64("other:wrong")}`);
  assert(twice.status === 401 || twice.status === 400, String(twice.status));
});

Deno.test("a credential is valid for its targets: another is 403, one that does not exist 404", async () => {
  const path = "/idm/scim/small/Users";
  assertEquals((await ask(basic(STRANGER), { path })).status, 200);
  assertEquals((await ask(basic(STRANGER))).status, 403);
  assertEquals((await ask(basic(STRANGER), { path: "/idm/scim/nowhere/Users" })).status, 404);
  assertEquals((await ask(basic(READER), { path })).status, 200);
});

const GUESSES = 60;

Deno.test("fast guesses: soon 429 with Retry-After; the correct credential passes, from there and elsewhere", async () => {
  const from = "127.0.0.9";
  const wrong = (at: number) => basic({ name: WRITER.name, password: `guess-${at}` });
  const answers = await Promise.all(Array.from({ length: GUESSES }, (_, at) => ask(wrong(at), { from })));
  const limited = answers.filter(({ status }) => status === 429);
  assertEquals(answers.filter(({ status }) => status === 200), []);
  assert(limited.length >= GUESSES - 10, `${limited.length} of ${GUESSES} were slowed down`);
  for (const { text } of limited) {
    const [, seconds = "0"] = /^retry-after: (\d+)\r$/im.exec(text) ?? [];
    assert(Number(seconds) >= 1 && Number(seconds) <= 60, seconds);
    assertMatch(text, /"status":"429"/);
  }
  assertEquals((await ask(basic(WRITER), { from })).status, 200);
  assertEquals((await ask(basic(WRITER), { from: "127.0.0.2" })).status, 200);
  assertEquals((await scim.get("/Users")).status, 200);
});

Deno.test("guesses of unknown names have the same limit", async () => {
  const from = "127.0.0.10";
  const startedMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => ask(basic({ name: `nobody${at}`, password: "x" }), { from })),
  );
  const minutes = Math.ceil((performance.now() - startedMs) / 60_000);
  const { 401: checked = [], 429: limited = [] } = Object.groupBy(answers, ({ status }) => status);
  assertEquals(checked.length + limited.length, answers.length);
  assert(checked.length <= MAX_FAILURES_PER_SOURCE * minutes, `${checked.length} in ${minutes} min`);
});

/** Runs the command for credentials beside the running gateway. */
async function command(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, "cli/scim_credential.ts", ...args],
    env: { COUNTERSIGN_CONFIG: gateway.configPath, NO_COLOR: "1" },
  });
  if (code !== 0) throw new Error(`${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

Deno.test("a credential of the command works at once with its permissions, and is refused after it is revoked", async () => {
  const printed = await command("add", "okta", "--target", "default", "--access", "read");
  const words = printed.match(/[A-Za-z0-9_-]{30,}/g) ?? [];
  assert(words.length > 0, printed);
  const account = { name: "okta", password: words[0] ?? "" };
  assertEquals((await scim.call("/Users", { as: account })).status, 200);
  assertEquals((await scim.call("/Users", { as: account, method: "POST", body: {} })).status, 403);
  assert(!(await command("list")).includes(account.password));
  // From its own address, because the next request is a failure.
  assertEquals((await ask(basic(account), { from: "127.0.0.11" })).status, 200);
  await command("revoke", "okta");
  assertEquals((await ask(basic(account), { from: "127.0.0.11" })).status, 401);
});

Deno.test("the log has the guessed name and the source, twice, and never the guesses", async () => {
  await gateway.logged("127.0.0.9");
  const lines = gateway.logLines().join("\n");
  assert(lines.includes("127.0.0.9") && lines.includes(WRITER.name));
  assert(!/guess-\d/.test(lines) && !lines.includes(WRITER.password) && !lines.includes(RIGHT));
});

Deno.test("a limited source is told when to retry, and that time comes nearer", async () => {
  // Its own address: guesses of other tests count for a minute.
  const from = "127.0.0.12";
  const waitS = async () => {
    const guess = basic({ name: WRITER.name, password: "guess-again" });
    const { status, text } = await ask(guess, { from });
    const [, seconds = "0"] = /^retry-after: (\d+)\r$/im.exec(text) ?? [];
    return [status, Number(seconds)] as const;
  };
  for (let at = 0; at < 5; at++) assertEquals(await waitS(), [401, 0]);
  const [status, before] = await waitS();
  assertEquals(status, 429);
  // More attempts meanwhile do not extend it.
  for (const end = performance.now() + 2500; performance.now() < end;) {
    await ask(basic({ name: WRITER.name, password: "guess-late" }), { from });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const [, after] = await waitS();
  assert(after <= before - 2, `${before} s before, ${after} s after`);
});
