// The sealed State of relayed rounds, and the cache of recent answers.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createVault } from "../../../platform/vault.ts";
import { RecentAnswers } from "../../../radius/relay/relay_handler.ts";
import { type RelayRound, RelayStates } from "../../../radius/relay/relay_state.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

const OWNER = { client: "vpn", userName: new TextEncoder().encode("CORP\\Anna") };

function openStates(
  { key = 1, clock = createManualClock() }: { key?: number; clock?: ReturnType<typeof createManualClock> } =
    {},
) {
  const random = createSystemRandom();
  const long: string[] = [];
  const states = new RelayStates({
    ...{ clock, random, vault: createVault(new Uint8Array(32).fill(key), random) },
    onLong: (round) => long.push(round.server),
  });
  return { states, clock, long };
}

function roundAt(nowMs: number, more: Partial<RelayRound> = {}): RelayRound {
  return {
    upstreamState: Uint8Array.of(1, 2, 3),
    server: "192.0.2.1:1812",
    expiresMs: Math.floor(nowMs / 1000) * 1000 + 60_000,
    method: 26,
    identity: "equal",
    isMixed: false,
    isCounted: false,
    trace: "0102030405ff",
    ...more,
  };
}

const ROUNDS: Partial<RelayRound>[] = [
  {},
  { upstreamState: null, method: 0, identity: "unknown" },
  { upstreamState: new Uint8Array(0) },
  { identity: "different", isMixed: true, isCounted: true },
  { server: "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535", upstreamState: new Uint8Array(160).fill(9) },
];
for (const [at, more] of ROUNDS.entries()) {
  Deno.test(`RelayStates seals round ${at} in at most 253 octets, and any node opens it`, () => {
    const { states, clock, long } = openStates();
    const round = roundAt(clock.nowMs(), more);
    const sealed = states.seal(round, OWNER);
    assert(sealed.length > 16 && sealed.length <= 253, `${sealed.length}`);
    assertEquals(openStates({ clock }).states.open(sealed, OWNER), round);
    assertEquals(long, []);
  });
}

Deno.test("RelayStates opens no State of another client, User-Name or key, no changed one, and none that has expired", () => {
  const { states, clock } = openStates();
  const round = roundAt(clock.nowMs());
  const sealed = states.seal(round, OWNER);
  assertEquals(states.open(sealed, { ...OWNER, client: "wifi" }), null);
  assertEquals(states.open(sealed, { ...OWNER, userName: new TextEncoder().encode("corp\\anna") }), null);
  assertEquals(openStates({ key: 2, clock }).states.open(sealed, OWNER), null);
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice();
    changed[at] = (changed[at] as number) ^ 1;
    assertEquals(states.open(changed, OWNER), null, `octet ${at}`);
    assertEquals(states.open(sealed.subarray(0, at), OWNER), null, `${at} octets`);
  }
  clock.advance(61_000);
  assertEquals(states.open(sealed, OWNER), null);
});

Deno.test("RelayStates stores a long State in memory under a random one, reports it, and only for its owner", () => {
  const { states, clock, long } = openStates();
  const round = roundAt(clock.nowMs(), { upstreamState: new Uint8Array(253).fill(5) });
  const handle = states.seal(round, OWNER);
  assertEquals([handle.length, long], [16, ["192.0.2.1:1812"]]);
  assertNotEquals(states.seal(round, OWNER), handle);
  assertEquals(states.open(handle, OWNER), round);
  assertEquals(states.open(handle, { ...OWNER, client: "wifi" }), null);
  assertEquals(openStates({ clock }).states.open(handle, OWNER), null);
  for (let count = 0; count < 4096; count++) states.seal(round, OWNER);
  assertEquals(states.open(handle, OWNER), null);
});

Deno.test("RecentAnswers forgets an answer after 30 s, and the oldest ones beyond its bound", () => {
  const clock = createManualClock();
  const answers = new RecentAnswers<number>({ clock });
  answers.add("first", 1, 100);
  clock.advance(29_999);
  assertEquals(answers.find("first"), 1);
  clock.advance(1);
  assertEquals(answers.find("first"), null);
  for (let at = 0; at < 20_000; at++) answers.add(`answer ${at}`, at, 100);
  assertEquals([answers.find("answer 0"), answers.find("answer 19999")], [null, 19_999]);
  answers.add("large", 7, 15 * 1024 * 1024);
  answers.add("larger", 8, 15 * 1024 * 1024);
  assertEquals([answers.find("answer 19999"), answers.find("large"), answers.find("larger")], [
    null,
    null,
    8,
  ]);
});
