// Every failure of a service, over real connections: the right fault, within the deadline.

import { assertEquals } from "@std/assert";
import type { Fault, Outcome } from "../../radius/ports.ts";
import { type Clock, createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createHttpCaller } from "../../upstream/http/service_caller.ts";
import { openHttpClient } from "../../platform/fetch_with_deadline.ts";
import { createSecondFactorClient } from "../../upstream/second_factor.ts";
import { createTelephonyClient } from "../../upstream/telephony.ts";
import type { ServiceFault } from "../fakes/raw_http.ts";
import { startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { startFakeTelephony } from "../fakes/telephony_server.ts";
import { createManualClock, eventually, type ManualClock } from "./manual_clock.ts";
import { CONTEXT, right, USER_AGENT } from "./start_services.ts";

/** The deadline of a call. No test waits for it: the test moves the clock where a call ends by it. */
const TIMEOUT_MS = 10_000;

interface FaultRow {
  readonly name: string;
  readonly fault: ServiceFault;
  readonly expected: Partial<Fault>;
  /** Whether the call ends by its deadline. */
  readonly endsByDeadline?: boolean;
}

const LATE = { kind: "unreachable", sent: true } as const;

const FAULTS: readonly FaultRow[] = [
  { name: "hangs", fault: { kind: "hang" }, expected: LATE, endsByDeadline: true },
  { name: "is late", fault: { kind: "late", delayMs: 60_000 }, expected: LATE, endsByDeadline: true },
  { name: "sends its body slowly", fault: { kind: "slow_body" }, expected: LATE, endsByDeadline: true },
  {
    name: "cuts its body short",
    fault: { kind: "truncated" },
    expected: { kind: "unreachable", sent: true },
  },
  {
    name: "redirects",
    fault: { kind: "redirect" },
    expected: { kind: "unreachable", sent: true, detail: "redirected (HTTP 302)" },
  },
  { name: "answers bad JSON", fault: { kind: "bad_json" }, expected: { kind: "nonsense" } },
  { name: "answers another type", fault: { kind: "wrong_type" }, expected: { kind: "nonsense" } },
  { name: "answers 5 MB", fault: { kind: "huge" }, expected: { kind: "nonsense" } },
  { name: "answers 100,000 levels", fault: { kind: "deep" }, expected: { kind: "nonsense" } },
  {
    name: "answers 401",
    fault: { kind: "status", status: 401 },
    expected: { kind: "refused", status: 401, code: 401 },
  },
  { name: "answers 404", fault: { kind: "status", status: 404 }, expected: { kind: "unknown", code: 404 } },
  {
    name: "answers 429 with Retry-After",
    fault: { kind: "status", status: 429, headers: { "Retry-After": "3" } },
    expected: { kind: "busy", retryAfterMs: 3000 },
  },
  { name: "answers 500", fault: { kind: "status", status: 500 }, expected: { kind: "failed", status: 500 } },
  {
    name: "answers 502 in HTML",
    fault: { kind: "status", status: 502, body: "<h1>Bad gateway</h1>" },
    expected: { kind: "failed", status: 502, detail: "HTTP 502" },
  },
  { name: "answers 503", fault: { kind: "status", status: 503 }, expected: { kind: "failed", status: 503 } },
  {
    name: "answers 204",
    fault: { kind: "status", status: 204, body: "" },
    expected: { kind: "nonsense" },
  },
];

const SECOND_FACTOR_FAULTS: readonly FaultRow[] = [
  ...FAULTS,
  { name: "answers booleans as texts", fault: { kind: "wrong_shape" }, expected: { kind: "nonsense" } },
];

function assertFault(outcome: Outcome<unknown>, expected: Partial<Fault>): void {
  if (outcome.ok) throw new Error(`Not a fault: ${JSON.stringify(outcome.value)}`);
  const told = new Map<string, unknown>(Object.entries(outcome.fault));
  const named = Object.keys(expected).map((key) => [key, told.get(key)]);
  assertEquals(Object.fromEntries(named), expected);
}

/** A clock that a test moves past a deadline, or the system's. */
function clockOf({ endsByDeadline }: FaultRow): ManualClock | Clock {
  return endsByDeadline === true ? createManualClock(Date.now()) : systemClock;
}

/** Awaits a call. The clock moves past the deadline when the request of a call that ends by it has arrived. */
async function answerOf<T>(
  call: Promise<T>,
  { clock, hasArrived }: { clock: ManualClock | Clock; hasArrived: () => boolean },
): Promise<T> {
  if (!("advance" in clock)) return await call;
  await eventually("the request arrives", hasArrived);
  clock.advance(TIMEOUT_MS);
  return await call;
}

async function openSecondFactor(
  { clock = systemClock, ...settings }: { url?: string; clock?: Clock } = {},
) {
  const fake = await startFakeSecondFactor();
  const random = createSystemRandom();
  const pool = openHttpClient();
  const caller = createHttpCaller({ fetch: pool.fetch, clock, random });
  const client = createSecondFactorClient({
    caller,
    settings: { ...fake, timeoutMs: TIMEOUT_MS, ...settings },
    clock,
    random,
    userAgent: USER_AGENT,
  });
  return {
    fake,
    client,
    ask: () => client.initiate({ pairingId: "p-1", terminalName: "VPN", context: CONTEXT }),
    async [Symbol.asyncDispose]() {
      await caller.close();
      pool.close();
      await fake.close();
    },
  };
}

for (const row of SECOND_FACTOR_FAULTS) {
  const { name, fault, expected } = row;
  Deno.test(`SecondFactorService.initiate() when the service ${name}: ${expected.kind}, called once`, async () => {
    const clock = clockOf(row);
    await using world = await openSecondFactor({ clock });
    world.fake.failNext(fault);
    const hasArrived = () => world.fake.requests.length === 1;
    assertFault(await answerOf(world.ask(), { clock, hasArrived }), expected);
    assertEquals(world.fake.requests.length, 1);
  });

  Deno.test(`SecondFactorService.status() when the service ${name}: ${expected.kind}`, async () => {
    const clock = clockOf(row);
    await using world = await openSecondFactor({ clock });
    const { id } = right(await world.ask());
    world.fake.decide(id, { granted: true });
    world.fake.failNext(fault);
    const hasArrived = () => world.fake.requests.length === 2;
    assertFault(await answerOf(world.client.status(id), { clock, hasArrived }), expected);
    assertEquals(right(await world.client.status(id)).granted, true);
  });
}

Deno.test("SecondFactorService.initiate() is not repeated when the connection breaks, because it may have arrived", async () => {
  await using world = await openSecondFactor();
  world.fake.failNext({ kind: "close" });
  assertFault(await world.ask(), { kind: "unreachable", sent: true });
  assertEquals(world.fake.requests.length, 1);
});

Deno.test("SecondFactorService.status() is repeated once, newly signed, when the connection breaks", async () => {
  await using world = await openSecondFactor();
  const { id } = right(await world.ask());
  world.fake.failNext({ kind: "close" });
  assertEquals(right(await world.client.status(id)).pending, true);
  const [, first, second] = world.fake.requests;
  assertEquals([world.fake.requests.length, first?.authorized, second?.authorized], [3, true, true]);
  world.fake.failNext({ kind: "close" }, { kind: "close" });
  assertFault(await world.client.status(id), { kind: "unreachable", sent: true });
  assertEquals(world.fake.requests.length, 5);
});

Deno.test("SecondFactorService.status() refuses a record with another identifier, granted or not", async () => {
  await using world = await openSecondFactor();
  const { id } = right(await world.ask());
  world.fake.decide(id, { granted: true });
  world.fake.failNext({ kind: "wrong_id" });
  assertFault(await world.client.status(id), { kind: "nonsense" });
});

Deno.test("SecondFactorService.status() grants nothing for a record that is both granted and cancelled", async () => {
  await using world = await openSecondFactor();
  const { id } = right(await world.ask());
  world.fake.decide(id, { granted: true, cancelled: true });
  const { granted, cancelled } = right(await world.client.status(id));
  assertEquals([granted, cancelled], [false, true]);
});

Deno.test("SecondFactorService.status() returns the latest state of the service, also after a change", async () => {
  await using world = await openSecondFactor();
  const { id } = right(await world.ask());
  world.fake.decide(id, { granted: true });
  assertEquals(right(await world.client.status(id)).granted, true);
  world.fake.decide(id, { granted: false });
  assertEquals(right(await world.client.status(id)).granted, false);
});

Deno.test("SecondFactorService.status() reports a refused port: unreachable, nothing sent", async () => {
  await using world = await openSecondFactor();
  await world.fake.close();
  assertFault(await world.client.status("x"), {
    kind: "unreachable",
    sent: false,
    detail: "connection refused",
  });
});

Deno.test("SecondFactorService.initiate() ends in unreachable, nothing sent, when TLS fails", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answering = (async () => {
    const connection = await listener.accept();
    await connection.write(new TextEncoder().encode("HTTP/1.1 400 This is no TLS\r\n\r\n"));
    connection.close();
  })();
  const url = `https://127.0.0.1:${listener.addr.port}`;
  await using world = await openSecondFactor({ url });
  assertFault(await world.ask(), { kind: "unreachable", sent: false });
  await answering;
  listener.close();
});

Deno.test("SecondFactorService.initiate() is sent once also when an earlier call left its connection open", async () => {
  await using world = await openSecondFactor();
  right(await world.ask());
  world.fake.failNext({ kind: "close" });
  assertFault(await world.ask(), { kind: "unreachable", sent: true });
  assertEquals(world.fake.requests.length, 2);
});

Deno.test("SecondFactorService does not call a service at all after five failures", async () => {
  await using world = await openSecondFactor();
  world.fake.failAlways({ kind: "status", status: 503 });
  for (let call = 0; call < 5; call++) assertFault(await world.ask(), { kind: "failed" });
  assertFault(await world.ask(), { kind: "not_called" });
  assertEquals(world.fake.requests.length, 5);
});

Deno.test("SecondFactorService faults contain no passcode and no phrase that the service returned", async () => {
  await using world = await openSecondFactor();
  const body = JSON.stringify({
    error_code: 400,
    error_message: "bad: 402913, maple river, test-secret, \u001b[2J",
  });
  world.fake.failNext({ kind: "status", status: 400, body }, { kind: "status", status: 400, body });
  const answers = [
    await world.client.otpAuth("x", "402913"),
    await world.client.createPairing({ phrase: "maple river", userName: "ada" }),
  ];
  for (const answer of answers) assertFault(answer, { kind: "refused", code: 400 });
  const text = JSON.stringify(answers);
  for (const secret of ["402913", "test-secret", "\\u001b"]) assertEquals(text.includes(secret), false);
  assertEquals(JSON.stringify(answers[1]).includes("maple river"), false);
});

async function openTelephony({ clock = systemClock }: { clock?: Clock } = {}) {
  const fake = await startFakeTelephony();
  const pool = openHttpClient();
  const caller = createHttpCaller({ fetch: pool.fetch, clock, random: createSystemRandom() });
  const settings = { ...fake, twimlEchoUrl: "", timeoutMs: TIMEOUT_MS };
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

for (const row of FAULTS) {
  const { name, fault, expected } = row;
  Deno.test(`TelephonyService.text() when the service ${name}: ${expected.kind}, called once`, async () => {
    const clock = clockOf(row);
    await using world = await openTelephony({ clock });
    world.fake.failNext(fault);
    const sent = world.client.text({ to: "+15551234567", body: "402913", validitySeconds: 300 });
    const hasArrived = () => world.fake.requests.length === 1;
    const outcome = await answerOf(sent, { clock, hasArrived });
    assertFault(outcome, name === "answers 429 with Retry-After" ? { kind: "busy" } : expected);
    assertEquals(world.fake.requests.length, 1);
  });
}

const MAGIC: readonly { kind: "call" | "text"; to: string; code: number }[] = [
  { kind: "call", to: "+15005550001", code: 21217 },
  { kind: "call", to: "+15005550002", code: 21214 },
  { kind: "call", to: "+15005550003", code: 21215 },
  { kind: "call", to: "+15005550004", code: 21216 },
  { kind: "text", to: "+15005550001", code: 21211 },
  { kind: "text", to: "+15005550002", code: 21612 },
  { kind: "text", to: "+15005550003", code: 21408 },
  { kind: "text", to: "+15005550004", code: 21610 },
  { kind: "text", to: "+15005550009", code: 21614 },
];
for (const { kind, to, code } of MAGIC) {
  Deno.test(`TelephonyService.${kind}() to ${to} is refused with ${code}`, async () => {
    await using world = await openTelephony();
    const sent = kind === "call"
      ? await world.client.call({ to, intro: "Hello.", digits: "0471" })
      : await world.client.text({ to, body: "402913", validitySeconds: 300 });
    assertFault(sent, { kind: "refused", status: 400, code });
  });
}
