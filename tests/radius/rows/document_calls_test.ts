// The outbound calls as in the specification: paths, versions, fields, headers, encodings, markup, signatures and
// connections.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { becomes, turn } from "./passing_time.ts";
import { give, giveDevice, passcodeSentTo } from "./people.ts";
import type { RawServer } from "../../fakes/raw_http.ts";

const NUMBER = "+15005550123";
const FORM = "application/x-www-form-urlencoded";

/** One request of each kind that a login with a device makes. */
async function deviceCalls(world: InProcess) {
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  const login = world.login({ user: "anna" });
  await login.start();
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
  const login = world.login({ user: "anna" });
  await login.start();
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
    const login = world.login({ user: "anna" });
    await login.start("");
    await login.answer("T");
    const reply = await login.answer(NUMBER);
    assertEquals(reply.step, "GET_SMS_PHONE_NUMBER");
    assert(reply.tookMs < 12_000, `${reply.tookMs} ms`);
    assertEquals(world.radius.monitor.counters()["accepts"], 0);
  });
}
