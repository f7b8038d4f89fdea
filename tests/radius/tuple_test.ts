// Tuples, their table, and tuples that several nodes share.

import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { PacketView } from "../../radius/protocol/packet.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { type KnownTuple, SharedTuples, tupleOf, TupleTable } from "../../radius/conversation/tuple.ts";
import { type Attribute, buildRequest } from "../support/radius_packets.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

// The tuple that identifies a conversation: different logins must have different tuples.

/** The three attributes of a login; absent, or octets. */
interface Place {
  readonly callingStationId?: Uint8Array;
  readonly nasPortId?: Uint8Array;
  readonly nasPort?: Uint8Array;
}

const TYPES = { callingStationId: 31, nasPortId: 87, nasPort: 5 } as const;
const NAMES = Object.keys(TYPES) as (keyof typeof TYPES)[];

function tuple(client: string, user: string, place: Place, more: readonly Attribute[] = []) {
  const attributes = NAMES.flatMap((name) => {
    const value = place[name];
    return value === undefined ? [] : [{ type: TYPES[name], value }];
  });
  const { bytes } = buildRequest("s", { more: [...attributes, ...more], messageAuthenticator: "none" });
  const view = new PacketView();
  view.read(bytes, bytes.length);
  return tupleOf(view, client, user);
}

const octets = (text: string) => new TextEncoder().encode(text);
const isEmpty = (value: Uint8Array | undefined) => value === undefined || value.every((octet) => octet === 0);

Deno.test("tupleOf() gives different logins different tuples, for any client, name and attributes", () => {
  // Few and confusing characters, so that values are likely that could be joined into the same text.
  const words = fc.string({ unit: fc.constantFrom("1", ":", "-", "a", "\0", "é"), maxLength: 6 });
  const value = fc.option(words.map(octets), { nil: undefined });
  const login = fc.record({
    client: words,
    user: words,
    place: fc.record({ callingStationId: value, nasPortId: value, nasPort: value }),
  });
  const plain = ({ client, user, place }: { client: string; user: string; place: Place }) =>
    JSON.stringify([
      client,
      user,
      ...NAMES.map((name) => isEmpty(place[name]) ? null : [...place[name] ?? []]),
    ]);
  fc.assert(
    fc.property(login, login, (a, b) => {
      const same = tuple(a.client, a.user, a.place).key === tuple(b.client, b.user, b.place).key;
      assertEquals(same, plain(a) === plain(b));
    }),
    { numRuns: 1500 },
  );
});

Deno.test("tupleOf() does not mix adjacent parts: characters cannot move from one part to the next", () => {
  const rows: readonly (readonly [string, string, Place])[] = [
    ["ab", "c", {}],
    ["a", "bc", {}],
    ["a", "1:b", {}],
    ["a1", ":b", {}],
    ["a", "b", { callingStationId: octets("x") }],
    ["a", "b", { nasPortId: octets("x") }],
    ["a", "b", { nasPort: octets("x") }],
    ["a", "b", { callingStationId: octets("x-") }],
    ["a", "b", { callingStationId: octets("x"), nasPortId: octets("-") }],
    ["a", "b-", {}],
    ["a", "b--", {}],
  ];
  const keys = rows.map(([client, user, place]) => tuple(client, user, place).key);
  assertEquals(new Set(keys).size, rows.length);
});

const DISTINCT: readonly (readonly [string, Place, boolean])[] = [
  ["none of the three", {}, false],
  ["a Calling-Station-Id", { callingStationId: octets("10.0.0.1") }, true],
  ["a NAS-Port-Id", { nasPortId: octets("eth0") }, true],
  ["a NAS-Port", { nasPort: Uint8Array.of(0, 0, 0, 7) }, true],
  ["NAS-Port 0", { nasPort: new Uint8Array(4) }, false],
  ["empty attributes", { callingStationId: new Uint8Array(0), nasPortId: new Uint8Array(0) }, false],
  [
    "an empty one beside one that is not",
    { callingStationId: new Uint8Array(0), nasPortId: octets("e") },
    true,
  ],
  ["a NAS-Port of another size", { nasPort: Uint8Array.of(0, 0, 1) }, true],
];
for (const [what, place, distinct] of DISTINCT) {
  Deno.test(`tupleOf() finds ${what} ${distinct ? "" : "not "}enough to distinguish logins`, () => {
    assertEquals(tuple("vpn", "ada", place).distinct, distinct);
  });
}

Deno.test("tupleOf() treats an attribute that is empty or 0 as absent", () => {
  const bare = tuple("vpn", "ada", {}).key;
  assertEquals(tuple("vpn", "ada", { nasPort: new Uint8Array(4) }).key, bare);
  assertEquals(tuple("vpn", "ada", { callingStationId: new Uint8Array(0) }).key, bare);
});

Deno.test("tupleOf() ignores Service-Type, State, password and everything else", () => {
  const place = { nasPort: Uint8Array.of(0, 0, 0, 7) };
  const more = [6, 24, 2, 32, 33, 66].map((type) => ({ type, value: octets("anything else") }));
  assertEquals(tuple("vpn", "ada", place, more).key, tuple("vpn", "ada", place).key);
});

Deno.test("tupleOf() distinguishes a NAS-Port of four octets from the same number in five", () => {
  const four = tuple("vpn", "ada", { nasPort: Uint8Array.of(0, 0, 0, 7) });
  assertNotEquals(four.key, tuple("vpn", "ada", { nasPort: Uint8Array.of(0, 0, 0, 0, 7) }).key);
});

Deno.test("canonicalName() of any text is its normal form in lower case", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.string({ unit: "grapheme" })), (text) => {
    assertEquals(canonicalName(text), text.normalize("NFC").toLowerCase().normalize("NFC"));
  }));
});

Deno.test("canonicalName() unifies NFC and case, and keeps blanks and other names apart", () => {
  for (const name of ["Zoe\u0308", "ZO\u00cb", "zo\u00eb"]) assertEquals(canonicalName(name), "zo\u00eb");
  const apart = ["ada", " ada", "ada ", "ada\0", "ad\u0430", "ada\u200b", "ada@example.com"];
  assertEquals(new Set(apart.map(canonicalName)).size, apart.length);
});

Deno.test("canonicalName() of a canonical name is that name, for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (typed) => {
      const once = canonicalName(typed);
      assertEquals(canonicalName(once), once);
      assertEquals(canonicalName(typed.normalize("NFD")), once);
    }),
    { numRuns: 500 },
  );
});

/** Every character that differs from its lower-case form. */
const CAPITALS = Array.from({ length: 0x1f000 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point)).filter((character) => character.toLowerCase() !== character);

Deno.test("canonicalName() is stable for every capital of Unicode, alone and followed by an accent", () => {
  for (const character of CAPITALS) {
    for (const name of [character, `${character}\u0301`]) {
      const once = canonicalName(name);
      assertEquals(canonicalName(once), once, `U+${character.codePointAt(0)?.toString(16)}`);
    }
  }
});

// The table of tuples, compared with a Map.

Deno.test("TupleTable agrees with a Map for any sequence of calls", () => {
  const step = fc.record({
    act: fc.constantFrom("add", "add", "remove", "user", "open", "share"),
    key: fc.constantFrom("p", "q", "place of é", "x".repeat(128)),
    user: fc.constantFrom("ada", "bob", "ádám", "a much longer name of a user ".repeat(4)),
    open: fc.boolean(),
    sharedUntilMs: fc.integer({ min: 0, max: 9 }),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const table = new TupleTable(7);
    const map = new Map<string, KnownTuple>();
    for (const { act, ...tuple } of steps) {
      const { key, user, open, sharedUntilMs } = tuple;
      const known = map.get(key);
      const row = table.find(key);
      assertEquals(row >= 0 ? table.read(row) : undefined, known);
      if (known === undefined) {
        if (act !== "add") continue;
        table.add(tuple);
        map.set(key, tuple);
      } else if (act === "remove") {
        table.remove(row);
        map.delete(key);
      } else if (act === "user") {
        assertEquals(table.isUser(row, user), known.user === user);
        table.setUser(row, { key, user });
        map.set(key, { ...known, user });
      } else if (act === "open") {
        table.setOpen(row, open);
        map.set(key, { ...known, open });
      } else if (act === "share") {
        table.setSharedUntil(row, sharedUntilMs);
        map.set(key, { ...known, sharedUntilMs });
      }
      assertEquals(table.size, map.size);
    }
    const shared = [...table.shared(4)].map((row) => table.read(row).key).sort();
    const expected = [...map.values()].filter((one) => one.sharedUntilMs > 4).map(({ key }) => key).sort();
    assertEquals(shared, expected);
  }));
});

Deno.test("TupleTable keeps its tuples while it grows", () => {
  const table = new TupleTable(1);
  for (let number = 0; number < 3000; number++) {
    table.add({
      key: `place ${number}`,
      user: `user ${number}`,
      open: number % 2 === 0,
      sharedUntilMs: number,
    });
  }
  const row = table.find("place 2999");
  assertEquals(table.read(row), { key: "place 2999", user: "user 2999", open: false, sharedUntilMs: 2999 });
  assertEquals(table.read(table.find("place 0")).user, "user 0");
});

// Tuples that several logins share: detection, a retention of a day, and limits.

const DAY_MS = 24 * 3600_000;

async function ground(limits: { maxKnown?: number; maxShared?: number } = {}) {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32), createSystemRandom());
  const make = () => new SharedTuples({ store, clock, log, vault, ...limits });
  const tuples = make();
  const login = (place: string, user: string, more: { busy?: boolean; hasProof?: boolean } = {}) =>
    tuples.distinguishes({ place, user, busy: false, hasProof: true, ...more });
  return {
    ...{ clock, store, tuples, login },
    async again() {
      const later = make();
      await later.load();
      return later;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

Deno.test("distinguishes() is true while each login of a tuple has its final answer before the next", async () => {
  await using at = await ground();
  for (let count = 0; count < 5; count++) {
    assertEquals(at.login("p", "ada"), true);
    at.tuples.concluded("p", "ada");
  }
  assertEquals(at.tuples.isShared("p"), false);
});

Deno.test("distinguishes() is false for a day after a second login came before the first was answered", async () => {
  await using at = await ground();
  assertEquals(at.login("p", "ada"), true);
  assertEquals([at.login("p", "ada"), at.tuples.isShared("p")], [false, true]);
  at.tuples.concluded("p", "ada");
  assertEquals([at.login("p", "ada"), at.login("another", "ada")], [false, true]);
  at.tuples.concluded("p", "ada");
  at.clock.advance(DAY_MS + 1);
  assertEquals(at.login("p", "ada"), true);
});

Deno.test("distinguishes() is false after another user name used the tuple, and during a login in progress", async () => {
  await using at = await ground();
  at.login("p", "ada");
  at.tuples.concluded("p", "ada");
  assertEquals(at.login("p", "bob"), false);
  assertEquals(at.login("q", "ada", { busy: true }), false);
  assertEquals([at.tuples.isShared("p"), at.tuples.isShared("q")], [true, true]);
});

Deno.test("a login that does not prove the secret is checked, and leaves no mark", async () => {
  await using at = await ground();
  assertEquals(at.login("p", "eve", { hasProof: false }), true);
  assertEquals(at.login("p", "ada"), true);
  assertEquals([at.login("p", "eve", { hasProof: false }), at.login("p", "ada", { hasProof: false })], [
    false,
    false,
  ]);
  assertEquals(at.tuples.isShared("p"), false);
});

Deno.test("a shared tuple is shared after a restart too, also with a long key", async () => {
  await using at = await ground();
  const long = `${"x".repeat(1000)} 3 vpn`;
  for (const place of ["p", long]) {
    at.login(place, "ada");
    at.login(place, "bob");
  }
  // A commit after those of the marks.
  await at.store.commit({ mutations: [{ type: "set", key: ["after"], value: 1 }] });
  const later = await at.again();
  assertEquals([later.isShared("p"), later.isShared(long), later.isShared("q")], [true, true, false]);
  at.clock.advance(DAY_MS);
  assertEquals((await at.again()).isShared("p"), false);
});

Deno.test("shared tuples stay when the table is full, others are removed", async () => {
  await using at = await ground({ maxKnown: 10, maxShared: 5 });
  at.login("shared", "ada");
  at.login("shared", "bob");
  for (let count = 0; count < 1000; count++) at.login(`p${count}`, "ada");
  assertEquals([at.tuples.isShared("shared"), at.tuples.isShared("p0")], [true, false]);
});

Deno.test("when too many tuples are shared, every tuple counts as shared until the marks expire", async () => {
  await using at = await ground({ maxKnown: 10, maxShared: 5 });
  for (let count = 0; count < 5; count++) at.login(`p${count}`, "ada", { busy: true });
  assertEquals([at.tuples.isShared("q"), at.login("q", "ada")], [true, false]);
  at.clock.advance(DAY_MS + 1);
  assertEquals([at.tuples.isShared("q"), at.login("r", "ada")], [false, true]);
});
