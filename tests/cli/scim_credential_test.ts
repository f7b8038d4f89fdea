// `deno task scim-credential` as an operator runs it.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type CredentialPlan, planScimCredential } from "../../cli/scim_credential.ts";
import { createPasswordHasher } from "../../platform/password_hasher.ts";
import { openDataDir } from "../../platform/data_dir.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { type Credential, Credentials } from "../../scim/http/credentials.ts";
import { openOperator, openStandIn, type Operator } from "./operator.ts";

/** The owner of the name and password, by the rules of a server that starts now. */
async function checkStored(
  { dataDir }: Operator,
  given: { name: string; password: string },
): Promise<Credential | null> {
  const random = createSystemRandom();
  const { store, vault, close } = await openDataDir(dataDir, { random, masterKeyHex: "" });
  const credentials = new Credentials({
    store,
    vault,
    random,
    clock: systemClock,
    log: createLog({ format: "text", level: "error", clock: systemClock, write: () => {} }),
    hasher: createPasswordHasher({ random, cost: { costLog2: 4 } }),
    settings: [],
  });
  const found = await credentials.check(given, "192.0.2.1");
  await close();
  return found;
}

function printedPassword(stdout: string): string {
  return /Password: ([\w-]{32}) /.exec(stdout)?.[1] ?? "none was printed";
}

Deno.test("deno task scim-credential creates, lists and revokes a credential without a server", async () => {
  await using operator = await openOperator();
  const added = await operator.run("scim_credential", "add", "saas", "--access", "write");
  assertEquals([added.code, added.stderr], [0, ""]);
  const password = printedPassword(added.stdout);
  for (
    const part of [
      'Created the credential "saas" with write access to "default".',
      `Password: ${password}   (shown only once)`,
      "curl -u 'saas' 'http://127.0.0.1:8080/idm/scim/default/Users'",
    ]
  ) assertStringIncludes(added.stdout, part);
  assertEquals((await checkStored(operator, { name: "saas", password }))?.access, "write");

  const listed = await operator.run("scim_credential", "list");
  assertStringIncludes(listed.stdout, "1 credential.");
  assertStringIncludes(listed.stdout, "saas  write   default");
  assertEquals(listed.stdout.includes(password), false);

  const again = await operator.run("scim_credential", "add", "saas");
  assertEquals([again.code, again.stdout], [1, ""]);
  assertStringIncludes(
    again.stderr,
    'Cannot create the credential "saas": A credential or a connection with this name already exists.',
  );

  const revoked = await operator.run("scim_credential", "revoke", "saas");
  assertEquals([revoked.code, revoked.stdout], [0, 'Revoked the credential "saas".\n']);
  assertEquals(await checkStored(operator, { name: "saas", password }), null);
  const unknown = await operator.run("scim_credential", "revoke", "saas");
  assertEquals([unknown.code, unknown.stdout], [1, ""]);
  assertStringIncludes(unknown.stderr, 'Cannot revoke the credential "saas": No credential has this name.');
});

Deno.test("deno task scim-credential calls a running server, which knows the change at once", async () => {
  await using operator = await openOperator();
  await using standIn = await openStandIn(operator);
  const added = await operator.run("scim_credential", "add", "saas", "--target=default");
  const right = { name: "saas", password: printedPassword(added.stdout) };
  assertEquals((await standIn.identity.credentials.check(right, "192.0.2.1"))?.access, "read");
  await operator.run("scim_credential", "revoke", "saas");
  assertEquals(await standIn.identity.credentials.check(right, "192.0.2.1"), null);
});

Deno.test("deno task scim-credential add --password-stdin reads a password, and prints none", async () => {
  await using operator = await openOperator();
  const password = "a password of this length";
  const added = await operator.type(`${password}\n`, "scim_credential", "add", "saas", "--password-stdin");
  assertEquals([added.code, added.stderr, /Password/.test(added.stdout)], [0, "", false]);
  assertEquals((await checkStored(operator, { name: "saas", password }))?.name, "saas");
  const short = await operator.type("short\n", "scim_credential", "add", "other", "--password-stdin");
  assertEquals([short.code, short.stderr.includes('"short"')], [1, false]);
  assertStringIncludes(short.stderr, "12 to 1024 characters");
  const none = await operator.type("", "scim_credential", "add", "other", "--password-stdin");
  assertEquals([none.code, none.stderr], [1, "Cannot create the credential: no password was entered.\n"]);
});

const TWO_TARGETS = `
[targets.default.backends.local]
kind = "store"
[targets.corp.backends.local]
kind = "store"
[[scim.credential]]
name = "configured"
password = "planted password of the settings"
targets = ["corp"]
access = "write"
`;
Deno.test("deno task scim-credential knows the targets and the credentials of the settings", async () => {
  await using operator = await openOperator({ toml: TWO_TARGETS });
  const which = await operator.run("scim_credential", "add", "saas");
  assertEquals(which.code, 1);
  assertStringIncludes(which.stderr, "choose its targets with --target.");
  const unknown = await operator.run("scim_credential", "add", "saas", "--target", "nothing");
  assertEquals(unknown.code, 1);
  assertStringIncludes(unknown.stderr, 'There is no target "nothing". The settings define ');
  const both = await operator.run(
    "scim_credential",
    "add",
    "saas",
    "--target",
    "corp",
    "--target",
    "default",
  );
  assertStringIncludes(both.stdout, 'with read access to "corp", "default".');
  for (const args of [["add", "configured", "--target", "corp"], ["revoke", "configured"]]) {
    const refused = await operator.run("scim_credential", ...args);
    assertEquals([refused.code, refused.stdout], [1, ""]);
    assertStringIncludes(
      refused.stderr,
      "This credential is defined in the settings file. Change it there, and restart the server.",
    );
  }
  const listed = await operator.run("scim_credential", "list");
  assertStringIncludes(listed.stdout, "configured  write   corp           the settings");
  assertEquals(listed.stdout.includes("planted"), false);
});

const add = { kind: "add", name: "saas", targets: null, access: "read", readsPassword: false } as const;
const PLANS: readonly (readonly [args: string[], plan: CredentialPlan])[] = [
  [["list"], { kind: "list" }],
  [["revoke", "saas"], { kind: "revoke", name: "saas" }],
  [["add", "saas"], add],
  [["add", "--access=write", "saas"], { ...add, access: "write" }],
  [["add", "saas", "--target", "a", "--target=b"], { ...add, targets: "a,b" }],
  [["add", "saas", "--password-stdin"], { ...add, readsPassword: true }],
];
for (const [args, plan] of PLANS) {
  Deno.test(`planScimCredential() reads ${args.join(" ")}`, () => {
    assertEquals(planScimCredential(args), plan);
  });
}

const WRONG = [
  [],
  ["add"],
  ["revoke"],
  ["show", "saas"],
  ["add", "saas", "other"],
  ["list", "saas"],
  ["list", "--target", "a"],
  ["revoke", "saas", "--access", "read"],
  ["add", "saas", "--access"],
  ["add", "saas", "--access", "read", "--access", "write"],
  ["add", "saas", "--access", "admin"],
  ["add", "saas", "--password", "on the command line"],
];
for (const args of WRONG) {
  Deno.test(`planScimCredential() explains what is wrong with "${args.join(" ")}"`, () => {
    const problem = planScimCredential(args);
    assert(typeof problem === "string" && problem !== "" && !problem.includes("on the command line"));
  });
}

Deno.test("deno task scim-credential with wrong arguments ends with 2 and the usage; --help with 0", async () => {
  await using operator = await openOperator();
  const wrong = await operator.run("scim_credential", "add");
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertStringIncludes(wrong.stderr, "deno task scim-credential add <name>");
  const bad = await operator.run("scim_credential", "add", "a b");
  assertEquals([bad.code, bad.stdout], [1, ""]);
  assertStringIncludes(bad.stderr, "letters A to Z");
  const help = await operator.run("scim_credential", "--help");
  assertEquals([help.code, help.stderr], [0, ""]);
});
