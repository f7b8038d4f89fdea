// `deno task pair` as an operator runs it: with and without a server, with its exit codes and its output.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type NewFactor, type PairAction, planPair } from "../../cli/pair.ts";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { openOperator, openStandIn } from "./operator.ts";

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const random = createSystemRandom();
const EXTERNAL_SERVICE = `
[second_factor]
url = "https://api.example.com"
consumer_key = "our-consumer-key"
consumer_secret = "our-consumer-secret"
`;

Deno.test("deno task pair adds, lists and revokes factors without a server", async () => {
  await using operator = await openOperator();
  const device = await operator.run("pair", "Ann Lee", "--device", "dev-1");
  assertEquals([device.code, device.stderr], [0, ""]);
  assertStringIncludes(device.stdout, 'Added the device "dev-1" with 6-digit passcodes to "Ann Lee".');
  assertEquals((await operator.run("pair", "--sms", "+1 415 555 0123", "ann lee")).code, 0);

  const list = await operator.run("pair", "ann lee", "--list");
  assertEquals(list.code, 0);
  const [head = "", ...rows] = list.stdout.split("\n").filter((line) => line.startsWith("  "));
  assertEquals(head.trim().split(/ {2,}/), ["ID", "user", "kind", "name", "details", "created"]);
  const at = head.indexOf("kind");
  assertEquals(rows.map((row) => row.slice(at).split(" ")[0]), ["device", "sms"]);
  assertEquals(rows.map((row) => row.trim().split(/ {2,}/)[3]), ["6-digit passcodes", "+1*******123"]);
  assert(!list.stdout.includes("4155550123"));

  const revoked = await operator.run("pair", "--revoke", "dev-1");
  assertEquals([revoked.code, revoked.stderr], [0, ""]);
  assertStringIncludes((await operator.run("pair", "--list")).stdout, "1 factor.");
  const again = await operator.run("pair", "--revoke", "dev-1");
  assertEquals([again.code, again.stdout], [1, ""]);
});

Deno.test("deno task pair works with a running server, which knows the change at once", async () => {
  await using operator = await openOperator();
  await using standIn = await openStandIn(operator);
  const paired = await operator.run("pair", "ann", "--device", "dev-1", "--totp-length", "0");
  assertEquals([paired.code, paired.stderr], [0, ""]);
  assertEquals(standIn.radius.pairings.of("ann").map(({ id }) => id), ["dev-1"]);
  const taken = await operator.run("pair", "bob", "--device", "dev-1");
  assertEquals([taken.code, taken.stdout], [1, ""]);
  assertStringIncludes(
    taken.stderr,
    'Cannot add the factor to "bob": That pairing id is in use. Revoke it at its user first.',
  );
});

Deno.test("deno task pair --totp - reads the secret from standard input and shows it nowhere", async () => {
  await using operator = await openOperator();
  const good = await operator.type(`${SEED}\nsomething else\n`, "pair", "ann", "--totp", "-");
  assertEquals([good.code, good.stderr], [0, ""]);
  const again = await operator.type(SEED.toLowerCase(), "pair", "ann", "--totp", "-");
  assertEquals(again.code, 1);
  const bad = await operator.type(`${SEED}!\n`, "pair", "ann", "--totp", "-");
  assertEquals(bad.code, 1);
  const none = await operator.type("", "pair", "ann", "--totp", "-");
  assertEquals(none.code, 1);
  const long = await operator.type("A".repeat(5000), "pair", "ann", "--totp", "-");
  assertEquals(long.code, 1);
  for (const { stdout, stderr } of [good, again, bad, none]) {
    assert(!(stdout + stderr).toUpperCase().includes("JBSWY3DP"));
  }
});

Deno.test("deno task pair --invite prints the link, a QR code, the expiry and why phones may not reach it", async () => {
  await using operator = await openOperator();
  const { code, stdout, stderr } = await operator.run("pair", "ann", "--invite");
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^http:\/\/127\.0\.0\.1:8080\/device#invite=[\w-]{22}$/m);
  assertMatch(stdout, /^The link expires at \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/m);
  assert(stdout.split("\n").filter((line) => /^[█▀▄ ]{29,}$/.test(line)).length >= 15);
  for (const setting of ["http.listen", "http.public_url"]) assertStringIncludes(stdout, setting);
});

Deno.test("deno task pair --invite with an external service is refused, and explains how to pair instead", async () => {
  await using operator = await openOperator({ toml: EXTERNAL_SERVICE });
  const { code, stdout, stderr } = await operator.run("pair", "ann", "--invite");
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "embedded second-factor service");
  assertStringIncludes(stderr, "--device <pairing_id>");
});

Deno.test("deno task pair --prefer is listed", async () => {
  await using operator = await openOperator();
  assertEquals((await operator.run("pair", "ann", "--prefer", "voice")).code, 0);
  assertStringIncludes((await operator.run("pair", "ann", "--list")).stdout, "Default factor: voice");
});

/** Wrong arguments, and a word of the error message. */
const WRONG = [
  [[], "is missing"],
  [["ann"], "is missing"],
  [["--sms", "+14155550123"], "the user is missing"],
  [["ann", "bob", "--list"], "more than one"],
  [["ann", "--list", "--invite"], "exclude"],
  [["ann", "--fax", "secret-value"], "--fax"],
  [["ann", "--fax=secret-value"], "--fax"],
  [["ann", "--sms"], "argument missing"],
  [["ann", "--sms", "+14155550123", "--totp-length", "6"], "--device"],
  [["ann", "--list=all"], "does not take an argument"],
  [["ann", "--prefer", "fax"], "one of device, sms, voice, totp, or none"],
  [["ann", "--prefer", "toString"], "one of device"],
] as const;

for (const [args, word] of WRONG) {
  Deno.test(`planPair() refuses ${JSON.stringify(args)} and repeats no value`, () => {
    const plan = planPair(args);
    const problem = typeof plan === "string" ? plan : plan.does;
    assertStringIncludes(problem, word);
    assert(!problem.includes("secret-value"));
  });
}

/** Typed lengths, and the length of the pairing; `null`: wrong use. */
const LENGTHS = [
  ["6", 6],
  ["0", 0],
  ["08", 8],
  ["10", 10],
  ["3", null],
  ["11", null],
  ["", null],
  ["0x6", null],
  ["-1", null],
  ["1e1", null],
] as const;

for (const [typed, totpLength] of LENGTHS) {
  Deno.test(`planPair() reads --totp-length ${JSON.stringify(typed)} as digits or not at all`, () => {
    const plan = planPair(["ann", "--device", "d", `--totp-length=${typed}`]);
    if (totpLength === null) {
      assertEquals(plan, "--totp-length must be 4 to 10, or 0 for no passcodes");
    } else assertEquals(plan, add({ kind: "device", id: "d", totpLength }));
  });
}

/** Arguments, and the action of the command. */
const PLANS: readonly (readonly [args: readonly string[], action: PairAction])[] = [
  [["ann", "--device", "d"], add({ kind: "device", id: "d", totpLength: 6 })],
  [["--sms", "+1", "ann"], add({ kind: "sms", number: "+1" })],
  [["ann", "--voice=+1"], add({ kind: "voice", number: "+1" })],
  [["ann", "--totp", SEED], add({ kind: "totp", seed: SEED })],
  [["ann", "--totp", "-"], add({ kind: "totp", seed: "-" })],
  [["ann", "--invite"], { does: "invite", user: "ann" }],
  [["ann", "--prefer", "sms"], { does: "prefer", user: "ann", factor: "sms" }],
  [["ann", "--prefer", "none"], { does: "prefer", user: "ann", factor: null }],
  [["--list"], { does: "list", user: null }],
  [["ann", "--list"], { does: "list", user: "ann" }],
  [["--revoke", "d"], { does: "revoke", user: null, id: "d" }],
  [["ann", "--revoke", "d"], { does: "revoke", user: "ann", id: "d" }],
];
for (const [args, action] of PLANS) {
  Deno.test(`planPair() reads ${args.join(" ")}`, () => {
    assertEquals(planPair(args), action);
  });
}

function add(factor: NewFactor): PairAction {
  return { does: "add", user: "ann", factor };
}

Deno.test("deno task pair with wrong arguments ends with exit code 2, the usage, and no data directory", async () => {
  await using operator = await openOperator();
  const { code, stdout, stderr } = await operator.run("pair", "ann", "--fax", "secret-value");
  assertEquals([code, stdout], [2, ""]);
  assert(!stderr.includes("secret-value"));
  assertStringIncludes(stderr, "deno task pair <user> --device <pairing_id>");
  assertEquals([...Deno.readDirSync(operator.home)].map(({ name }) => name), ["countersign.toml"]);
});

Deno.test("deno task pair lists all faults of the settings without a secret", async () => {
  await using operator = await openOperator({
    toml: '[radius]\nsecret = "env:NOT_THERE"\nstate = "maybe"\n',
  });
  const { code, stderr } = await operator.run("pair", "--list");
  assertEquals(code, 1);
  for (const part of ["radius.secret", "radius.state", "environment"]) assertStringIncludes(stderr, part);
});

Deno.test("deno task pair escapes control characters of a terminal", async () => {
  await using operator = await openOperator();
  await using standIn = await openStandIn(operator);
  const user = "an\u001b[31mn\u202e";
  const { pairings } = standIn.radius;
  pairings.adopt(
    pairings.prepare({ canonical: user, shown: user }, { kind: "sms", number: "+14155550123" }).pairing,
  );
  const { stdout } = await operator.run("pair", "--list");
  assertStringIncludes(stdout, "an\\u001b[31mn\\u202e");
});

Deno.test("two simultaneous commands both succeed without a server", async () => {
  await using operator = await openOperator();
  const ended = await Promise.all(["a", "b"].map((id) => operator.start("pair", "ann", "--device", id)));
  assertEquals(ended.map(({ code, stderr }) => [code, stderr]), [[0, ""], [0, ""]]);
  assertStringIncludes((await operator.run("pair", "--list")).stdout, "2 factors.");
});

Deno.test("deno task pair ignores a socket that a killed server left", async () => {
  await using operator = await openOperator();
  await Deno.mkdir(operator.dataDir, { mode: 0o700 });
  const listener = Deno.listen({ transport: "unix", path: `${operator.home}/s` });
  await Deno.link(`${operator.home}/s`, `${operator.dataDir}/control.sock`);
  listener.close();
  assertEquals((await operator.run("pair", "ann", "--device", "d")).code, 0);
});

Deno.test("deno task pair reads the master key from the environment like the server", async () => {
  const key = { COUNTERSIGN_MASTER_KEY: "ab".repeat(32) };
  await using operator = await openOperator({ env: key });
  assertEquals((await operator.run("pair", "ann", "--totp", SEED)).code, 0);
  const other = openDataDir(operator.dataDir, { random, masterKeyHex: "cd".repeat(32) });
  assertEquals(await other.then(() => "opened", (fault: Error) => fault.name), "Error");
  assert(![...Deno.readDirSync(operator.dataDir)].some(({ name }) => name === "master.key"));
});

testNeeding(
  { peers: [], root: true },
  "deno task pair refuses a data directory of another user",
  async () => {
    await using operator = await openOperator();
    await Deno.mkdir(operator.dataDir, { mode: 0o700 });
    await Deno.chown(operator.dataDir, 65534, 65534);
    const { code, stderr } = await operator.run("pair", "ann", "--device", "d");
    assertEquals(code, 1);
    assertStringIncludes(stderr, "it belongs to user 65534");
    assertEquals([...Deno.readDirSync(operator.dataDir)], []);
  },
);
