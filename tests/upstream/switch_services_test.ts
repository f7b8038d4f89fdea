// The services change while they are used: requests in progress end at the service that they were sent to.

import { assertEquals } from "@std/assert";
import { saveSettings, startInProcess } from "../radius/rows/in_process.ts";
import { decide, giveDevice } from "../radius/rows/people.ts";
import { brief } from "../radius/rows/login.ts";

const EMBEDDED = {
  "second_factor.url": null,
  "second_factor.consumer_key": null,
  "second_factor.consumer_secret": null,
};

Deno.test("a push that waits at an external service is answered there after a change to the embedded service", async () => {
  await using world = await startInProcess({ stored: true });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).kind, "challenge");
  await saveSettings(world.settings, EMBEDDED);
  assertEquals(world.services.secondFactor.embedded, true);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
  // The next login uses the embedded service, which does not know the phone.
  const { length } = world.secondFactor.initiated();
  await world.login({ user: "anna" }).start();
  assertEquals(world.secondFactor.initiated().length, length);
});

Deno.test("a push that waits at the embedded service is known there after a change to an external service", async () => {
  await using world = await startInProcess({ stored: true, embedded: true });
  const { url, consumerKey, consumerSecret } = world.secondFactor;
  await saveSettings(world.settings, {
    "second_factor.url": url,
    "second_factor.consumer_key": consumerKey,
    "second_factor.consumer_secret": consumerSecret,
  });
  assertEquals([world.services.secondFactor.embedded, world.services.embedded], [false, null]);
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  decide(world, pairing, false);
  assertEquals(brief(await login.answer("")), ["reject", "Device approval was not given."]);
});

const CLIENT_SETTINGS = [
  "second_factor.timeout_ms",
  "telephony.timeout_ms",
  "telephony.connections_per_route",
  "telephony.connections_total",
] as const;
for (const key of CLIENT_SETTINGS) {
  Deno.test(`${key}: a change opens a new client, which has it`, async () => {
    await using world = await startInProcess({ stored: true });
    const before = world.services.probeTelephony;
    await saveSettings(world.settings, { [key]: key.endsWith("_ms") ? 1234 : 7 });
    assertEquals(world.services.probeTelephony === before, false);
  });
}

Deno.test("the trial of a draft says whether the credentials are right, and sends nothing without a number", async () => {
  await using world = await startInProcess({ stored: true });
  const { trial } = world.services;
  const { config } = world;
  assertEquals((await trial.secondFactor(config)).code, "accepted");
  const wrong = { ...config, secondFactor: { ...config.secondFactor, consumerSecret: "wrong" } };
  assertEquals((await trial.secondFactor(wrong)).code, "credentials_refused");
  const sent = () => world.telephony.requests.filter(({ kind }) => kind !== "other").length;
  await trial.telephony(config, { to: null });
  assertEquals(sent(), 0);
  assertEquals((await trial.telephony(config, { to: "+4915112345678" })).code, "sent");
  assertEquals(sent(), 1);
});
