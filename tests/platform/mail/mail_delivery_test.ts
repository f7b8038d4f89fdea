// The queue sends through the real transport to a server that speaks SMTP.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../../platform/runtime.ts";
import { startSmtpServer } from "../../fakes/smtp_server.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import { openMailWorld } from "./mail_world.ts";

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
