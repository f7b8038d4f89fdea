// Finding 3: packets of which anyone can make as many as they like locked users, used up their pushes, and ended their
// logins.

import { assertEquals, assertNotEquals } from "@std/assert";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { randomBytes } from "node:crypto";
import { CODES } from "../support/radius_packets.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { openSession } from "./gateway_sessions.ts";
import { eventually } from "../upstream/manual_clock.ts";

const SEED = "JBSWY3DPEHPK3PXP";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const GARBLED_PACKETS = 15;
const unsigned = { messageAuthenticator: "none" } as const;
const pairings = [
  ["alice", { kind: "totp", seed: fromBase32(SEED) }],
  ["bob", { kind: "device", id: "pairing-of-bob", totpLength: 6 }],
  ["carol", { kind: "sms", number: "+14155550123" }],
] as const;
const code = () => totpCode(fromBase32(SEED), Date.now());

Deno.test("03: a garbled password locks no user, sends nothing, and ends no login", async () => {
  await using world = await startProgramWithServices({ pairings });
  const { gateway } = world;
  const place = { nasPort: 7 };
  using alice = openSession(gateway, { userName: "alice", ...place });
  assertEquals((await alice.login()).step, CODE);
  using attacker = gateway.client();
  const refused = () => gateway.metric("refused_garbled_password_total");
  const send = async (userName: string, state?: string) => {
    // Without the secret the revealed password is garbled. One in 200,000 is text by chance; it is omitted.
    const password = new Uint8Array(randomBytes(15));
    password[0] = 0xff;
    const more = state === undefined ? {} : { state: new TextEncoder().encode(state) };
    await attacker.sendRaw(attacker.build({ userName, password, ...place, ...unsigned, ...more }).bytes);
  };
  for (let count = 0; count < GARBLED_PACKETS; count++) {
    for (const user of ["alice", "bob", "carol"]) await send(user);
    await send("alice", CODE);
  }
  await eventually("all of it is refused", async () => await refused() === GARBLED_PACKETS * 4);
  assertEquals([world.secondFactor.initiated().length, world.telephony.requests.length], [0, 0]);
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: an unsigned packet cannot answer, join or replace a login that began with a signed one", async () => {
  await using world = await startProgramWithServices({ pairings });
  const place = { userName: "alice", nasPort: 7 };
  using alice = openSession(world.gateway, place);
  using attacker = openSession(world.gateway, { ...place, ...unsigned });
  assertEquals((await alice.login()).step, CODE);
  // The name is known, so ten wrong codes would lock the user.
  const answers = await Promise.all(Array.from({ length: 12 }, () => attacker.forge(CODE, "000000")));
  assertEquals(new Set(answers.map(({ kind }) => kind)), new Set(["reject"]));
  const own = await attacker.login("open sesame");
  assertEquals(own.step, CODE);
  assertNotEquals(own.token, "");
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: an unsigned login with a readable password is served as before", async () => {
  await using world = await startProgramWithServices({ pairings });
  using alice = openSession(world.gateway, { userName: "alice", nasPort: 8, ...unsigned });
  const challenge = await alice.login("pässword");
  assertEquals([challenge.step, challenge.token], [CODE, ""]);
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: a packet that does not prove the secret ends no login that began unsigned, and voids no passcode", async () => {
  await using world = await startProgramWithServices({ pairings });
  const place = { userName: "alice", nasPort: 7, ...unsigned };
  using alice = openSession(world.gateway, place);
  using attacker = world.gateway.client();
  assertEquals((await alice.login()).step, CODE);
  const state = new TextEncoder().encode(CODE);
  const answer = await attacker.ask({ ...place, state });
  // The prompt is repeated, and the login is unchanged.
  assertEquals([answer.code, answer.state], [CODES.accessChallenge, state]);
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: a password that is readable by chance does not help to hide others under the same Request Authenticator", async () => {
  await using world = await startProgramWithServices({ pairings });
  const place = { userName: "bob", nasPort: 9, ...unsigned };
  using client = world.gateway.client();
  const authenticator = new Uint8Array(randomBytes(16));
  const garbled = new Uint8Array(16).fill(0xff);
  const readable = await client.ask({ ...place, authenticator, password: "readable" });
  assertEquals(readable.code, CODES.accessChallenge);
  // An attacker who guesses the key stream soon sends an unreadable password; from then on nothing is read under this
  // authenticator.
  assertEquals((await client.ask({ ...place, authenticator, password: garbled })).code, CODES.accessReject);
  assertEquals((await client.ask({ ...place, authenticator, password: "other" })).code, CODES.accessReject);
  assertEquals(
    (await client.ask({ ...place, nasPort: 10, password: "another authenticator" })).code,
    CODES.accessChallenge,
  );
});
