// Settings of push that change on a running gateway, and real logins: what a push service receives, and that no login waits for it.

import { assertEquals } from "@std/assert";
import { startPushService } from "../../../fakes/push_service.ts";
import { saveSettings, startInProcess } from "../../../radius/rows/in_process.ts";
import { eventually } from "../../manual_clock.ts";
import { right } from "../../start_services.ts";
import { pagesOf, PUBLIC_ADDRESS } from "./start_push.ts";

/** A gateway with the embedded service. Anna's phone is paired and subscribed. */
async function openGateway() {
  let nowMs = Date.now;
  const service = startPushService({ nowMs: () => nowMs() });
  const pushNetwork = { fetch: service.fetch, lookUp: () => Promise.resolve([PUBLIC_ADDRESS]) };
  const world = await startInProcess({ stored: true, embedded: true, pushNetwork });
  nowMs = world.clock.nowMs;
  const { embeddedService } = world.services;
  const { invitation } = await embeddedService.admin.invite("anna");
  const accepted = await embeddedService.phone.acceptInvitation(invitation, { token: null, source: "x" });
  const { token } = right(accepted);
  const pages = pagesOf(embeddedService);
  await pages.subscribe(token, service.subscribe());
  return {
    ...{ world, service, pages, token, phone: embeddedService.phone },
    async [Symbol.asyncDispose]() {
      service.release();
      await world[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a RADIUS login notifies the phone, which approves it", async () => {
  await using gateway = await openGateway();
  const { world, service, phone, token } = gateway;
  const login = world.login({ user: "anna" });
  const prompt = await login.start();
  world.clock.advance(0);
  await eventually("the message", () => service.delivered.length === 1);
  const { payload } = service.delivered[0] ?? {};
  assertEquals([payload?.kind, payload?.userName, payload?.asksNumber], ["request", "anna", true]);
  const number = /\b(\d\d)\b/.exec(prompt.message)?.[1] ?? "";
  right(await phone.decide(token, String(payload?.requestId), { approve: true, number }));
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("a login is answered while the push service hangs", async () => {
  await using gateway = await openGateway();
  const { world, service } = gateway;
  service.answer = "hang";
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
  world.clock.advance(0);
  await eventually("the message hangs", () => service.requests.length === 1);
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("push.enabled, push.hosts and push.contact take effect on the next message", async () => {
  await using gateway = await openGateway();
  const { world, service, pages, token } = gateway;
  await saveSettings(world.settings, { "push.contact": "mailto:it@example.com" });
  await pages.testOwn(token);
  assertEquals(service.delivered.at(-1)?.claims.sub, "mailto:it@example.com");
  await saveSettings(world.settings, { "push.contact": "" });
  await pages.testOwn(token);
  assertEquals(service.delivered.at(-1)?.claims.sub.startsWith("https://"), true);
  await saveSettings(world.settings, { "push.hosts": ["*.push.example.com"] });
  const refused = await pages.testOwn(token);
  assertEquals(!refused.ok && typeof refused.fault === "object" && refused.fault.code, "host_not_allowed");
  await saveSettings(world.settings, { "push.hosts": null, "push.enabled": false });
  assertEquals(await pages.testOwn(token), { ok: false, fault: "push_off" });
  assertEquals(pages.pushView(token)?.enabled, false);
});
