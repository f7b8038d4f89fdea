// The SMTP transport against a server that answers as real servers do: TLS, sign-in, each kind of refusal; and the queue over it.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { MailProblemCode } from "../../../platform/mail/mail_records.ts";
import { createSmtpTransport, type SmtpSettings } from "../../../platform/mail/smtp_transport.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { type SmtpAnswer, type SmtpServerOptions, startSmtpServer } from "../../fakes/smtp_server.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import { MAIL_SETTINGS, openMailWorld } from "./mail_world.ts";

const MESSAGE = {
  to: "ada@example.org",
  messageId: "0123@example.com",
  subject: "Grüße",
  text: "Ein Text.\n.\nmit einem Punkt\n",
  html: "<p>Ein Text.</p>",
  secrets: [],
};
const ACCOUNT = { user: "gateway@example.com", password: "s3cret with spaces" };

/** Certificates for this host and for another one, by the authority of the tests. */
async function makeCertificates() {
  const folder = await Deno.makeTempDir({ prefix: "countersign-mail-" });
  try {
    const authority = await makeAuthority(folder);
    const issue = async (names: readonly string[]) => {
      const { certFile, keyFile } = await authority.issue(names);
      return { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
    };
    return {
      caPem: authority.caPem,
      tls: await issue(["IP:127.0.0.1", "DNS:localhost"]),
      other: await issue(["DNS:other.example.com"]),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const certificate = await makeCertificates();

interface Row {
  readonly server?: SmtpServerOptions;
  readonly settings?: Partial<SmtpSettings>;
  readonly answer?: (command: string) => SmtpAnswer;
  /** `null`: the message is accepted. */
  readonly problem: MailProblemCode | null;
  readonly detail?: RegExp;
}

const secure = { security: "starttls", caPem: certificate.caPem } as const;
const at = (start: string, reply: SmtpAnswer) => (command: string) =>
  command.startsWith(start) ? reply : null;

const ROWS: Readonly<Record<string, Row>> = {
  "no TLS and no sign-in": { problem: null, detail: /queued/ },
  "STARTTLS with a certificate of the trusted authority": {
    server: { tls: certificate.tls },
    settings: secure,
    problem: null,
  },
  "TLS from the first octet": {
    server: { tls: certificate.tls, isImplicit: true },
    settings: { ...secure, security: "tls" },
    problem: null,
  },
  "STARTTLS and sign-in": {
    server: { tls: certificate.tls, account: ACCOUNT },
    settings: { ...secure, ...ACCOUNT },
    problem: null,
  },
  "a certificate of an authority that is not trusted": {
    server: { tls: certificate.tls },
    settings: { security: "starttls" },
    problem: "tls",
  },
  "a certificate for another host": {
    server: { tls: certificate.other },
    settings: secure,
    problem: "tls",
  },
  "TLS to a server without TLS": { settings: { ...secure, security: "tls" }, problem: "tls" },
  "STARTTLS is not offered": { settings: secure, problem: "no_starttls" },
  "a wrong password": {
    server: { tls: certificate.tls, account: { ...ACCOUNT, password: "other" } },
    settings: { ...secure, ...ACCOUNT },
    problem: "sign_in",
    detail: /^535 5\.7\.8/,
  },
  "a sign-in that is not offered": { settings: ACCOUNT, problem: "sign_in" },
  "a sign-in that the server requires": {
    answer: at("MAIL", "530 5.7.57 Client not authenticated to send mail"),
    problem: "sign_in",
  },
  "a sign-in that fails for now": {
    server: { account: ACCOUNT },
    settings: ACCOUNT,
    answer: at("AUTH", "454 4.7.0 Temporary authentication failure"),
    problem: "busy",
  },
  "a sender that is refused": { answer: at("MAIL", "550 5.7.1 Sender denied"), problem: "sender_refused" },
  "a sender that the account may not use": {
    answer: at(".", "554 5.2.252 SendAsDenied; not allowed to send as"),
    problem: "sender_refused",
  },
  "a server that is busy": { answer: at("MAIL", "452 4.3.1 Insufficient system storage"), problem: "busy" },
  "a server that closes": { answer: at("RCPT", "421 4.7.0 Too many connections"), problem: "busy" },
  "a greeting that refuses": { answer: at("", "554 No SMTP service here"), problem: "unreachable" },
  greylisting: { answer: at("RCPT", "450 4.2.0 Greylisted, try again"), problem: "recipient_later" },
  "an unknown recipient": {
    answer: at("RCPT", "550 5.1.1 <ada@example.org>: unknown user"),
    problem: "recipient_refused",
    detail: /^550 5\.1\.1/,
  },
  "a message that is refused for now": { answer: at(".", "451 4.7.1 Try again"), problem: "content_later" },
  "a message that is refused": { answer: at(".", "550 5.7.1 Spam"), problem: "content_refused" },
  "DATA that is refused": { answer: at("DATA", "554 5.5.1 No valid recipients"), problem: "content_refused" },
  "a connection that breaks at the recipient": { answer: at("RCPT", "drop"), problem: "unreachable" },
  "a connection that breaks after the message": { answer: at(".", "drop"), problem: "unreachable" },
  "a connection that breaks at once": { answer: at("", "drop"), problem: "unreachable" },
  "an answer that is too long": { answer: at("MAIL", `250-${"x".repeat(20_000)}`), problem: "unreachable" },
};

/** The greeting has the command "", which every command starts with. */
const isGreetingOnly = (row: Row) => (command: string) => row.answer?.(command) ?? null;

for (const [what, row] of Object.entries(ROWS)) {
  Deno.test(`an attempt with ${what}: ${row.problem ?? "accepted"}`, async () => {
    const server = await startSmtpServer(row.server);
    server.answer = isGreetingOnly(row);
    const settings = { ...MAIL_SETTINGS, port: server.port, from: sender, ...row.settings };
    const transport = createSmtpTransport({ settings, clock: systemClock });
    const outcome = await transport.send(MESSAGE);
    transport.close();
    await server.close();
    assertEquals(outcome.ok ? null : outcome.code, row.problem);
    if (row.detail !== undefined) assertMatch(outcome.detail, row.detail);
    assert(!outcome.detail.includes(ACCOUNT.password));
    assertEquals(server.received.length, row.problem === null ? 1 : 0);
  });
}

const sender = { name: "Countersign", address: "no-reply@example.com" };

Deno.test("an attempt to a port without a server: unreachable", async () => {
  const server = await startSmtpServer();
  await server.close();
  const settings = { ...MAIL_SETTINGS, port: server.port, from: sender };
  const outcome = await createSmtpTransport({ settings, clock: systemClock }).send(MESSAGE);
  assertEquals(outcome.ok ? null : outcome.code, "unreachable");
});

for (const command of ["", "EHLO", "RCPT", "."]) {
  Deno.test(`an attempt ends at its deadline if the server does not answer "${command}"`, async () => {
    const server = await startSmtpServer();
    const reached = Promise.withResolvers<void>();
    server.answer = (given) => {
      const isIt = command === "" ? given === "" : given !== "" && given.startsWith(command);
      if (isIt) reached.resolve();
      return isIt ? "hang" : null;
    };
    const clock = createManualClock();
    const settings = { ...MAIL_SETTINGS, port: server.port, from: sender, timeoutMs: 60_000 };
    const transport = createSmtpTransport({ settings, clock });
    const sending = transport.send(MESSAGE);
    await reached.promise;
    clock.advance(60_000);
    const outcome = await sending;
    assertEquals(outcome.ok ? null : outcome.code, "timeout");
    transport.close();
    await server.close();
  });
}

Deno.test("messages share connections, and no more than three are open", async () => {
  const server = await startSmtpServer();
  const settings = { ...MAIL_SETTINGS, port: server.port, from: sender };
  const transport = createSmtpTransport({ settings, clock: systemClock });
  const outcomes = await Promise.all(Array.from({ length: 30 }, () => transport.send(MESSAGE)));
  transport.close();
  await server.close();
  assertEquals(outcomes.filter(({ ok }) => ok).length, 30);
  assert(server.connections.most <= 3, `${server.connections.most} connections`);
  assert(server.connections.total <= 3, `${server.connections.total} connections`);
});

Deno.test("a message is one text with its headers, and dots stay", async () => {
  const server = await startSmtpServer();
  const replyTo = { name: "Help desk", address: "help@example.com" };
  const settings = { ...MAIL_SETTINGS, port: server.port, from: sender, replyTo };
  const transport = createSmtpTransport({ settings, clock: systemClock });
  await transport.send(MESSAGE);
  transport.close();
  await server.close();
  const data = server.received[0]?.data ?? "";
  for (
    const line of [
      "From: Countersign <no-reply@example.com>",
      "To: ada@example.org",
      "Reply-To: Help desk <help@example.com>",
      "Message-ID: <0123@example.com>",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
      "MIME-Version: 1.0",
    ]
  ) assert(data.split("\r\n").includes(line), `${line} is not in\n${data}`);
  assertMatch(data, /^Subject: =\?UTF-8\?/m);
  assertMatch(data, /Content-Type: multipart\/alternative/);
  assert(data.includes("\r\n.\r\nmit einem Punkt"), data);
  assertEquals(server.commands.filter((line) => line.startsWith("EHLO")), ["EHLO example.com"]);
});

Deno.test("verify() connects and signs in without a message", async () => {
  const server = await startSmtpServer({ account: ACCOUNT });
  const settings = { ...MAIL_SETTINGS, ...ACCOUNT, port: server.port, from: sender };
  const transport = createSmtpTransport({ settings, clock: systemClock });
  assertEquals(await transport.verify(), { ok: true, detail: "" });
  transport.close();
  await server.close();
  assertEquals(server.commands.some((line) => line.startsWith("MAIL")), false);
});

Deno.test("the queue sends a mail, removes it, and records that it was sent", async () => {
  const server = await startSmtpServer();
  const kv = await Deno.openKv(":memory:");
  const world = await openMailWorld({ kv, clock: systemClock, mail: { port: server.port } });
  await world.queue();
  await server.receives(1);
  await world.close();
  const [mail = { from: "", to: "", data: "" }] = server.received;
  assertEquals([mail.from, mail.to], ["no-reply@example.com", "ada@example.org"]);
  assertStringIncludes(mail.data, "From: Countersign <no-reply@example.com>");
  assertStringIncludes(mail.data, "Auto-Submitted: auto-generated");
  assertMatch(mail.data, /^Message-ID: <[0-9a-f]{32}@example\.com>$/m);
  assertStringIncludes(mail.data, "https://login.example.com/i/secret-token");
  assertStringIncludes(mail.data, "Subject: Set up your sign-in with Example Ltd");
  assertEquals(await world.entries(["mail"]), []);
  assertEquals((await world.audits()).map(({ action, object, template }) => ({ action, object, template })), [
    { action: "mail.sent", object: "user:ada", template: "invitation" },
  ]);
  kv.close();
  await server.close();
});

Deno.test("a link that a filter quotes in its refusal is in no list, record or log line", async () => {
  const server = await startSmtpServer();
  const token = "AbCdEfGhIjKlMnOpQrStUv";
  const link = `https://login.example.com/device#invite=${token}`;
  server.answer = (command) =>
    command === "."
      ? `550-5.7.1 ${link} is listed\r\n550 5.7.1 login.example.com/device%23invite%3D${token} ${token.toLowerCase()}`
      : null;
  const kv = await Deno.openKv(":memory:");
  const world = await openMailWorld({ kv, clock: systemClock, mail: { port: server.port } });
  await world.queue({ values: { link } });
  await eventually("it failed", async () => (await world.entries(["mail", "failed"])).length === 1);
  const [row] = await world.service.admin.list("failed", { after: null, limit: 1 });
  assertMatch(row?.problem?.detail ?? "", /5\.7\.1 … is listed/);
  const seen = JSON.stringify([row, await world.audits(), await world.logged()]);
  await world.close();
  assert(!seen.toLowerCase().includes(token.toLowerCase()), seen);
  kv.close();
  await server.close();
});
