// Attribute values in the packet view, row by row: names of numbers, addresses, prefixes, times, tags, vendors.

import { assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";
import { INTEGER_VALUES } from "../../radius/protocol/integer_values.ts";
import { RADIUS_ATTRIBUTES, typeOf } from "../../radius/protocol/dictionary.ts";
import { REQUEST_VENDOR_ATTRIBUTES } from "../../radius/protocol/vendor_dictionary.ts";

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
