// The external second factor: its calls, as its document describes them.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { becomes, turn } from "./passing_time.ts";
import { give, giveDevice, lastRequest, otherThan, passcodeSentTo } from "./people.ts";
import type { RawServer } from "../../fakes/raw_http.ts";
import { CODES, TYPES } from "../../support/radius_packets.ts";
import { brief, type Login } from "./login.ts";

// The outbound calls as in the specification: paths, versions, fields, headers, encodings, markup, signatures and
// connections.

const NUMBER = "+15005550123";
const FORM = "application/x-www-form-urlencoded";

/** One request of each kind that a login with a device makes. */
async function deviceCalls(world: InProcess) {
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  const login = await world.begin({ user: "anna" });
  await login.answer("");
  await login.answer("246801");
  return world.secondFactor.requests;
}

/** A call that speaks a passcode. */
async function voiceCall(toml = "") {
  const world = await startInProcess({ toml });
  await give(world, "Anna <Muster>", { kind: "voice", number: NUMBER });
  await world.login({ user: "Anna <Muster>" }).start();
  const [call] = world.telephony.requests;
  if (call === undefined) throw new Error("No service was called");
  return { world, call, passcode: passcodeSentTo(world, NUMBER) };
}

Deno.test("document: calls of the second-factor service go to versioned paths, each with its method", async () => {
  await using world = await startInProcess();
  const calls = await deviceCalls(world);
  const id = world.secondFactor.initiated()[0]?.id;
  assertEquals([...new Set(calls.map(({ method, target }) => `${method} ${target}`))], [
    "POST /v1/authentication_requests/initiate",
    `GET /v1/authentication_requests/${id}`,
    `POST /v1/authentication_requests/${id}/otp_auth`,
  ]);
});

Deno.test("document: initiate has exactly the fields pairing_id and terminal_name, as a form", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  await world.login({ user: "anna" }).start();
  const [call] = world.secondFactor.requests;
  assertEquals(call?.headers.get("content-type"), FORM);
  assertEquals(
    call?.body,
    `pairing_id=${pairing.id}&terminal_name=VPN%20Access`.replace(
      "%20",
      call?.body.includes("+") ? "+" : "%20",
    ),
  );
  assertEquals([...call?.form ?? []], [["pairing_id", pairing.id], ["terminal_name", "VPN Access"]]);
});

Deno.test("document: a status check has no body", async () => {
  await using world = await startInProcess();
  const checks = (await deviceCalls(world)).filter(({ method }) => method === "GET");
  assert(checks.length > 0);
  for (const { body, headers } of checks) assertEquals([body, headers.get("content-type")], ["", null]);
});

Deno.test("document: each call of the second-factor service has an OAuth 1.0 signature, a new nonce and a User-Agent", async () => {
  await using world = await startInProcess();
  const calls = await deviceCalls(world);
  const nonces = new Set<string>();
  for (const { headers, authorized } of calls) {
    assert(authorized, "its signature verifies");
    const header = headers.get("authorization") ?? "";
    assertMatch(header, /^OAuth /);
    const names = [...header.matchAll(/(\w+)="/g)].map(([, name]) => name).sort();
    assertEquals(names, [
      "oauth_consumer_key",
      "oauth_nonce",
      "oauth_signature",
      "oauth_signature_method",
      "oauth_timestamp",
      "oauth_version",
    ]);
    assertMatch(header, /oauth_consumer_key="test-key"/);
    assertMatch(header, /oauth_version="1\.0"/);
    assertMatch(header, /oauth_signature_method="HMAC-SHA1"/);
    assertMatch(header, /oauth_timestamp="\d{10}"/);
    assertMatch(header, /oauth_nonce="-?\d+"/);
    assertMatch(header, /oauth_signature="[A-Za-z0-9%._~-]+"/);
    nonces.add(/oauth_nonce="([^"]*)"/.exec(header)?.[1] ?? "");
    assertMatch(headers.get("user-agent") ?? "", /^Countersign\//);
  }
  assertEquals(nonces.size, calls.length);
});

Deno.test("document: a call is sent to the account's Calls.json of the dated version, with Basic credentials", async () => {
  const { world, call } = await voiceCall();
  await using _world = world;
  assertEquals([call.method, call.target], [
    "POST",
    `/2010-04-01/Accounts/${world.telephony.accountId}/Calls.json`,
  ]);
  assertEquals(call.headers.get("accept"), "application/json");
  assertEquals(call.headers.get("content-type"), `${FORM}; charset=UTF-8`);
  assertEquals(
    call.headers.get("authorization"),
    `Basic ${btoa(`${world.telephony.accountId}:${world.telephony.authToken}`)}`,
  );
});

Deno.test("document: a call has exactly the fields From, To and Url, and Url is encoded twice", async () => {
  const { world, call } = await voiceCall();
  await using _world = world;
  assertEquals([...call.form.keys()], ["From", "To", "Url"]);
  assertEquals([call.form.get("From"), call.form.get("To")], [world.telephony.from, NUMBER]);
  // In the body the percent signs of the inner encoding are encoded again.
  assertMatch(call.body, /Url=http%3A%2F%2Fecho\.example%2Ftwiml%3FTwiml%3D%253CResponse%253E/);
  assertMatch(call.form.get("Url") ?? "", /^http:\/\/echo\.example\/twiml\?Twiml=%3CResponse%3E/);
});

Deno.test("document: the markup has the caller, the user and the place, then each digit with a pause of 1 between two", async () => {
  const { world, call, passcode } = await voiceCall(
    `[factors]\nrequester_name = "Example & Co"\nterminal_name = "Front door"`,
  );
  await using _world = world;
  const markup = new URL(call.form.get("Url") ?? "").searchParams.get("Twiml") ?? "";
  const [, intro = "", spoken = ""] = /^<Response><Say>([^<]*)<\/Say>(.*)<\/Response>$/.exec(markup) ?? [];
  for (const name of ["Example &amp; Co", "Anna &lt;Muster&gt;", "Front door"]) {
    assert(intro.includes(name), name);
  }
  assertEquals(passcode.length, 4);
  const digits = [...passcode].map((digit) => `<Say>${digit}</Say>`);
  assertEquals(spoken.replaceAll(/<Pause length="1"\s*\/>/g, "|"), digits.join("|"));
});

Deno.test("document: without an echo address the call carries the markup itself", async () => {
  const { world, call, passcode } = await voiceCall(`[telephony]\ntwiml_echo_url = ""`);
  await using _world = world;
  assertEquals([...call.form.keys()], ["From", "To", "Twiml"]);
  assertEquals(call.spoken.slice(1).join(""), passcode);
});

Deno.test("document: a text is sent to Messages.json with From, To and a body with the passcode", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "sms", number: NUMBER });
  const login = await world.begin({ user: "anna" });
  const [text] = world.telephony.requests;
  assertEquals(text?.target, `/2010-04-01/Accounts/${world.telephony.accountId}/Messages.json`);
  assertEquals([text?.form.get("From"), text?.form.get("To")], [world.telephony.from, NUMBER]);
  const [passcode] = /\b\d{6}\b/.exec(text?.form.get("Body") ?? "") ?? [];
  assertEquals((await login.answer(passcode ?? "")).kind, "accept");
});

/**
 * Starts a login of each user while the service does not answer; returns the number of calls, and lets the service
 * answer.
 */
async function underWayAtOnce(
  world: InProcess,
  { users, server, most }: { users: readonly string[]; server: RawServer; most: number },
): Promise<{ seen: number; steps: Set<string> }> {
  const release = server.hold();
  const replies = users.map((user) => world.login({ user }).start());
  await becomes(`${most} calls under way`, () => server.underWay() >= most);
  for (let count = 0; count < 20; count++) await turn();
  const seen = server.underWay();
  release();
  return { seen, steps: new Set((await Promise.all(replies)).map(({ step }) => step)) };
}

Deno.test("document: at most two connections at a time are open to the telephony service, however many users log in", async () => {
  await using world = await startInProcess({
    toml: "[factors.sends]\nper_number = 1000\n[telephony]\ntimeout_ms = 30000",
  });
  const users = Array.from({ length: 40 }, (_, at) => `user${at}`);
  for (const user of users) await give(world, user, { kind: "sms", number: NUMBER });
  const { server } = world.telephony;
  const { seen, steps } = await underWayAtOnce(world, { users, server, most: 2 });
  assertEquals([seen, server.mostUnderWay()], [2, 2]);
  assertEquals([...steps], ["AWAIT_SMS_DELIVERED_PASSCODE"]);
});

Deno.test("document: at most eighteen are open to the second-factor service, so that the total is twenty", async () => {
  await using world = await startInProcess({ toml: "[second_factor]\ntimeout_ms = 30000" });
  const users = Array.from({ length: 60 }, (_, at) => `user${at}`);
  for (const user of users) await giveDevice(world, user);
  const { server } = world.secondFactor;
  const { seen, steps } = await underWayAtOnce(world, { users, server, most: 18 });
  assertEquals([seen, server.mostUnderWay()], [18, 18]);
  assertEquals([...steps], ["SECONDFACTOR_AWAIT_DEVICE_APPROVAL"]);
  assertEquals(world.secondFactor.initiated().length, 60);
});

for (
  const [title, fault] of Object.entries(
    {
      "a 400": { kind: "status", status: 400 },
      "a 429": { kind: "status", status: 429 },
      "a 500": { kind: "status", status: 500 },
      "a hang": { kind: "hang" },
      "a closed connection": { kind: "close" },
      "bad JSON": { kind: "bad_json" },
      "an answer of 5 MB": { kind: "huge" },
      "a redirect": { kind: "redirect" },
    } as const,
  )
) {
  Deno.test(`document: ${title} of the telephony service keeps the prompt for a texted number, and accepts no login`, async () => {
    await using world = await startInProcess({ toml: `[factors]\nphone_numbers = "any"` });
    world.telephony.failAlways(fault);
    const login = await world.begin({ user: "anna" }, "");
    await login.answer("T");
    const reply = await login.answer(NUMBER);
    assertEquals(reply.step, "GET_SMS_PHONE_NUMBER");
    assert(reply.tookMs < 12_000, `${reply.tookMs} ms`);
    assertEquals(world.radius.monitor.counters()["accepts"], 0);
  });
}

// The service as in the specification: behaviour, attributes, states and errors.

const PROMPT = 76;

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
