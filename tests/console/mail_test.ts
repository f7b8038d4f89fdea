// The mail API: the queue, "Send again" and "Remove", the test message, templates, and settings that change at run time.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type {
  MailAnswer,
  MailList,
  MailTest,
  TemplatePreview,
  TemplateView,
} from "../../console/api/mail/mail_types.ts";
import type { HealthReport } from "../../console/api/targets/target_types.ts";
import type { SettingTest } from "../../console/api/settings/setting_routes.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { type SmtpServerFake, type SmtpServerOptions, startSmtpServer } from "../fakes/smtp_server.ts";
import { becomes, whileTimePasses } from "../radius/rows/passing_time.ts";

const tomlFor = ({ port }: SmtpServerFake) => `
[mail]
host = "127.0.0.1"
port = ${port}
security = "none"
from = "Countersign <no-reply@example.com>"
reply_to = "help@example.com"
per_minute = 60000
`;

async function withSite(
  test: (site: TestComposition, server: SmtpServerFake) => Promise<void>,
  { server: options = {}, toml = tomlFor }: {
    server?: SmtpServerOptions;
    toml?: (server: SmtpServerFake) => string;
  } = {},
): Promise<void> {
  const server = await startSmtpServer(options);
  try {
    await using site = await openComposition(toml(server));
    await test(site, server);
  } finally {
    await server.close();
  }
}

async function call<T>(
  { ask, clock }: TestComposition,
  method: string,
  path: string,
  json?: unknown,
): Promise<T> {
  const answer = await whileTimePasses(clock, ask(method, path, json));
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text) as T;
}

/** Queues a mail about each user. */
async function queue({ mail, store }: TestComposition, users: readonly string[]): Promise<void> {
  for (const user of users) {
    const { mutations } = mail.prepare({
      ...{ template: "invitation", language: "en", to: `${user}@example.org`, about: `user:${user}` },
      values: { userName: user, link: "https://login.example.com/" },
    });
    await store.commit({ mutations });
  }
  mail.wake();
}

async function queueFailing(site: TestComposition, server: SmtpServerFake): Promise<void> {
  server.answer = (command) => command.startsWith("RCPT") ? "550 5.1.1 No such user" : null;
  await queue(site, ["ada", "bob", "zoe"]);
  await whileTimePasses(site.clock, becomes("the mails failed", () => site.mail.status().failed === 3));
}

const refuseAll = (command: string) => command.startsWith("RCPT") ? "550 5.1.1 No such user" : null;

Deno.test("GET /mail/list has the failed mails with their reasons, page by page", () =>
  withSite(async (site, server) => {
    await queueFailing(site, server);
    const { status, server: shown } = await call<MailAnswer>(site, "GET", "/mail");
    assertEquals([status.waiting, status.failed, shown?.from], [0, 3, "no-reply@example.com"]);
    const first = await call<MailList>(site, "GET", "/mail/list?state=failed&size=2");
    assertEquals(first.rows.map(({ to, subjectOf, problem }) => [to, subjectOf, problem?.detail]), [
      ["ada@example.org", "user:ada", "550 5.1.1 No such user"],
      ["bob@example.org", "user:bob", "550 5.1.1 No such user"],
    ]);
    assert(!JSON.stringify(first).includes("login.example.com"));
    const after = encodeURIComponent(first.next ?? "");
    const second = await call<MailList>(site, "GET", `/mail/list?state=failed&size=2&after=${after}`);
    assertEquals([second.rows.map(({ to }) => to), second.next], [["zoe@example.org"], null]);
  }));

Deno.test("POST /mail/send-again and /mail/remove change the mails that are named", () =>
  withSite(async (site, server) => {
    await queueFailing(site, server);
    const { rows } = await call<MailList>(site, "GET", "/mail/list?state=failed");
    const [ada, bob] = rows.map(({ about, id }) => ({ about, id }));
    server.answer = () => null;
    assertEquals(await call(site, "POST", "/mail/send-again", { mails: [ada] }), { sent: 1 });
    await whileTimePasses(site.clock, server.receives(1));
    assertEquals(server.received.map(({ to }) => to), ["ada@example.org"]);
    assertEquals(await call(site, "POST", "/mail/remove", { state: "failed", mails: [bob] }), { removed: 1 });
    assertEquals(await call(site, "POST", "/mail/remove", { state: "failed", mails: [bob] }), { removed: 0 });
    const left = await call<MailList>(site, "GET", "/mail/list?state=failed");
    assertEquals(left.rows.map(({ to }) => to), ["zoe@example.org"]);
  }));

Deno.test("POST /mail/test sends a message at once, and reports what the server answered", () =>
  withSite(async (site, server) => {
    const accepted = await call<MailTest>(site, "POST", "/mail/test", {
      to: "grace@example.org",
      language: "de",
    });
    assertEquals([accepted.ok, accepted.problem, accepted.detail], [true, null, "250 2.0.0 Ok: queued"]);
    assertMatch(server.received[0]?.data ?? "", /^Subject: Testnachricht von Countersign$/m);
    assertStringIncludes(server.received[0]?.data ?? "", "Reply-To: help@example.com");
    server.answer = refuseAll;
    const refused = await call<MailTest>(site, "POST", "/mail/test", { to: "grace@example.org" });
    assertEquals([refused.ok, refused.problem, refused.detail], [
      ...[false, "recipient_refused"],
      "550 5.1.1 No such user",
    ]);
    const { code } = await site.ask("POST", "/mail/test", { to: "grace@example.org\r\nBcc: x@example.org" });
    assertEquals(code, "bad_mail_address");
    const audits = await site.audits();
    assertEquals(audits.map(({ action, after, problem }) => [action, after, problem]), [
      ["mail.test", "grace@example.org", undefined],
      ["mail.test", "grace@example.org", "recipient_refused"],
    ]);
  }));

Deno.test("without a server, mail is off: there is nothing to send, and it is not set up", () =>
  withSite(async (site) => {
    const { server, status } = await call<MailAnswer>(site, "GET", "/mail");
    assertEquals([server, status.isConfigured], [null, false]);
    assertEquals((await site.ask("POST", "/mail/test", { to: "grace@example.org" })).code, "mail_off");
    const { parts } = await call<HealthReport>(site, "GET", "/health");
    const part = parts.find(({ kind }) => kind === "mail");
    assertEquals([part?.state, part?.note, part?.testable], ["off", "mail_off", false]);
  }, { toml: () => "" }));

Deno.test("the health of mail: the last problem, and a test that ends the pause", () =>
  withSite(async (site, server) => {
    server.answer = (command) => command.startsWith("MAIL") ? "451 4.3.0 Try again later" : null;
    await queue(site, ["ada"]);
    const partOf = async () =>
      (await call<HealthReport>(site, "GET", "/health")).parts.find(({ kind }) => kind === "mail");
    await whileTimePasses(site.clock, becomes("the problem", () => site.mail.status().lastProblem !== null));
    assertEquals([(await partOf())?.state, (await partOf())?.detail], ["bad", "451 4.3.0 Try again later"]);
    server.answer = () => null;
    // The clock stands still, so that the pause does not end by itself.
    await site.ask("POST", "/health/test", { id: "mail" });
    assertEquals(site.mail.status().lastProblem, null);
    await whileTimePasses(site.clock, server.receives(1));
    await whileTimePasses(site.clock, becomes("it is sent", () => site.mail.status().waiting === 0));
    assertEquals((await partOf())?.state, "ok");
    assertStringIncludes(JSON.stringify(await site.ask("GET", "/health")), "mail");
  }));

Deno.test("a changed template is used for the next mail, and can be restored", () =>
  withSite(async (site, server) => {
    const path = "/mail/templates/invitation/en";
    const body = "Dear {{displayName}},\n\n{{link}}";
    await call(site, "PUT", path, { subject: "Welcome to {{organization}}", body });
    await queue(site, ["ada"]);
    await whileTimePasses(site.clock, server.receives(1));
    assertMatch(server.received[0]?.data ?? "", /^Subject: Welcome to Countersign$/m);
    const { templates } = await call<{ templates: TemplateView[] }>(site, "DELETE", path);
    const restored = templates.find(({ name, language }) => name === "invitation" && language === "en");
    assertEquals([restored?.changed, restored?.subject.includes("Set up")], [null, true]);
  }));

const BAD_TEMPLATES: Readonly<Record<string, readonly [path: string, json: object, code: string]>> = {
  "no link": ["invitation/en", { subject: "Hello", body: "Hello" }, "bad_mail_template"],
  "an unknown placeholder": ["test/en", { subject: "{{password}}", body: "x" }, "bad_mail_template"],
  "a header in the subject": [
    "test/en",
    { subject: "a\r\nBcc: x@example.org", body: "x" },
    "bad_mail_template",
  ],
  "an unknown template": ["constructor/en", { subject: "a", body: "b" }, "not_found"],
  "an unknown language": ["test/fr", { subject: "a", body: "b" }, "not_found"],
};

for (const [what, [path, json, code]] of Object.entries(BAD_TEMPLATES)) {
  Deno.test(`PUT /mail/templates refuses ${what}: ${code}`, () =>
    withSite(async (site) => {
      assertEquals((await site.ask("PUT", `/mail/templates/${path}`, json)).code, code);
    }));
}

Deno.test("POST /mail/templates/preview shows the problems and a filled text", () =>
  withSite(async (site) => {
    const json = { name: "reminder", language: "de", subject: "{{oops}}", body: "Hallo {{displayName}}" };
    const { problems, text } = await call<TemplatePreview>(site, "POST", "/mail/templates/preview", json);
    assertEquals([problems.map(({ code }) => code), text], [
      ["unknown_placeholder", "missing_placeholder"],
      "Hallo Ada Lovelace\n",
    ]);
  }));

interface TrialRow {
  readonly server?: SmtpServerOptions;
  readonly changes?: Readonly<Record<string, unknown>>;
  readonly to?: string;
  readonly code: SettingTest["code"];
}

const ACCOUNT = { user: "gateway", password: "s3cret" };
const TRIALS: Readonly<Record<string, TrialRow>> = {
  "a server that accepts the sign-in": {
    server: { account: ACCOUNT },
    changes: { "mail.user": "gateway", "mail.password": "s3cret" },
    code: "accepted",
  },
  "a server that refuses the sign-in": {
    server: { account: ACCOUNT },
    changes: { "mail.user": "gateway", "mail.password": "other" },
    code: "credentials_refused",
  },
  "a message": { to: "grace@example.org", code: "sent" },
  "STARTTLS that is not offered": { changes: { "mail.security": "starttls" }, code: "no_tls" },
  "no server": { changes: { "mail.host": null }, code: "no_mail" },
};

for (const [what, { server: options = {}, changes = {}, to, code }] of Object.entries(TRIALS)) {
  Deno.test(`POST /settings/test/mail with ${what}: ${code}`, () =>
    withSite(async (site, server) => {
      const stored = {
        "mail.host": "127.0.0.1",
        "mail.port": server.port,
        "mail.security": "none",
        "mail.from": "a@example.com",
      };
      const json = { changes: { ...stored, ...changes }, ...(to === undefined ? {} : { to }) };
      assertEquals((await call<SettingTest>(site, "POST", "/settings/test/mail", json)).code, code);
      assertEquals(server.received.length, to === undefined ? 0 : 1);
    }, { server: options, toml: () => "" }));
}

Deno.test("a change of the settings: waiting mails go to the new server at once, with the new sender and limit", () =>
  withSite(async (site, server) => {
    await server.close();
    const next = await startSmtpServer();
    const save = async (changes: object) => {
      const { version } = await call<{ version: string }>(site, "GET", "/settings");
      await call(site, "PUT", "/settings", { version, changes });
    };
    await save({
      "mail.host": "127.0.0.1",
      "mail.port": server.port,
      "mail.security": "none",
      "mail.from": "a@example.com",
    });
    await queue(site, ["ada"]);
    await whileTimePasses(site.clock, becomes("the problem", () => site.mail.status().lastProblem !== null));
    await save({ "mail.port": next.port, "mail.from": "b@example.com", "mail.reply_to": "c@example.com" });
    await whileTimePasses(site.clock, next.receives(1));
    assertEquals([next.received[0]?.from, next.received[0]?.to], ["b@example.com", "ada@example.org"]);
    assertMatch(next.received[0]?.data ?? "", /^Reply-To: c@example\.com$/m);
    await save({ "mail.per_minute": 7, "mail.language": "de", "mail.timeout_ms": 5000 });
    const { server: shown, language } = await call<MailAnswer>(site, "GET", "/mail");
    assertEquals([shown?.perMinute, language], [7, "de"]);
    await next.close();
  }, { toml: () => "" }));

const REFUSED_CHANGES: Readonly<Record<string, object>> = {
  "a path to a file": { "mail.ca": "/etc/hostname" },
  "a reference": { "mail.password": "file:/etc/hostname" },
  "another server without the password": { "mail.host": "evil.example.net" },
  "a server without a sender": { "mail.from": null },
  "a user without a password": { "mail.password": null },
};

for (const [what, changes] of Object.entries(REFUSED_CHANGES)) {
  Deno.test(`PUT /settings refuses ${what}`, () =>
    withSite(async (site) => {
      const save = async (json: object) => {
        const { version } = await call<{ version: string }>(site, "GET", "/settings");
        return await site.ask("PUT", "/settings", { version, changes: json });
      };
      const first = await save({
        ...{ "mail.host": "smtp.example.com", "mail.from": "a@example.com" },
        ...{ "mail.user": "gateway", "mail.password": "s3cret" },
      });
      assertEquals(first.status, 200, first.text);
      assertEquals((await save(changes)).code, "bad_settings");
    }, { toml: () => "" }));
}
