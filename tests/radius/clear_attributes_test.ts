// Attributes in clear form: what is hidden is revealed with one secret and hidden again with another.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { createSystemRandom } from "../../platform/runtime.ts";
import { SharedSecret } from "../../radius/protocol/authenticity.ts";
import {
  type ClearAttribute,
  clearIdentity,
  clearOctets,
  identityOfName,
  readClearAttributes,
  writeClearAttributes,
} from "../../radius/protocol/clear_attributes.ts";
import { PacketWriter } from "../../radius/protocol/packet.ts";
import fc from "../packages/fast_check.ts";
import {
  type Attribute,
  buildRequest,
  hidePassword,
  hideSalted,
  revealSalted,
} from "../support/radius_packets.ts";

const SECRET = "secret of the server";
const OTHER = "secret of the client";
const authenticator = Uint8Array.from({ length: 16 }, (_, at) => at * 3);
const otherAuthenticator = Uint8Array.from({ length: 16 }, (_, at) => 250 - at);
const key = { secret: SECRET, authenticator };
const salt = Uint8Array.of(0x80, 1);
const octets = (text: string) => new TextEncoder().encode(text);
const random = createSystemRandom();

/** A Vendor-Specific value with attributes of the vendor. */
function vendor(
  number: number,
  ...parts: readonly (readonly [type: number, value: Uint8Array])[]
): Uint8Array {
  return Uint8Array.of(
    ...[number >>> 24, number >>> 16, number >>> 8, number],
    ...parts.flatMap(([type, value]) => [type, value.length + 2, ...value]),
  );
}

function packetOf(...attributes: Attribute[]): Uint8Array {
  return buildRequest("any", { messageAuthenticator: "none", more: attributes }).bytes;
}

const read = (packet: Uint8Array) =>
  readClearAttributes(packet, { secret: new SharedSecret(SECRET), authenticator });

function readAll(packet: Uint8Array): ClearAttribute[] {
  const clear = read(packet);
  if (!clear.ok) throw new Error(clear.reason);
  return clear.value;
}

/** Writes attributes for the other hop. Returns the attributes of the packet. */
function written(list: readonly ClearAttribute[], secret: SharedSecret | null = new SharedSecret(OTHER)) {
  const writer = new PacketWriter();
  writer.begin(2, 7);
  writeClearAttributes(writer, list, { secret, authenticator: otherAuthenticator, random });
  writer.finish();
  const packet = writer.octets.slice(0, writer.lengthOctets);
  const raw = readClearAttributes(packet, { secret: null, authenticator });
  if (!raw.ok) throw new Error(raw.reason);
  return { packet, raw: raw.value };
}

const lmKey = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const ntKey = Uint8Array.of(...new Uint8Array(12).fill(9), 0, 0, 0, 0);
const mppeKey = Uint8Array.from({ length: 32 }, (_, at) => at);

/** The name, the hidden attribute and its clear value. */
const HIDDEN: readonly (readonly [string, Attribute, Uint8Array])[] = [
  ["User-Password", { type: 2, value: hidePassword(octets("open sesame"), key) }, octets("open sesame")],
  ["Tunnel-Password", {
    type: 69,
    value: Uint8Array.of(3, ...hideSalted(octets("tunnel"), { ...key, salt })),
  }, Uint8Array.of(3, ...octets("tunnel"))],
  ["an empty Tunnel-Password", {
    type: 69,
    value: Uint8Array.of(0, ...hideSalted(octets(""), { ...key, salt })),
  }, Uint8Array.of(0)],
  [
    "MS-MPPE-Send-Key",
    { type: 26, value: vendor(311, [16, hideSalted(mppeKey, { ...key, salt })]) },
    vendor(311, [16, mppeKey]),
  ],
  [
    "MS-MPPE-Recv-Key",
    { type: 26, value: vendor(311, [17, hideSalted(mppeKey, { ...key, salt })]) },
    vendor(311, [17, mppeKey]),
  ],
  ["MS-CHAP-MPPE-Keys", {
    type: 26,
    value: vendor(311, [12, hidePassword(Uint8Array.of(...lmKey, ...ntKey, ...new Uint8Array(8)), key)]),
  }, vendor(311, [12, Uint8Array.of(...lmKey, ...ntKey)])],
  ["Aruba-MPSK-Passphrase", {
    type: 26,
    value: vendor(14823, [44, hideSalted(octets("wlan"), { ...key, salt })]),
  }, vendor(14823, [44, octets("wlan")])],
  ["LANCOM IKEv2-Local-Password", {
    type: 26,
    value: vendor(2356, [19, Uint8Array.of(1, ...hideSalted(octets("ike"), { ...key, salt }))]),
  }, vendor(2356, [19, Uint8Array.of(1, ...octets("ike"))])],
];

for (const [name, attribute, value] of HIDDEN) {
  Deno.test(`readClearAttributes() reveals ${name}, and writeClearAttributes() hides it for another hop`, () => {
    const clear = readAll(packetOf(attribute));
    assertEquals(clear, [{ type: attribute.type, value }]);
    const { packet, raw } = written(clear);
    assertEquals(raw.map(({ value: { length } }) => length), [attribute.value.length]);
    assert(raw[0]?.value.toHex() !== value.toHex());
    const again = readClearAttributes(packet, {
      secret: new SharedSecret(OTHER),
      authenticator: otherAuthenticator,
    });
    assertEquals(again, { ok: true, value: clear });
  });
}

Deno.test("writeClearAttributes() gives each value its own salt with the highest bit, as RFC 2548 §2.4.2 demands", () => {
  const list = Array.from({ length: 40 }, () => ({ type: 26, value: vendor(311, [17, mppeKey]) }));
  const { raw } = written(list);
  const salts = raw.map(({ value }) => value.subarray(6, 8).toHex());
  assertEquals(new Set(salts).size, 40);
  assert(salts.every((one) => Number.parseInt(one, 16) >= 0x8000));
  const hidden = raw[0]?.value.subarray(6) ?? new Uint8Array(0);
  assertEquals(revealSalted(hidden, { secret: OTHER, authenticator: otherAuthenticator }), mppeKey);
  const later = written(list).raw.map(({ value }) => value.subarray(6, 8).toHex());
  assert(later.join() !== salts.join());
});

Deno.test("writeClearAttributes() hides nothing without a secret, as RADIUS/1.1 sends values (RFC 9765 §5.1)", () => {
  const list = HIDDEN.map(([, { type }, value]) => ({ type, value }));
  assertEquals(written(list, null).raw, list);
  assertEquals(clearOctets(list), written(list, null).packet.length - 20);
});

Deno.test("readClearAttributes() gives each attribute of a vendor its own Vendor-Specific, in order", () => {
  const pairs = ["a=1", "b=2", "c=3"].map((text) => [1, octets(text)] as const);
  const keys = hideSalted(mppeKey, { ...key, salt });
  const clear = readAll(packetOf(
    { type: 25, value: octets("class") },
    { type: 26, value: vendor(9, ...pairs) },
    { type: 26, value: vendor(311, [7, octets("1234")], [16, keys]) },
    { type: 11, value: octets("filter") },
  ));
  assertEquals(clear, [
    { type: 25, value: octets("class") },
    ...pairs.map((pair) => ({ type: 26, value: vendor(9, pair) })),
    { type: 26, value: vendor(311, [7, octets("1234")]) },
    { type: 26, value: vendor(311, [16, mppeKey]) },
    { type: 11, value: octets("filter") },
  ]);
});

Deno.test("readClearAttributes() leaves a Vendor-Specific of another form whole", () => {
  const values = [
    vendor(429, [1, octets("ab")], [2, octets("cd")]),
    vendor(24757, [1, octets("ab")], [2, octets("cd")]),
    Uint8Array.of(0, 0, 0, 9, 1, 9, 1),
    Uint8Array.of(0, 0, 0, 9, 1, 1, 1),
    Uint8Array.of(0, 0, 0, 9, 0, 3, 1),
    Uint8Array.of(0, 0, 0, 9, 1, 3, 1, 5),
    Uint8Array.of(0, 0, 0, 9),
    Uint8Array.of(9),
  ];
  const list = values.map((value) => ({ type: 26, value }));
  assertEquals(readAll(packetOf(...list)), list);
});

const MALFORMED: readonly (readonly [string, Attribute])[] = [
  ["a User-Password of 15 octets", { type: 2, value: new Uint8Array(15) }],
  ["a Tunnel-Password without octets", { type: 69, value: new Uint8Array(0) }],
  ["a Tunnel-Password with a tag only", { type: 69, value: Uint8Array.of(1) }],
  ["a Tunnel-Password with a salt only", { type: 69, value: Uint8Array.of(1, 128, 0) }],
  ["a Tunnel-Password of half a block", { type: 69, value: Uint8Array.of(1, 128, 0, 1, 2, 3) }],
  ["an MPPE key without octets", { type: 26, value: vendor(311, [16, new Uint8Array(0)]) }],
  ["MPPE keys of one block", { type: 26, value: vendor(311, [12, new Uint8Array(16)]) }],
  ["a length beyond the value", {
    type: 69,
    value: Uint8Array.of(1, ...hideSalted(octets("x"), { ...key, salt, secret: "another" })),
  }],
];

for (const [name, attribute] of MALFORMED) {
  Deno.test(`readClearAttributes() refuses ${name}`, () => {
    const packet = packetOf({ type: 25, value: octets("class") }, attribute, attribute);
    assertEquals(read(packet), { ok: false, reason: "malformed_hidden_value", at: 29 });
  });
}

Deno.test("writeClearAttributes() refuses a value that is too long to be hidden, and a full packet", () => {
  assertThrows(() => written([{ type: 69, value: new Uint8Array(241) }]), RangeError);
  assertThrows(() => written([{ type: 2, value: new Uint8Array(129) }]), RangeError);
  assertEquals(written([{ type: 69, value: new Uint8Array(240) }]).raw[0]?.value.length, 243);
  assertThrows(
    () => written(Array.from({ length: 17 }, () => ({ type: 25, value: new Uint8Array(253) }))),
    RangeError,
  );
});

Deno.test("readClearAttributes() never throws, and what it reads is written and read again unchanged", () => {
  const attribute = fc.record({
    // A Message-Authenticator of another length cannot be signed.
    type: fc.oneof(
      fc.constantFrom(2, 26, 69, 79),
      fc.integer({ min: 1, max: 255 }).filter((type) => type !== 80),
    ),
    value: fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.uint8Array({ maxLength: 50 }).map((tail) => Uint8Array.of(0, 0, 1, 55, 16, ...tail)),
    ),
  });
  fc.assert(fc.property(fc.array(attribute, { maxLength: 20 }), (list) => {
    const clear = read(packetOf(...list));
    if (!clear.ok) return;
    const { packet } = written(clear.value);
    const again = readClearAttributes(packet, {
      secret: new SharedSecret(OTHER),
      authenticator: otherAuthenticator,
    });
    assertEquals(again, clear);
  }));
});

Deno.test("clearIdentity() is the same for all values of one attribute, and identityOfName() finds it", () => {
  const rows: readonly (readonly [string, ClearAttribute])[] = [
    ["Filter-Id", { type: 11, value: octets("x") }],
    ["tunnel-private-group-id", { type: 81, value: Uint8Array.of(1, 50) }],
    ["Cisco-AVPair", { type: 26, value: vendor(9, [1, octets("a=b")]) }],
    ["26.14823.44", { type: 26, value: vendor(14823, [44, octets("a")]) }],
    ["241.5", { type: 241, value: Uint8Array.of(5, 1) }],
    ["102", { type: 102, value: octets("k") }],
  ];
  for (const [name, attribute] of rows) assertEquals(identityOfName(name), clearIdentity(attribute), name);
  for (const name of ["", "all", "No-Such-Name", "26.9", "26.0.1", "0", "1000"]) {
    assertEquals(identityOfName(name), null, name);
  }
});
