// The calls on the wire, octet by octet where the specification defines them.

import { assertEquals, assertMatch } from "@std/assert";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createHttpCaller } from "../../upstream/http/service_caller.ts";
import { openHttpClient } from "../../platform/fetch_with_deadline.ts";
import { createSecondFactorClient } from "../../upstream/second_factor.ts";
import { createTelephonyClient } from "../../upstream/telephony.ts";
import { startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { startFakeTelephony } from "../fakes/telephony_server.ts";
import { CALL_MS, CONTEXT, right, USER_AGENT } from "./start_services.ts";

async function openSecondFactor({ urlSuffix = "" } = {}) {
  const fake = await startFakeSecondFactor({ nowMs: () => systemClock.nowMs() });
  const random = createSystemRandom();
  const pool = openHttpClient();
  const caller = createHttpCaller({ fetch: pool.fetch, clock: systemClock, random });
  const settings = { ...fake, url: fake.url + urlSuffix, timeoutMs: CALL_MS };
  const client = createSecondFactorClient({
    caller,
    settings,
    clock: systemClock,
    random,
    userAgent: USER_AGENT,
  });
  return {
    fake,
    client,
    async [Symbol.asyncDispose]() {
      await caller.close();
      pool.close();
      await fake.close();
    },
  };
}

Deno.test("SecondFactorService.initiate() posts exactly pairing_id and terminal_name, signed, with a User-Agent", async () => {
  await using world = await openSecondFactor();
  right(
    await world.client.initiate({ pairingId: "p 1*é", terminalName: "VPN & (Zürich)!", context: CONTEXT }),
  );
  const [request] = world.fake.requests;
  assertEquals(request?.method, "POST");
  assertEquals(request?.target, "/v1/authentication_requests/initiate");
  assertEquals(request?.body, "pairing_id=p%201%2A%C3%A9&terminal_name=VPN%20%26%20%28Z%C3%BCrich%29%21");
  assertEquals(request?.headers.get("content-type"), "application/x-www-form-urlencoded");
  assertEquals(request?.headers.get("user-agent"), USER_AGENT);
  assertEquals(request?.headers.get("accept"), "application/json");
  assertEquals(request?.authorized, true);
  assertMatch(
    request?.headers.get("authorization") ?? "",
    /^OAuth oauth_consumer_key="test-key", oauth_version="1\.0", oauth_signature_method="HMAC-SHA1", oauth_timestamp="\d+", oauth_nonce="\d+", oauth_signature="[^"]+"$/,
  );
});

Deno.test("SecondFactorService sends client, place and prompt to no external service", async () => {
  await using world = await openSecondFactor();
  right(await world.client.initiate({ pairingId: "p", terminalName: "VPN", context: CONTEXT }));
  const [request] = world.fake.requests;
  assertEquals(request?.headers.has("x-request-context"), false);
  assertEquals(request?.head.includes(CONTEXT.client), false);
});

Deno.test("SecondFactorService.status() requests the literal null by GET without a body, each time with a new nonce", async () => {
  await using world = await openSecondFactor();
  await world.client.status("null");
  await world.client.status("null");
  const [first, second] = world.fake.requests;
  assertEquals(first?.method, "GET");
  assertEquals(first?.target, "/v1/authentication_requests/null");
  assertEquals([first?.body, first?.headers.get("content-type")], ["", null]);
  assertEquals([first?.authorized, second?.authorized], [true, true]);
});

Deno.test("SecondFactorService encodes an identifier as one segment of the path", async () => {
  await using world = await openSecondFactor();
  await world.client.status("a/b?c#d%2e");
  assertEquals(world.fake.requests[0]?.target, "/v1/authentication_requests/a%2Fb%3Fc%23d%252e");
  assertEquals(world.fake.requests[0]?.authorized, true);
});

Deno.test("SecondFactorService.otpAuth() and createPairing() post the documented fields", async () => {
  await using world = await openSecondFactor();
  world.fake.offerPhrase("maple river");
  const { id } = right(
    await world.client.initiate({ pairingId: "p", terminalName: "VPN", context: CONTEXT }),
  );
  right(await world.client.otpAuth(id, "402913"));
  const pairing = right(await world.client.createPairing({ phrase: "maple river", userName: "ada" }));
  right(await world.client.pairing(pairing.id));
  assertEquals(world.fake.requests.slice(1).map(({ method, target, body }) => [method, target, body]), [
    ["POST", `/v1/authentication_requests/${id}/otp_auth`, "otp=402913"],
    ["POST", "/v1/pairings/create", "pairing_phrase=maple%20river&user_name=ada"],
    ["GET", `/v1/pairings/${pairing.id}`, ""],
  ]);
});

Deno.test("createSecondFactorClient() accepts an address with trailing slashes", async () => {
  await using world = await openSecondFactor({ urlSuffix: "//" });
  await world.client.status("null");
  assertEquals(world.fake.requests[0]?.target, "/v1/authentication_requests/null");
});

async function openTelephony(twimlEchoUrl: string) {
  const fake = await startFakeTelephony();
  const pool = openHttpClient();
  const caller = createHttpCaller({ fetch: pool.fetch, clock: systemClock, random: createSystemRandom() });
  const settings = { ...fake, twimlEchoUrl, timeoutMs: CALL_MS };
  const client = createTelephonyClient({ caller, settings, userAgent: USER_AGENT });
  return {
    fake,
    client,
    async [Symbol.asyncDispose]() {
      await caller.close();
      pool.close();
      await fake.close();
    },
  };
}

/** The markup below, encoded once for the query of the echo service and once more for the form. */
const MARKUP_TWICE = "%253CResponse%253E%253CSay%253EHi%2520%2526amp%253B%2520bye%253C%252FSay%253E" +
  "%253CSay%253E4%253C%252FSay%253E%253CPause%2520length%253D%25221%2522%252F%253E" +
  "%253CSay%253E0%253C%252FSay%253E%253CPause%2520length%253D%25221%2522%252F%253E" +
  "%253CSay%253E7%253C%252FSay%253E%253CPause%2520length%253D%25221%2522%252F%253E" +
  "%253CSay%253E1%253C%252FSay%253E%253C%252FResponse%253E";

Deno.test("TelephonyService.call() posts From, To and the Url whose markup is encoded twice", async () => {
  await using world = await openTelephony("http://echo.example/echo");
  right(await world.client.call({ to: "+15551234567", intro: "Hi & bye", digits: "4071" }));
  const [request] = world.fake.requests;
  assertEquals(request?.target, `/2010-04-01/Accounts/${world.fake.accountId}/Calls.json`);
  assertEquals(
    request?.body,
    `From=%2B15005550006&To=%2B15551234567&Url=http%3A%2F%2Fecho.example%2Fecho%3FTwiml%3D${MARKUP_TWICE}`,
  );
  assertEquals(request?.headers.get("accept"), "application/json");
  assertEquals(
    request?.headers.get("content-type"),
    "application/x-www-form-urlencoded; charset=UTF-8",
  );
  assertEquals(
    request?.headers.get("authorization"),
    `Basic ${btoa(`${world.fake.accountId}:${world.fake.authToken}`)}`,
  );
});

Deno.test("TelephonyService.call() adds the markup to an echo address that has a query", async () => {
  await using world = await openTelephony("http://echo.example/echo?key=1");
  right(await world.client.call({ to: "+15551234567", intro: "Hi & bye", digits: "4071" }));
  const url = new URL(world.fake.requests[0]?.form.get("Url") ?? "");
  assertEquals(url.searchParams.get("key"), "1");
  assertEquals(url.searchParams.get("Twiml")?.startsWith("<Response><Say>Hi &amp; bye</Say>"), true);
});

Deno.test("TelephonyService.call() puts the markup into Twiml without an echo service", async () => {
  await using world = await openTelephony("");
  right(await world.client.call({ to: "+15551234567", intro: "Hi", digits: "4" }));
  const [request] = world.fake.requests;
  assertEquals([...request?.form.keys() ?? []], ["From", "To", "Twiml"]);
  assertEquals(request?.form.get("Twiml"), "<Response><Say>Hi</Say><Say>4</Say></Response>");
});

Deno.test("TelephonyService.text() posts To, From, Body and a ValidityPeriod within the service's limits", async () => {
  await using world = await openTelephony("");
  for (const validitySeconds of [299.2, 0, 1e9]) {
    right(await world.client.text({ to: "+15551234567", body: "Code: 402913", validitySeconds }));
  }
  const [request] = world.fake.requests;
  assertEquals(request?.target, `/2010-04-01/Accounts/${world.fake.accountId}/Messages.json`);
  assertEquals(
    request?.body,
    "To=%2B15551234567&From=%2B15005550006&Body=Code%3A%20402913&ValidityPeriod=300",
  );
  assertEquals(world.fake.requests.map(({ form }) => form.get("ValidityPeriod")), ["300", "1", "36000"]);
});
