// `deno task admin` as an operator runs it, and its arguments.

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { planAdmin } from "../../cli/admin.ts";
import { AdminRefusal } from "../../cli/admin_connection.ts";
import { type AdminPlan, withFileValues } from "../../cli/admin_options.ts";
import { RECEIVER_FIELDS } from "../../platform/alerts/alert_kinds.ts";
import type { Fields } from "../../platform/fields.ts";
import { DESTINATION_FIELDS, NEW_DESTINATION_FIELDS } from "../../platform/log_export/destination_choices.ts";
import { CONNECTION_FIELDS } from "../../scim/v2/connections/connection_settings.ts";
import { requestEntry } from "../scim/v2/connections/stage.ts";
import { openOperator, openStandIn } from "./operator.ts";

/** The secrets that a text prints. */
const secretsIn = (text: string): string[] =>
  [...text.matchAll(/\bcs[ts]_[\w-]{43}\b/g)].map(([found]) => found);

Deno.test("deno task admin scim-connection creates, changes, pauses, rotates, revokes and removes without a server", async () => {
  await using operator = await openOperator();
  const run = (...args: string[]) => operator.run("admin", "scim-connection", ...args);
  const added = await run("add", "okta", "--kind", "okta", "--days=90");
  assertEquals([added.code, added.stderr], [0, ""]);
  const [token = ""] = secretsIn(added.stdout);
  for (
    const part of [
      'Created the connection "okta" with write access to "default".',
      "Base URL:  http://127.0.0.1:8080/scim/v2/default",
      `Token:     ${token}   (shown only once)`,
    ]
  ) assertStringIncludes(added.stdout, part);

  const paused = await run("pause", "okta");
  assertEquals([paused.code, paused.stdout], [0, 'Paused the connection "okta".\n']);
  const listed = await run("list");
  assertMatch(listed.stdout, /^1 connection\.\n/);
  assertMatch(listed.stdout, /okta {2}okta {2}default {2}write {3}paused {2}none\n/);
  assertEquals(listed.stdout.includes(token), false);
  assertEquals((await run("resume", "okta")).code, 0);
  assertEquals((await run("change", "okta", "--me-user", "ada", "--no-reactivate")).code, 0);
  const shown = JSON.parse((await run("show", "okta", "--json")).stdout);
  assertEquals(
    [shown.settings.meUser, shown.settings.reactivate, shown.settings.access],
    ["ada", false, "write"],
  );
  const emptied = await run("change", "okta", "--me-user=", "--json");
  assertEquals(JSON.parse(emptied.stdout).item.settings.meUser, null);

  const rotated = await run("rotate", "okta", "--overlap-hours", "1");
  assertStringIncludes(rotated.stdout, "The old one is valid for 1 hour.");
  assertEquals(secretsIn(rotated.stdout).length, 1);
  const again = await run("rotate", "okta");
  assertEquals([again.code, again.stdout], [1, ""]);
  assertStringIncludes(
    again.stderr,
    'Cannot rotate the secret of the connection "okta": choose one with --secret.',
  );
  const secrets = await run("show", "okta");
  const [, id = ""] = /^ {2}([\w-]{16}) {2}token/m.exec(secrets.stdout) ?? [];
  const revoked = await run("revoke", "okta", "--", id);
  assertEquals([revoked.code, revoked.stdout], [0, `Revoked the secret "${id}" of "okta".\n`]);

  const removed = await run("remove", "okta");
  assertEquals([removed.code, removed.stdout], [0, 'Removed the connection "okta".\n']);
  const unknown = await run("pause", "okta");
  assertEquals([unknown.code, unknown.stdout], [1, ""]);
  assertStringIncludes(unknown.stderr, 'Cannot pause the connection "okta": No connection has this name.');
  const reserved = await run("add", "okta", "--kind", "okta");
  assertStringIncludes(reserved.stderr, "was removed in the last 30 days");
});

Deno.test("deno task admin scim-connection calls a running server, which knows the change at once", async () => {
  await using operator = await openOperator();
  const run = (...args: string[]) => operator.run("admin", "scim-connection", ...args);
  await using standIn = await openStandIn(operator);
  const { connections } = standIn.identity;
  const added = await run("add", "entra", "--kind=entra", "--oauth", "--dry-run");
  assertMatch(added.stdout, /Token endpoint: {2}http:\S+\/scim\/oauth\/token\n {2}Client ID: +entra\n/);
  const [secret = ""] = secretsIn(added.stdout);
  const untried = await run("test", "entra");
  assertEquals([untried.code, untried.stderr], [
    1,
    'The connection "entra" got no request with its secrets yet.\n',
  ]);
  const issue = () => connections.issueToken({ clientId: "entra", clientSecret: secret }, "192.0.2.1");
  const used = await connections.authenticate(`Bearer ${(await issue())?.token}`, "192.0.2.1");
  assertEquals([used?.settings.kind, used?.settings.dryRun], ["entra", true]);
  connections.record(
    requestEntry({ connection: "entra", status: 409, detail: "The name is taken.\x1b[31m" }),
  );
  assertEquals((await run("test", "entra")).stderr, 'The connection "entra" refused its last request.\n');
  const requests = await run("requests", "entra", "--outcome", "refused");
  assertMatch(requests.stdout, /The last 1 request of "entra", newest first\./);
  assertMatch(requests.stdout, /users\.create {2}ada +409 +192\.0\.2\.1 {2}The name is taken\. \[31m\n/);
  connections.record(requestEntry({ connection: "entra", status: 200 }));
  assertEquals((await run("test", "entra")).stdout, 'The last request of "entra" succeeded.\n');
  const none = await run("requests", "entra", "--text", "unknown");
  assertEquals(none.stdout, "There are no such requests.\n");
  await run("remove", "entra");
  assertEquals(await issue(), null);
});

Deno.test("deno task admin manages destinations of the log export; secrets come from files", async () => {
  await using operator = await openOperator();
  const run = (...args: string[]) => operator.run("admin", "log-export", ...args);
  await Deno.writeTextFile(`${operator.home}/header`, "Splunk planted-token\n");
  assertEquals((await run("list")).stdout, "There are no destinations.\n");
  const udp = await run("add", "siem", "--kind", "syslog-udp", "--host", "logs.example.com");
  // The port of the kind.
  assertEquals(udp.stdout, 'Created the destination "siem" at logs.example.com:514.\n');
  const hook = [
    "hook",
    "--kind=webhook",
    "--url=http://192.0.2.1/in",
    `--authorization-file=${operator.home}/header`,
  ];
  const plain = await run("add", ...hook);
  assertEquals([plain.code, plain.stdout], [1, ""]);
  assertStringIncludes(
    plain.stderr,
    'Cannot create the destination "hook": --allows-http: The address begins',
  );
  const added = await run("add", ...hook, "--allows-http", "--records=audit,alerts");
  assertMatch(added.stdout, /Signature secret: {2}whsec_\S+ {3}\(shown only once\)\n$/);
  const shown = await run("show", "hook");
  assertMatch(shown.stdout, /--records {6}audit,alerts\n[^]* state {10}new\n/);
  assertEquals([added, shown].some(({ stdout }) => stdout.includes("planted")), false);
  const moved = await run("change", "hook", "--url=https://192.0.2.2/in");
  assertStringIncludes(moved.stderr, "Enter the Authorization header again");
  const inapplicable = await run("change", "siem", "--url=https://192.0.2.2/in");
  assertStringIncludes(inapplicable.stderr, "--url can only be used with --kind webhook.");
  const changed = await run("change", "siem", "--max-hours=9", "--format=structured-data", "--json");
  assertEquals(JSON.parse(changed.stdout).item.settings.format, "structured_data");
  assertEquals((await run("pause", "siem")).stdout, 'Paused the destination "siem".\n');
  assertMatch((await run("list")).stdout, /siem {2}syslog_udp {2}logs\.example\.com:514 +paused/);
  assertMatch((await run("renew-secret", "hook")).stdout, /whsec_/);
  assertEquals((await run("change", "hook", "--authorization-file=", "--url=https://192.0.2.2/in")).code, 0);
  const unsigned = await run("renew-secret", "siem");
  assertStringIncludes(unsigned.stderr, 'the destination "siem": Only a webhook has one.');
  const taken = await run("add", "siem", "--kind=syslog-udp", "--host=logs.example.com");
  assertStringIncludes(
    taken.stderr,
    'Cannot create the destination "siem": A log export destination with this',
  );
  const removed = await run("remove", "hook");
  assertEquals([removed.code, (await run("remove", "hook")).code], [0, 1]);
});

Deno.test("deno task admin log-export test succeeds if the receiver answers, and says why not otherwise", async () => {
  await using operator = await openOperator();
  const run = (...args: string[]) => operator.run("admin", "log-export", ...args);
  const bodies: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    bodies.push(await request.text());
    return new Response();
  });
  const url = `--url=http://127.0.0.1:${server.addr.port}/in`;
  assertEquals((await run("add", "hook", "--kind=webhook", url, "--allows-http")).code, 0);
  const sent = await run("test", "hook");
  assertEquals([sent.code, sent.stdout], [0, 'The test of "hook" was sent.\n']);
  assertStringIncludes(bodies.join("\n"), "log_export.test");
  await server.shutdown();
  const refused = await run("test", "hook");
  assertEquals([refused.code, refused.stdout], [1, ""]);
  assertStringIncludes(refused.stderr, 'The test of "hook" failed (unreachable): ');
});

Deno.test("deno task admin manages receivers of alerts; the URL of a webhook comes from standard input", async () => {
  await using operator = await openOperator();
  await using _standIn = await openStandIn(operator);
  const run = (...args: string[]) => operator.run("admin", "alert-receiver", ...args);
  const chat = ["alert-receiver", "add", "chat", "--kind=webhook", "--url-file=-", "--kinds=user_locked"];
  const added = await operator.type("https://chat.example.com/planted\n", "admin", ...chat);
  assertStringIncludes(added.stdout, 'Created the receiver "chat" at https://chat.example.com/…');
  assertEquals((await run("change", "chat", "--kinds=", "--min-severity=critical")).code, 0);
  const { settings } = JSON.parse((await run("show", "chat", "--json")).stdout);
  assertEquals([settings.kinds, settings.minSeverity, settings.url], [[], "critical", undefined]);
  const bad = await run("add", "ops", "--kind=mail", "--addresses=a@example.com, nothing");
  assertStringIncludes(bad.stderr, 'Cannot create the receiver "ops": --addresses: Enter 1 to 20 valid mail');
  assertEquals((await run("add", "ops", "--kind=mail", "--addresses=a@example.com, b@example.com")).code, 0);
  const tested = await run("test", "ops");
  assertEquals([tested.code, tested.stdout], [1, ""]);
  assertStringIncludes(tested.stderr, 'The test of "ops" failed (mail_off): ');
  const { stdout } = await run("list");
  assertMatch(stdout, /^2 receivers\./);
  assertEquals(stdout.includes("planted"), false);
});

const plan = (resource: string, action: string, more: Partial<AdminPlan> = {}): AdminPlan => ({
  ...{ resource, action, name: "", id: "", given: {}, isJson: false },
  ...more,
});
/** Arguments, and the plan or the problem. */
const PLANS: readonly (readonly [string, AdminPlan | string])[] = [
  ["log-export list", plan("log-export", "list")],
  ["alert-receiver list --json", plan("alert-receiver", "list", { isJson: true })],
  ["scim-connection revoke okta id", plan("scim-connection", "revoke", { name: "okta", id: "id" })],
  [
    "scim-connection add okta --kind=okta --target=corp --access=read --oauth --no-reactivate --days=7",
    plan("scim-connection", "add", {
      name: "okta",
      given: { kind: "okta", target: "corp", access: "read", reactivate: false, oauth: true, days: 7 },
    }),
  ],
  [
    "log-export add siem --kind syslog-tls --host ::1 --port 1 --records logins,audit --ca-file a --private-key-file -",
    plan("log-export", "add", {
      name: "siem",
      given: {
        ...{ kind: "syslog_tls", host: "::1", port: 1, records: ["logins", "audit"] },
        ...{ ca: { path: "a" }, privateKey: { path: "-" } },
      },
    }),
  ],
  // Only the row shows which fields apply.
  [
    "log-export change siem --port=1 --format=ndjson",
    plan("log-export", "change", { name: "siem", given: { port: 1, format: "ndjson" } }),
  ],
  ["users list", 'there is no resource "users"'],
  ["__proto__ list", 'there is no resource "__proto__"'],
  ["log-export --json", 'there is no action "--json"'],
  ["log-export delete siem", 'there is no action "delete"'],
  ["log-export __proto__ siem", 'there is no action "__proto__"'],
  ["log-export list siem", "list takes no name"],
  ["log-export pause", "the name of the destination is missing"],
  ["log-export pause a b", "there is more than one name"],
  ["scim-connection revoke a b c", "there is more than one name"],
  ["scim-connection revoke okta", "the id of the secret is missing"],
  ["log-export list --kind=webhook", "unknown option '--kind'"],
  ["log-export change siem --kind=webhook", "unknown option '--kind'"],
  [
    "log-export change siem --allows-http --no-allows-http",
    "--allows-http and --no-allows-http exclude each other",
  ],
  ["log-export change siem", "change needs an option"],
  [
    "log-export add hook --authorization=planted",
    "unknown option '--authorization'; --authorization-file reads the value from a file",
  ],
  ["log-export add siem", "--kind is required: one of syslog_tls, syslog_udp, webhook"],
  ["log-export add siem --kind=syslog-tls", "--host is required: a text of 1 to 253 characters"],
  ["alert-receiver add ops --kind=mail", "--addresses is required: 1 to 20 values, separated by commas"],
  ["alert-receiver add ops --kind=webhook", "--url-file is required: a text of 1 to 2000 characters"],
  [
    "alert-receiver add Ops --kind=mail",
    '"Ops" cannot be a name. A name begins with a letter, and has at most 40 letters a to z, digits and hyphens',
  ],
  ["log-export add siem --kind=constructor", "--kind must be one of syslog_tls, syslog_udp, webhook"],
  [
    "log-export add siem --kind=webhook --host=a",
    "--host can only be used with --kind syslog_tls or syslog_udp",
  ],
  [
    "log-export add siem --kind=syslog_udp --private-key-file=a",
    "--private-key-file can only be used with --kind syslog_tls",
  ],
  [
    "log-export add siem --kind=webhook --url=a --format=structured-data",
    "--format structured_data can only be used with --kind syslog_tls or syslog_udp",
  ],
  ["log-export change siem --max-hours=721", "--max-hours must be a whole number from 1 to 720"],
  ["log-export change siem --max-hours=1e3", "--max-hours must be a whole number from 1 to 720"],
  ["log-export change siem --max-hours=", "--max-hours must be a whole number from 1 to 720"],
  [
    "log-export change siem --records=",
    "--records must be at least 1 of logins, audit, drops, alerts, separated by commas",
  ],
  ["scim-connection rotate okta --overlap-hours=721", "--overlap-hours must be a whole number from 0 to 720"],
  ["scim-connection requests okta --outcome=ok", "--outcome must be one of done, refused, failed"],
];

for (const [line, expected] of PLANS) {
  Deno.test(`planAdmin() reads ${JSON.stringify(line)}`, () => {
    assertEquals(planAdmin(line.split(" ")), expected);
  });
}

/** The fields that the help of a resource explains. */
const HELP: Readonly<Record<string, Fields>> = {
  "log-export": { ...DESTINATION_FIELDS, ...NEW_DESTINATION_FIELDS },
  "alert-receiver": RECEIVER_FIELDS,
  "scim-connection": CONNECTION_FIELDS,
};

/** The text of a file, the field that it is for, and its value or the problem. `null`: there is no file. */
const FILES: readonly (readonly [string | null, string, string])[] = [
  [" Splunk abc \n", "authorization", "Splunk abc"],
  ["-----BEGIN\nEND\n", "privateKey", "-----BEGIN\nEND\n"],
  [" \n", "authorization", "--authorization-file: there is no value."],
  ["a".repeat(2001), "authorization", "--authorization-file must contain a text of 0 to 2000 characters."],
  [null, "ca", '--ca-file: cannot read the file "FILE".'],
];

for (const [content, name, expected] of FILES) {
  const shown = JSON.stringify(content?.slice(0, 20));
  Deno.test(`withFileValues() reads ${shown} for the field ${name}`, async () => {
    const path = await Deno.makeTempFile({ prefix: "countersign-admin-" });
    await (content === null ? Deno.remove(path) : Deno.writeTextFile(path, content));
    const read = withFileValues(DESTINATION_FIELDS, { [name]: { path } });
    if (expected.startsWith("--") && !expected.startsWith("---")) {
      await assertRejects(() => read, AdminRefusal, expected.replace("FILE", path));
    } else assertEquals(await read, { [name]: expected });
    if (content !== null) await Deno.remove(path);
  });
}

Deno.test("planAdmin() explains all fields in the help of a resource, with labels and bounds", () => {
  for (const [resource, fields] of Object.entries(HELP)) {
    const plan = planAdmin([resource]);
    const help = typeof plan === "object" && "help" in plan ? plan.help : "";
    for (const [name, field] of Object.entries(fields)) {
      if (name === "paused") continue;
      const option = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const bounds = field.type === "number" ? `.*from ${field.min} to ${field.max}` : "";
      assertMatch(help, new RegExp(`^ {2}--${option}[ ,-].*\n {6}[A-Z].*${bounds}.*\\.$`, "m"));
    }
  }
});

Deno.test("deno task admin prints the help of a resource; wrong arguments name the command that prints it", async () => {
  await using operator = await openOperator();
  const all = await operator.run("admin");
  assertEquals([all.code, all.stderr], [0, ""]);
  for (const resource of Object.keys(HELP)) assertStringIncludes(all.stdout, `  ${resource}  `);
  const help = await operator.run("admin", "log-export", "add", "--help");
  assertEquals(help.code, 0);
  assertStringIncludes(help.stdout, "Example:\n  deno task admin log-export add siem");
  const wrong = await operator.run("admin", "log-export", "frob");
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertStringIncludes(wrong.stderr, 'action "frob".\n\nHelp: deno task admin log-export --help\n');
});
