// `deno task scim-connection` as an operator runs it, and its arguments.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type ConnectionPlan, planScimConnection } from "../../cli/scim_connection.ts";
import { requestEntry } from "../scim/v2/connections/stage.ts";
import { openOperator, openStandIn } from "./operator.ts";

/** The secrets that a text prints. */
const secretsIn = (text: string): string[] =>
  [...text.matchAll(/\bcs[ts]_[\w-]{43}\b/g)].map(([found]) => found);

Deno.test("deno task scim-connection creates, lists, pauses, rotates, revokes and removes without a server", async () => {
  await using operator = await openOperator();
  const added = await operator.run("scim_connection", "add", "okta", "--kind", "okta", "--days=90");
  assertEquals([added.code, added.stderr], [0, ""]);
  const [token = ""] = secretsIn(added.stdout);
  for (
    const part of [
      'Created the connection "okta" with write access to "default".',
      "Base URL:  http://127.0.0.1:8080/scim/v2/default",
      `Token:     ${token}   (shown only once)`,
    ]
  ) assertStringIncludes(added.stdout, part);

  const paused = await operator.run("scim_connection", "pause", "okta");
  assertEquals([paused.code, paused.stdout], [0, 'Paused the connection "okta".\n']);
  const listed = await operator.run("scim_connection", "list");
  assertMatch(listed.stdout, /^1 connection\.\n/);
  assertMatch(listed.stdout, /okta {2}okta {2}default {2}write {3}paused {2}none\n/);
  assertEquals(listed.stdout.includes(token), false);
  assertEquals((await operator.run("scim_connection", "resume", "okta")).code, 0);

  const rotated = await operator.run("scim_connection", "rotate", "okta", "--overlap-hours", "1");
  assertStringIncludes(rotated.stdout, "The old one is valid for 1 hour.");
  assertEquals(secretsIn(rotated.stdout).length, 1);
  const again = await operator.run("scim_connection", "rotate", "okta");
  assertEquals([again.code, again.stdout], [1, ""]);
  assertStringIncludes(again.stderr, 'Cannot rotate the secret of "okta": choose one with --secret.');
  const secrets = await operator.run("scim_connection", "list", "okta");
  assertStringIncludes(secrets.stdout, "has 2 secrets.");
  const [, id = ""] = /^ {2}([\w-]{16}) {2}token/m.exec(secrets.stdout) ?? [];
  const revoked = await operator.run("scim_connection", "revoke", "okta", "--", id);
  assertEquals([revoked.code, revoked.stdout], [0, `Revoked the secret "${id}" of "okta".\n`]);

  const removed = await operator.run("scim_connection", "remove", "okta");
  assertEquals([removed.code, removed.stdout], [0, 'Removed the connection "okta".\n']);
  const unknown = await operator.run("scim_connection", "pause", "okta");
  assertEquals([unknown.code, unknown.stdout], [1, ""]);
  assertStringIncludes(unknown.stderr, 'Cannot read the connection "okta": No connection has this name.');
  const reserved = await operator.run("scim_connection", "add", "okta", "--kind", "okta");
  assertStringIncludes(reserved.stderr, "was removed in the last 30 days");
});

Deno.test("deno task scim-connection calls a running server, which knows the change at once", async () => {
  await using operator = await openOperator();
  await using standIn = await openStandIn(operator);
  const { connections } = standIn.identity;
  const added = await operator.run("scim_connection", "add", "entra", "--kind=entra", "--oauth", "--dry-run");
  assertMatch(added.stdout, /Token endpoint: {2}http:\S+\/scim\/oauth\/token\n {2}Client ID: +entra\n/);
  const [secret = ""] = secretsIn(added.stdout);
  const issue = () => connections.issueToken({ clientId: "entra", clientSecret: secret }, "192.0.2.1");
  const used = await connections.authenticate(`Bearer ${(await issue())?.token}`, "192.0.2.1");
  assertEquals([used?.settings.kind, used?.settings.dryRun], ["entra", true]);
  connections.record(
    requestEntry({ connection: "entra", status: 409, detail: "The name is taken.\x1b[31m" }),
  );
  const requests = await operator.run("scim_connection", "requests", "entra", "--outcome", "refused");
  assertMatch(requests.stdout, /The last 1 request of "entra", newest first\./);
  assertMatch(requests.stdout, /users\.create {2}ada +409 +192\.0\.2\.1 {2}The name is taken\. \[31m\n/);
  const none = await operator.run("scim_connection", "requests", "entra", "--text", "unknown");
  assertEquals(none.stdout, "There are no such requests.\n");
  await operator.run("scim_connection", "remove", "entra");
  assertEquals(await issue(), null);
});

const ADD = { verb: "add", name: "okta", kind: "okta", target: null } as const;
/** Arguments, and the plan or the problem. */
const PLANS: readonly (readonly [string, ConnectionPlan | string])[] = [
  ["list", { verb: "list", name: null }],
  ["list okta", { verb: "list", name: "okta" }],
  ["pause okta", { verb: "pause", name: "okta" }],
  ["resume okta", { verb: "resume", name: "okta" }],
  ["remove okta", { verb: "remove", name: "okta" }],
  ["revoke okta id", { verb: "revoke", name: "okta", secret: "id" }],
  ["add okta --kind okta", {
    ...ADD,
    ...{ change: { access: "write", dryRun: false }, secret: { kind: "token", days: null } },
  }],
  ["add okta --kind=okta --target=corp --access=read --oauth --dry-run --days=7", {
    ...{ ...ADD, target: "corp", change: { access: "read", dryRun: true } },
    secret: { kind: "client_secret", days: 7 },
  }],
  ["rotate okta", { verb: "rotate", name: "okta", secret: null, overlapHours: 24, days: null }],
  ["rotate okta --secret=id --overlap-hours=0 --days=1096", {
    ...{ verb: "rotate", name: "okta", secret: "id", overlapHours: 0, days: 1096 },
  }],
  ["requests okta", { verb: "requests", name: "okta", outcome: "", text: "", count: 20 }],
  ["requests okta --outcome=failed --text=ada --count=200", {
    ...{ verb: "requests", name: "okta", outcome: "failed", text: "ada", count: 200 },
  }],
  ["", "the action is missing"],
  ["delete okta", 'there is no action "delete"'],
  ["__proto__ okta", 'there is no action "__proto__"'],
  ["list --kind=okta", "--kind cannot be used with list"],
  ["pause okta --days=1", "--days cannot be used with pause"],
  ["list a b", "there is more than one name"],
  ["pause a b", "there is more than one name"],
  ["revoke a b c", "there is more than one name"],
  ["pause", "the name of the connection is missing"],
  ["revoke okta", "the id of the secret is missing"],
  ["add okta", "--kind must be okta, entra or other"],
  ["add okta --kind=constructor", "--kind must be okta, entra or other"],
  ["add okta --kind=okta --access=admin", "--access must be read or write"],
  ["add okta --kind=okta --days=0", "--days must be a whole number from 1 to 1096"],
  ["add okta --kind=okta --days=1e3", "--days must be a whole number from 1 to 1096"],
  ["rotate okta --overlap-hours=721", "--overlap-hours must be a whole number from 0 to 720"],
  ["rotate okta --overlap-hours=", "--overlap-hours must be a whole number from 0 to 720"],
  ["requests okta --count=201", "--count must be a whole number from 1 to 200"],
  ["requests okta --outcome=ok", "--outcome must be done, refused or failed"],
];

for (const [line, expected] of PLANS) {
  Deno.test(`planScimConnection() reads ${JSON.stringify(line)}`, () => {
    assertEquals(planScimConnection(line.split(" ").filter((word) => word !== "")), expected);
  });
}

Deno.test("deno task scim-connection --help names each action and option", async () => {
  await using operator = await openOperator();
  const { code, stdout } = await operator.run("scim_connection", "--help");
  assertEquals(code, 0);
  const actions = ["list", "add", "rotate", "revoke", "pause", "resume", "remove", "requests"];
  for (const action of actions) assertStringIncludes(stdout, `scim-connection ${action}`);
  const options = [
    "kind",
    "target",
    "access",
    "oauth",
    "dry-run",
    "days",
    "secret",
    "overlap-hours",
    "outcome",
    "text",
  ];
  for (const option of options) assertStringIncludes(stdout, `--${option}`);
});
