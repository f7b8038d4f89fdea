// The tuple that identifies a conversation: different logins must have different tuples.

import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { PacketView } from "../../radius/protocol/packet.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { tupleOf } from "../../radius/conversation/tuple.ts";
import { type Attribute, buildRequest } from "../support/radius_packets.ts";

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
