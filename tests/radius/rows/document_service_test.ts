// The service as in the specification: behaviour, attributes, states and errors.

import { assert, assertEquals } from "@std/assert";
import { CODES, TYPES } from "../../support/radius_packets.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { give, giveDevice, lastRequest, otherThan, passcodeSentTo } from "./people.ts";

const PROMPT = 76;
const NUMBER = "+15005550123";
const octets = (text: string) => new TextEncoder().encode(text);
const ANY = `[factors]\nphone_numbers = "any"`;

/** Every attribute that a client of the specification sends in its first request. State is absent. */
const DOCUMENTED = [
  { type: 30, value: octets("198.51.100.1") },
  { type: 61, value: new Uint8Array([0, 0, 0, 5]) },
  { type: 4, value: new Uint8Array([198, 51, 100, 2]) },
  { type: 26, value: new Uint8Array([0, 0, 1, 55, 1, 6, 97, 98, 99, 100]) },
  { type: 26, value: new Uint8Array([0, 0, 1, 55, 2, 3, 97]) },
  { type: 26, value: new Uint8Array([0, 0, 0, 9, 1, 3, 97]) },
  { type: 66, value: octets("198.51.100.1") },
] as const;

/** A login of the specification's client. */
function documented(world: InProcess, user = "anna"): Login {
  return world.login({ user, callingStationId: "198.51.100.1", more: DOCUMENTED });
}

Deno.test("document: the service listens on port 1812 by default", async () => {
  await using world = await startInProcess();
  assertEquals(world.config.radius.listen.map(({ port }) => port), [1812]);
});

Deno.test("document: a request with every attribute of the specification is answered with a challenge", async () => {
  await using world = await startInProcess();
  const reply = await documented(world).start("");
  assertEquals([reply.kind, reply.step], ["challenge", "CHOOSE_WHICH_MULTIFACTOR"]);
});

Deno.test("document: a challenge has a text, a State and a Prompt, a Reject only a text", async () => {
  await using world = await startInProcess();
  const login = documented(world);
  const types = (attributes: readonly { type: number }[]) => attributes.map(({ type }) => type).slice(1);
  assertEquals(types((await login.start("")).attributes), [TYPES.state, PROMPT, TYPES.replyMessage]);
  const reject = await login.answer("x", { state: octets("NOT_A_STATE") });
  assertEquals(types(reject.attributes), [TYPES.replyMessage]);
});

Deno.test("document: a request without State starts a new conversation, also after an ended one", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "voice", number: NUMBER });
  const login = documented(world);
  await login.start();
  assertEquals((await login.answer(otherThan(passcodeSentTo(world, NUMBER)))).kind, "reject");
  assertEquals((await login.start()).step, "AWAIT_VOICE_DELIVERED_PASSCODE");
  assertEquals(world.radius.monitor.conversations(9).length, 2);
});

Deno.test("document: NAS-Port differs between conversations, so that two of one user run side by side", async () => {
  await using world = await startInProcess();
  const [first, second] = [world.login({ user: "anna" }), world.login({ user: "anna" })];
  await first.start("");
  await second.start("");
  assertEquals((await first.answer("T")).step, "GET_SMS_PHONE_NUMBER");
  assertEquals((await second.answer("P")).step, "GET_VOICE_PHONE_NUMBER");
  assertEquals((await first.answer("")).step, "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("document: each answer has the identifier of its request", async () => {
  await using world = await startInProcess();
  const login = documented(world);
  const packets = [login.buildStart("", { identifier: 200 }), login.buildStart("x", { identifier: 3 })];
  for (const packet of packets) assertEquals((await login.exchange(packet)).identifier, packet.identifier);
});

Deno.test("document: with a stored pairing, initiate is posted with the pairing and the terminal, and the request's identifier is stored", async () => {
  await using world = await startInProcess({ toml: `[factors]\nterminal_name = "Front door"` });
  const pairing = await giveDevice(world, "anna");
  const login = documented(world);
  const reply = await login.start();
  assertEquals(brief(reply), [
    "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    "Authorize this login on your device, then press continue or type ok.",
  ]);
  const [initiate] = world.secondFactor.requests;
  assertEquals(initiate?.form.get("pairing_id"), pairing.id);
  assertEquals(initiate?.form.get("terminal_name"), "Front door");
  await login.answer("");
  assertEquals(
    world.secondFactor.requests[1]?.target,
    `/v1/authentication_requests/${lastRequest(world, pairing).id}`,
  );
});

Deno.test("document: the walk by voice, with a call that the service refuses, ends in a Reject for another passcode", async () => {
  await using world = await startInProcess({ toml: ANY });
  const login = documented(world);
  assertEquals((await login.start("")).step, "CHOOSE_WHICH_MULTIFACTOR");
  assertEquals((await login.answer("P")).step, "GET_VOICE_PHONE_NUMBER");
  // 400 with code 13223: the number to call is invalid. The state still changes.
  world.telephony.failNext({
    kind: "status",
    status: 400,
    body: JSON.stringify({
      code: 13223,
      message: "invalid",
      more_info: "https://example.com/13223",
      status: 400,
    }),
  });
  assertEquals(brief(await login.answer(NUMBER)), [
    "VERIFY_VOICE_PHONE_NUMBER",
    "Enter the passcode conveyed by voice.",
  ]);
  assertEquals(brief(await login.answer("1234")), ["reject", "The submitted passcode does not match."]);
  assertEquals((await login.start("")).step, "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("document: in the walk by text a refused number keeps the step, three times in a row", async () => {
  await using world = await startInProcess();
  const login = documented(world);
  await login.start("");
  const first = await login.answer("T");
  for (let count = 0; count < 3; count++) {
    const again = await login.answer(NUMBER);
    assertEquals([again.step, again.message], ["GET_SMS_PHONE_NUMBER", first.message]);
  }
});

Deno.test("document: the device step without a stored identifier requests null twice, receives 404, and is a Reject", async () => {
  await using world = await startInProcess();
  const login = documented(world);
  const state = octets("SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  assertEquals(brief(await login.answer("", { state })), ["reject", "Device approval was not given."]);
  assertEquals(world.secondFactor.requests.map(({ method, target }) => [method, target]), [
    ["GET", "/v1/authentication_requests/null"],
    ["GET", "/v1/authentication_requests/null"],
  ]);
});

Deno.test("document: every prompt of the walk asks for what the specification requires", async () => {
  await using world = await startInProcess({ toml: ANY });
  const login = documented(world);
  await login.start("");
  const sms = (await login.answer("T")).message;
  for (const part of ["SMS-capable", "+", "country code", "no dashes"]) assert(sms.includes(part), part);
  await login.answer("");
  const voice = (await login.answer("P")).message;
  for (const part of ["phone number", "+", "country code"]) assert(voice.includes(part), part);
  assert((await login.answer(NUMBER)).message.includes("passcode conveyed by voice"));
});

Deno.test("document: User-Password is not read if no first factor is configured", async () => {
  await using world = await startInProcess();
  for (const password of ["right", "wrong", "x".repeat(100)]) {
    assertEquals((await world.login({ user: "anna" }).start(password)).step, "CHOOSE_WHICH_MULTIFACTOR");
  }
});

Deno.test("document: a packet with another code gets no answer, an Access-Request is answered", async () => {
  await using world = await startInProcess();
  const login = documented(world);
  await world.client.sendRaw(login.buildStart("", { code: CODES.accessAccept }).bytes);
  assertEquals((await login.start("")).kind, "challenge");
  assertEquals(world.radius.monitor.counters()["dropped_code_not_served"], 1);
});

Deno.test("document: a client with another secret gets no answer", async () => {
  await using world = await startInProcess();
  using stranger = world.newClient("some-other-secret-of-theirs");
  await stranger.sendRaw(stranger.build({ userName: "anna", password: "pw" }).bytes);
  assertEquals((await documented(world).start("")).kind, "challenge");
  assertEquals(world.radius.monitor.counters()["dropped_wrong_message_authenticator"], 1);
});
