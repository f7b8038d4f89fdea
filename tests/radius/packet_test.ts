// Packets: decoding, MD5, what a trace shows, and captures.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { createHash, createHmac } from "node:crypto";
import fc from "../packages/fast_check.ts";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";
import { forEachAttribute, PacketView, PacketWriter } from "../../radius/protocol/packet.ts";
import { RFC_VECTORS } from "./rfc_vectors.ts";
import { createHmacMd5, md5 } from "../../radius/protocol/md5.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";
import { INTEGER_VALUES } from "../../radius/protocol/integer_values.ts";
import { RADIUS_ATTRIBUTES, typeOf } from "../../radius/protocol/dictionary.ts";
import { REQUEST_VENDOR_ATTRIBUTES } from "../../radius/protocol/vendor_dictionary.ts";
import { PacketCapture } from "../../radius/server/packet_capture.ts";

// Reading and writing of packets: the examples of the RFCs, and laws for any octets.

const AUTHENTICATOR = Uint8Array.from({ length: 16 }, (_, i) => i);
const STRUCTURAL = new Set(["too_short", "too_long", "truncated", "code_not_served", "malformed_attribute"]);
/** RFC vectors to "discard" that the walk over the attributes cannot detect: missing or invalid signatures. */
const SEEN_BY_THE_GATE = new Set(["neg-ma-len-5", "neg-status-no-ma", "neg-eap-no-ma"]);

const attribute = fc.record({
  type: fc.integer({ min: 1, max: 255 }),
  value: fc.uint8Array({ maxLength: 253 }),
});
type Attribute = { type: number; value: Uint8Array };

/** At most 15 attributes of at most 255 octets fit into any packet. */
const attributes = fc.array(attribute, { maxLength: 15 });

function write(list: readonly Attribute[]): Uint8Array<ArrayBuffer> {
  const writer = new PacketWriter();
  writer.begin(1, 7);
  for (const { type, value } of list) writer.attribute(type, value);
  writer.finish();
  writer.octets.set(AUTHENTICATOR, 4);
  return writer.octets.slice(0, writer.lengthOctets);
}

function read(octets: Uint8Array): Attribute[] {
  const list: Attribute[] = [];
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    list.push({ type, value: Uint8Array.from(octets.subarray(at, at + valueOctets)) });
  });
  return list;
}

for (const { id, hex, expect, note } of RFC_VECTORS.filter(({ expect }) => expect !== undefined)) {
  if (SEEN_BY_THE_GATE.has(id)) continue;
  Deno.test(`PacketView.read() ${expect === "discard" ? "drops" : "takes"} ${id}: ${note ?? ""}`, () => {
    const octets = Uint8Array.fromHex(hex);
    const reason = new PacketView().read(octets, octets.length);
    if (expect === "discard") assert(reason !== null && STRUCTURAL.has(reason), String(reason));
    else assertEquals(reason, null);
  });
}

Deno.test("PacketView.read() finds User-Name and State in the requests of the RFCs", () => {
  const view = new PacketView();
  for (const { hex, user, state_hex: stateHex, expect } of RFC_VECTORS) {
    if (expect !== "accept-parse" || user === undefined) continue;
    const octets = Uint8Array.fromHex(hex);
    assertEquals(view.read(octets, octets.length), null);
    assertEquals(new TextDecoder().decode(view.value("userName") ?? undefined), user);
    assertEquals(view.value("state")?.toHex(), stateHex);
  }
});

Deno.test("PacketView.read() keeps nothing of the packet before", () => {
  const view = new PacketView();
  const full = write([{ type: 1, value: Uint8Array.of(1) }, { type: 24, value: Uint8Array.of(2) }]);
  view.read(full, full.length);
  const bare = write([]);
  view.read(bare, bare.length);
  assertEquals([view.value("userName"), view.value("state"), view.slots.state.count], [null, null, 0]);
});

Deno.test("PacketView.read() reads back everything that PacketWriter writes, the first of a type and its count", () => {
  const view = new PacketView();
  fc.assert(fc.property(attributes, (list) => {
    const octets = write(list);
    assertEquals(view.read(octets, octets.length), null);
    assertEquals(read(octets), list);
    // One without octets counts as absent.
    const states = list.filter(({ type, value }) => type === 24 && value.length > 0);
    assertEquals(view.slots.state.count, states.length);
    assertEquals(view.value("state"), states[0]?.value ?? null);
  }));
});

Deno.test("PacketView.read() drops every truncation of a valid packet and never throws", () => {
  const view = new PacketView();
  fc.assert(
    fc.property(fc.array(attribute, { maxLength: 4 }), (list) => {
      const octets = write(list);
      for (let length = 0; length < octets.length; length++) {
        const reason = view.read(octets.slice(0, length), length);
        assertEquals(reason, length < 20 ? "too_short" : "truncated");
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("PacketView.read() drops a packet whose Length was shortened, unless it ends between two attributes", () => {
  const view = new PacketView();
  fc.assert(
    fc.property(fc.array(attribute, { minLength: 1, maxLength: 4 }), (list) => {
      const octets = write(list);
      const borders = new Set([20]);
      forEachAttribute(octets, octets.length, (_type, at, valueOctets) => borders.add(at + valueOctets));
      for (let length = 20; length < octets.length; length++) {
        octets.set([length >> 8, length & 0xff], 2);
        const expected = borders.has(length) ? null : "malformed_attribute";
        assertEquals(view.read(octets, octets.length), expected, `Length ${length}`);
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("PacketView.read() never throws, and returns a row of DROP_REASONS, for random octets", () => {
  const view = new PacketView();
  const header = fc.tuple(fc.constantFrom(1, 12), fc.integer({ min: 0, max: 255 })).map(([code, id]) => [
    code,
    id,
  ]);
  fc.assert(
    fc.property(header, fc.uint8Array({ maxLength: 300 }), (head, body) => {
      const octets = Uint8Array.from([...head, ...body]);
      // Half of them have a right Length, so that the walk over the attributes begins.
      if (octets.length >= 20 && (body[2] ?? 0) % 2 === 0) {
        octets.set([octets.length >> 8, octets.length & 0xff], 2);
      }
      const reason = view.read(octets, octets.length);
      assert(reason === null || reason in DROP_REASONS);
      let last = 20;
      if (reason !== null) return;
      forEachAttribute(octets, view.lengthOctets, (_type, at, valueOctets) => {
        assert(at >= last && at + valueOctets <= view.lengthOctets);
        last = at + valueOctets;
      });
      assertEquals(last, view.lengthOctets);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("PacketWriter.attribute() refuses 254 octets, and a packet over 4096 octets, and leaves the packet unchanged", () => {
  const writer = new PacketWriter();
  writer.begin(2, 0);
  assertThrows(() => writer.attribute(18, new Uint8Array(254)), RangeError, "254 octets");
  for (let i = 0; i < 15; i++) writer.attribute(18, new Uint8Array(253));
  assertEquals(writer.roomOctets, 4096 - 20 - 15 * 255);
  assertThrows(() => writer.attribute(18, new Uint8Array(253)), RangeError, "full");
  assertThrows(() => writer.raw(new Uint8Array(writer.roomOctets + 1)), RangeError, "full");
  writer.attribute(18, new Uint8Array(writer.roomOctets - 2));
  assertEquals([writer.lengthOctets, writer.roomOctets], [4096, 0]);
});

// MD5 and HMAC-MD5, compared with node:crypto for every length around the block borders.

const LENGTHS = [...Array(300).keys(), 511, 512, 513, 4095, 4096, 4097, 65536];

function sample(length: number, salt: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => (i * 131 + salt * 17 + (i >> 3)) & 0xff);
}

Deno.test("md5() returns the digests of RFC 1321 §A.5", () => {
  const rows = [
    ["", "d41d8cd98f00b204e9800998ecf8427e"],
    ["a", "0cc175b9c0f1b6a831c399e269772661"],
    ["message digest", "f96b697d7cb7938d525a2f31aaf161d0"],
    [
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a",
    ],
  ] as const;
  for (const [text, digest] of rows) assertEquals(md5(new TextEncoder().encode(text)).toHex(), digest);
});

Deno.test("md5() agrees with node:crypto at every length around the block borders", () => {
  for (const length of LENGTHS) {
    const data = sample(length, 1);
    assertEquals(md5(data).toHex(), createHash("md5").update(data).digest("hex"), `length ${length}`);
  }
});

Deno.test("createHmacMd5() agrees with node:crypto for short, exact and long keys", () => {
  for (const keyLength of [0, 1, 16, 63, 64, 65, 200]) {
    const key = sample(keyLength, 2);
    const hmac = createHmacMd5(key);
    for (const length of LENGTHS) {
      const data = sample(length + 3, 3);
      const out = new Uint8Array(20);
      hmac.signInto(data, 3, length, out, 2);
      const expected = createHmac("md5", key).update(data.subarray(3)).digest("hex");
      assertEquals(out.subarray(2, 18).toHex(), expected, `key ${keyLength}, length ${length}`);
    }
  }
});

// Attribute values in the packet view, row by row: names of numbers, addresses, prefixes, times, tags, vendors.

const utf8 = (text: string) => [...new TextEncoder().encode(text)];
const integer = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

/** The rows of one attribute. */
function shown(type: number, value: readonly number[]) {
  const length = 20 + 2 + value.length;
  const octets = Uint8Array.of(1, 7, length >> 8, length & 255, ...new Uint8Array(16).fill(9));
  const packet = Uint8Array.of(...octets, type, value.length + 2, ...value);
  const target = new Uint8Array(4096);
  return dissectPacket(target.subarray(0, copyRedacted(packet, target, 0))).slice(4);
}

const FORTINET = integer(12356);
const CISCO_ASA = integer(3076);
const PREFIX = [0, 32, 0x20, 0x01, 0x0d, 0xb8];

const ROWS: readonly (readonly [type: number, value: number[], name: string, text: string])[] = [
  [61, integer(5), "NAS-Port-Type", "5 (Virtual)"],
  [61, integer(15), "NAS-Port-Type", "15 (Ethernet)"],
  [61, integer(999), "NAS-Port-Type", "999"],
  [6, integer(2), "Service-Type", "2 (Framed)"],
  [6, integer(8), "Service-Type", "8 (Authenticate-Only)"],
  [7, integer(1), "Framed-Protocol", "1 (PPP)"],
  [40, integer(1), "Acct-Status-Type", "1 (Start)"],
  [49, integer(4), "Acct-Terminate-Cause", "4 (Idle-Timeout)"],
  [5, integer(7), "NAS-Port", "7"],
  [5, [1, 2], "NAS-Port", "0x0102"],
  [27, integer(3600), "Session-Timeout", "3600 (1 h)"],
  [27, integer(172_800), "Session-Timeout", "172800 (2 d)"],
  [28, integer(90), "Idle-Timeout", "90"],
  [28, integer(0), "Idle-Timeout", "0"],
  [55, integer(1_795_399_281), "Event-Timestamp", "1795399281 (2026-11-23 02:01:21 UTC)"],
  [55, integer(4_294_967_295), "Event-Timestamp", "4294967295 (2106-02-07 06:28:15 UTC)"],
  [4, [192, 0, 2, 7], "NAS-IP-Address", "192.0.2.7"],
  [4, [192, 0, 2], "NAS-IP-Address", "0xc00002"],
  [95, [0x20, 0x01, 0x0d, 0xb8, ...new Array(11).fill(0), 1], "NAS-IPv6-Address", "2001:db8::1"],
  [95, [0, 0, 0, 1, ...new Array(12).fill(0)], "NAS-IPv6-Address", "0:1::"],
  [95, [...new Array(15).fill(0), 1], "NAS-IPv6-Address", "::1"],
  [95, new Array(16).fill(0), "NAS-IPv6-Address", "::"],
  [
    95,
    [0x20, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
    "NAS-IPv6-Address",
    "2001:0:0:1::1",
  ],
  [95, [0x20, 1, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6], "NAS-IPv6-Address", "2001:0:1:2:3:4:5:6"],
  [97, PREFIX, "Framed-IPv6-Prefix", "2001:db8::/32"],
  [97, [0, 129, 1], "Framed-IPv6-Prefix", "0x008101"],
  // Zero octets at the end of a prefix may be left out.
  [97, [0, 64, 1], "Framed-IPv6-Prefix", "100::/64"],
  [96, [0, 0, 0, 0, 0, 0, 0, 1], "Framed-Interface-Id", "0:0:0:1"],
  [64, [1, 0, 0, 13], "Tunnel-Type", "13 (VLAN), tag 1"],
  [64, [0, 0, 0, 3], "Tunnel-Type", "3 (L2TP)"],
  [81, [2, ...utf8("42")], "Tunnel-Private-Group-ID", "42, tag 2"],
  [81, utf8("42"), "Tunnel-Private-Group-ID", "42"],
  [26, [...integer(9), 1, 9, ...utf8("shell:x")], "Cisco-AVPair", "shell:x"],
  [26, [...FORTINET, 2, 6, 198, 51, 100, 7], "Fortinet-Client-IP-Address", "198.51.100.7"],
  [26, [...FORTINET, 99, 4, 1, 2], "Fortinet, type 99", "0x0102"],
  [26, [...CISCO_ASA, 150, 6, ...integer(2)], "ASA-ClientType", "2 (AnyConnect SSL VPN)"],
  [26, [...CISCO_ASA, 150, 6, ...integer(77)], "ASA-ClientType", "77"],
  [26, [...integer(999), 1, 3, 65], "Vendor 999, type 1", "0x41"],
  [26, [...FORTINET, 1, 90, 65], "Vendor-Specific", "0x0000304401" + "5a41"],
  [26, [...integer(311), 1, 4, 1, 2], "Vendor-Specific (Microsoft)", ""],
  // Hidden with the secret, but in clear in RADIUS/1.1.
  [26, [...integer(14823), 44, 8, ...utf8("secret")], "Vendor-Specific (Aruba)", ""],
  [66, [1], "Attribute 66", "0x01"],
];
for (const [type, value, name, text] of ROWS) {
  Deno.test(`dissectPacket() shows ${name} ${Uint8Array.from(value).toHex()} as ${JSON.stringify(text)}`, () => {
    assertEquals(shown(type, value).map((row) => [row.name, row.value]), [[name, text]]);
  });
}

Deno.test("dissectPacket() shows each of a vendor's attributes with its own octets", () => {
  const rows = shown(26, [...FORTINET, 3, 6, ...utf8("root"), 1, 4, ...utf8("hq")]);
  assertEquals(rows.map(({ name, value, at, lengthOctets }) => [name, value, at, lengthOctets]), [
    ["Fortinet-Vdom-Name", "root", 20, 12],
    ["Fortinet-Group-Name", "hq", 32, 4],
  ]);
});

Deno.test("dissectPacket() lists every value of a packet within the packet, and never throws", () => {
  fc.assert(fc.property(
    fc.constantFrom(...Object.values(RADIUS_ATTRIBUTES).map(({ type }) => type)),
    fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 253 }),
    (type, value) =>
      shown(type, value).every(({ at, lengthOctets }) => at + lengthOctets <= 22 + value.length),
  ));
});

Deno.test("named values are of integer attributes, and each names its RFC", () => {
  for (const [name, { ref }] of Object.entries(INTEGER_VALUES)) {
    assertEquals(RADIUS_ATTRIBUTES[name as keyof typeof RADIUS_ATTRIBUTES].kind, "integer", name);
    assertEquals(/^RFC \d{4} §/.test(ref), true, name);
  }
});

Deno.test("vendor attributes of requests have numbers of their own", () => {
  const numbers = Object.values(REQUEST_VENDOR_ATTRIBUTES).map(({ vendor, type }) => `${vendor}.${type}`);
  assertEquals(new Set(numbers).size, numbers.length);
  assertEquals(typeOf("Vendor-Specific"), 26);
});

// The packet capture: a ring buffer with limits of packets, octets and rate.

/** An Access-Request with the attributes `body`. */
function packet(body: readonly number[], identifier = 1): Uint8Array {
  const length = 20 + body.length;
  return Uint8Array.of(
    1,
    identifier,
    length >> 8,
    length & 255,
    ...new Uint8Array(16).fill(identifier),
    ...body,
  );
}
const drop = (octets: Uint8Array, source = "192.0.2.1") => ({
  octets,
  reason: "unknown_client",
  source,
  client: null,
});

Deno.test("PacketCapture keeps only the newest strays, and drops those whose octets were overwritten", () => {
  const log = new PacketCapture({ clock: { nowMs: () => 0 } }, { maxStrays: 5, ringOctets: 8192 });
  for (let identifier = 0; identifier < 40; identifier++) {
    log.dropped(drop(packet([1, 3, 65], identifier), `192.0.2.${identifier}`));
  }
  assertEquals(log.strays(100).map(({ source }) => source), [
    "192.0.2.39",
    "192.0.2.38",
    "192.0.2.37",
    "192.0.2.36",
    "192.0.2.35",
  ]);
});

Deno.test("PacketCapture keeps a limited number of packets a second, and continues in the next second", () => {
  let nowMs = 0;
  const log = new PacketCapture({ clock: { nowMs: () => nowMs } }, { maxPerSecond: 3 });
  for (let identifier = 0; identifier < 9; identifier++) log.dropped(drop(packet([], identifier)));
  assertEquals(log.strays(100).length, 3);
  nowMs = 1000;
  log.dropped(drop(packet([], 200)));
  assertEquals(log.strays(100).length, 4);
});

Deno.test("dropped() counts the same datagram again instead of listing it twice", () => {
  const log = new PacketCapture({ clock: { nowMs: () => 0 } });
  for (let count = 0; count < 3; count++) log.dropped(drop(packet([1, 3, 65])));
  assertEquals(log.strays(10).map(({ copies }) => copies), [3]);
  assertEquals(log.tallies().map(({ count }) => count), [3]);
});

Deno.test("copyRedacted() omits what follows a malformed attribute, because it may be part of a password", () => {
  const target = new Uint8Array(4096);
  const broken = packet([1, 3, 65, 9, 1, 2, 18, ...new TextEncoder().encode("secretsecretsecr")]);
  assertEquals(copyRedacted(broken, target, 0), 23);
  assertEquals(dissectPacket(target.subarray(0, 23)).at(-1)?.value, "A");
});

Deno.test("copyRedacted() and dissectPacket() accept every truncation and never throw", () => {
  const target = new Uint8Array(5000);
  const whole = packet([1, 5, 97, 100, 97, 2, 18, ...new Uint8Array(16).fill(7), 26, 8, 0, 0, 0, 9, 1, 2]);
  for (let length = 0; length <= whole.length; length++) {
    const written = copyRedacted(whole.subarray(0, length), target, 0);
    assert(written <= length);
    dissectPacket(target.subarray(0, written));
  }
});

Deno.test("dissectPacket() shows a vendor's attribute and an integer's value by name, and an unknown type by its number", () => {
  const target = new Uint8Array(4096);
  const cisco = [26, 15, 0, 0, 0, 9, 1, 9, ...new TextEncoder().encode("shell:x")];
  const octets = packet([6, 6, 0, 0, 0, 1, ...cisco, 66, 3, 1]);
  const rows = dissectPacket(target.subarray(0, copyRedacted(octets, target, 0)));
  assertEquals(rows.slice(4).map(({ name, value }) => [name, value]), [
    ["Service-Type", "1 (Login)"],
    ["Cisco-AVPair", "shell:x"],
    ["Attribute 66", "0x01"],
  ]);
});

Deno.test("copyRedacted() keeps the head of an EAP packet, and nothing of its data", () => {
  const password = [...new TextEncoder().encode("open sesame")];
  const gtc = [2, 7, 0, 5 + password.length, 6, ...password];
  const attribute = (value: readonly number[]) => [79, value.length + 2, ...value];
  const long = [2, 8, 2, 0, 25, ...new Array<number>(248).fill(0x61)];
  const shown = (...values: number[][]) => {
    const target = new Uint8Array(4096);
    const octets = packet(values.flatMap(attribute));
    const copied = target.subarray(0, copyRedacted(octets, target, 0));
    return { rows: dissectPacket(copied).slice(4).map(({ value, masked }) => [value, masked]), copied };
  };
  const { rows, copied } = shown(gtc);
  assertEquals(rows, [["Response 7, EAP-GTC", true]]);
  assert(copied.subarray(20 + 2 + 5).every((octet) => octet === 0));
  assertEquals(shown([1, 1, 0, 5, 1]).rows, [["Request 1, Identity", true]]);
  assertEquals(shown(long, password).rows, [["Response 8, PEAP", true], ["", true]]);
  // The rest of a long password could look like a head, but its length does not fit.
  assertEquals(shown([2, 7, 0, 4, 6, ...password]).rows, [["", true]]);
});
