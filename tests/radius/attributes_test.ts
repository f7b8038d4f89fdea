// Reply attributes from settings, row by row, and which received attributes the log shows.

import { assert, assertEquals, fail } from "@std/assert";
import fc from "../packages/fast_check.ts";
import {
  type AttributeName,
  RADIUS_ATTRIBUTES,
  type RadiusAttributeRow,
  type ValueKind,
  VENDOR_ATTRIBUTES,
  type VendorAttributeRow,
} from "../../radius/protocol/dictionary.ts";
import type { ReplyValue } from "../../platform/config/config.ts";
import { INTEGER_VALUES } from "../../radius/protocol/integer_values.ts";
import {
  describeAttributes,
  encodeReplyAttribute,
  parseIpv4,
  parseIpv6,
  readInteger,
} from "../../radius/protocol/attributes.ts";
import { buildRequest } from "../support/radius_packets.ts";

const ROWS = Object.entries(RADIUS_ATTRIBUTES) as [AttributeName, RadiusAttributeRow][];
const octets = fc.uint8Array({ minLength: 1, maxLength: 240 });
const integers = fc.integer({ min: 0, max: 0xffffffff });

function encoded(name: string, value: ReplyValue): Uint8Array {
  const outcome = encodeReplyAttribute(name, value);
  if (!outcome.ok) throw new Error(`${name}: ${outcome.problem}`);
  return outcome.value;
}

function problem(name: string, value: ReplyValue): string {
  const outcome = encodeReplyAttribute(name, value);
  return outcome.ok ? "" : outcome.problem;
}

/** Removes type and length, which must be right. */
function valueIn(attribute: Uint8Array, type: number): Uint8Array {
  assertEquals([attribute[0], attribute[1]], [type, attribute.length]);
  return attribute.slice(2);
}

/** The possible values of a row, as a setting and as octets. */
function samplesOf(
  row: RadiusAttributeRow,
): fc.Arbitrary<{ setting: string | number; expected: Uint8Array }> {
  switch (row.kind) {
    case "integer":
      return (row.tagged ? fc.integer({ min: 0, max: 0xffffff }) : integers).map((setting) => ({
        setting,
        expected: new Uint8Array(new Uint32Array([setting]).buffer).reverse(),
      }));
    case "ipv4":
      return fc.uint8Array({ minLength: 4, maxLength: 4 }).map((expected) => ({
        setting: expected.join("."),
        expected,
      }));
    case "ipv6":
      return fc.uint8Array({ minLength: 16, maxLength: 16 }).map((expected) => ({
        setting: expected.toHex().match(/.{4}/g)?.join(":") ?? "",
        expected,
      }));
    case "integer64":
      return octetsOf(8).map((expected) => ({
        setting: BigInt(`0x${expected.toHex()}`).toString(),
        expected,
      }));
    case "time":
      return integers.map((setting) => ({ setting, expected: octetsOfInteger(setting) }));
    case "interface":
      return octetsOf(8).map((expected) => ({
        setting: expected.toHex().match(/.{4}/g)?.join(":") ?? "",
        expected,
      }));
    case "ipv6prefix":
      return octetsOf(16).map((expected) => ({
        setting: `${expected.toHex().match(/.{4}/g)?.join(":")}/128`,
        expected: Uint8Array.of(
          0,
          128,
          ...expected.subarray(0, expected.findLastIndex((one) => one !== 0) + 1),
        ),
      }));
    case "ipv4prefix":
      return octetsOf(4).map((expected) => ({
        setting: `${expected.join(".")}/32`,
        expected: Uint8Array.of(0, 32, ...expected),
      }));
    default:
      return octets.map((expected) => ({ setting: `0x${expected.toHex()}`, expected }));
  }
}

const octetsOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const octetsOfInteger = (value: number) => new Uint8Array(new Uint32Array([value]).buffer).reverse();

for (const [name, row] of ROWS.filter(([, { inAccept }]) => inAccept === true)) {
  Deno.test(`encodeReplyAttribute() writes ${name} (${row.kind}), and the value reads back`, () => {
    fc.assert(
      fc.property(samplesOf(row), ({ setting, expected }) => {
        assertEquals(valueIn(encoded(name, setting), row.type), expected);
      }),
      { numRuns: 30 },
    );
  });
}

Deno.test("encodeReplyAttribute() refuses every row that cannot be configured for an Access-Accept", () => {
  const refused = ROWS.filter(([, { inAccept }]) => inAccept !== true);
  assert(refused.length > 20);
  for (const [name] of refused) assert(problem(name, "1").includes("cannot be configured"), name);
});

Deno.test("encodeReplyAttribute() writes the tag in the place of RFC 2868", () => {
  assertEquals(encoded("Tunnel-Type:1", "VLAN"), Uint8Array.of(64, 6, 1, 0, 0, 13));
  assertEquals(encoded("Tunnel-Private-Group-ID:31", "7"), Uint8Array.of(81, 4, 31, 0x37));
  assertEquals(encoded("Tunnel-Private-Group-ID", "7"), Uint8Array.of(81, 3, 0x37));
  for (const tag of ["32", "-1", "x", "1.5"]) {
    assert(problem(`Tunnel-Type:${tag}`, 1).includes("is not a tag from 0 to 31"), tag);
  }
  assert(problem("Class:1", "x").includes("has no tag"));
  assert(problem("Tunnel-Type:1", 0x1000000).includes("24 bits"));
});

const SAMPLES: Partial<Record<ValueKind, readonly [setting: string | number, hex: string]>> = {
  text: ["value", "76616c7565"],
  octets: ["0x00ff", "00ff"],
  integer: [258, "00000102"],
  ipv4: ["192.0.2.7", "c0000207"],
  ipv6: ["2001:db8::7", "20010db8000000000000000000000007"],
};

/** Settings and the octets after the type and the length; for vendor attributes, the whole value of type 26. */
const WRITTEN: readonly (readonly [name: string, value: ReplyValue, hex: string])[] = [
  // RFC 3162 §2.3, RFC 4818 §3: a reserved octet, the length, and the prefix without zero octets at its end.
  ["Framed-IPv6-Prefix", "2001:db8:1::/64", "004020010db80001"],
  ["Framed-IPv6-Prefix", "::/0", "0000"],
  ["Delegated-IPv6-Prefix", "2001:db8:8000::/33", "002120010db880"],
  ["Framed-IPv6-Prefix", "0x004020010db8000100000000", "004020010db8000100000000"],
  ["Framed-Interface-Id", "211:22ff:fe33:4455", "021122fffe334455"],
  ["PMIP6-Home-IPv4-HoA", "192.0.2.0/24", "0018c0000200"],
  ["MIP6-Feature-Vector", "18446744073709551615", "ffffffffffffffff"],
  ["Framed-IPv6-Address", "2001:db8::1", "20010db8000000000000000000000001"],
  // Active Directory: msRADIUSFramedIPAddress of 192.168.1.1.
  ["Framed-IP-Address", "-1062731519", "c0a80101"],
  ["26.3375.1", 100, "00000d2f010600000064"],
  ["26.3375.1", "100", "00000d2f0105313030"],
  ["26.3375.1", "0x0064", "00000d2f01040064"],
  ["F5-LTM-User-Role", "Guest", "00000d2f0106000002bc"],
  ["Service-Type", "Administrative-User", "00000006"],
  ["Service-Type", "NAS-Prompt-User", "00000007"],
  ["Management-Privilege-Level", 15, "0000000f"],
  ["User-Name", "ada", "616461"],
  ["241.5", 7, "0500000007"],
  ["241.26.9.1", "x", "1a000000090178"],
];
for (const [name, value, hex] of WRITTEN) {
  Deno.test(`encodeReplyAttribute() writes ${name} = ${JSON.stringify(value)} as ${hex}`, () => {
    assertEquals(encoded(name, value).subarray(2).toHex(), hex);
  });
}

Deno.test("encodeReplyAttribute() writes a list as several attributes, if an Access-Accept may have them", () => {
  const both = [...encoded("Fortinet-Group-Name", "a"), ...encoded("Fortinet-Group-Name", "b")];
  assertEquals([...encoded("Fortinet-Group-Name", ["a", "b"])], both);
  assertEquals(encoded("Class", ["a"]), encoded("Class", "a"));
  assertEquals(encoded("Session-Timeout", [5]), encoded("Session-Timeout", 5));
  assert(problem("Session-Timeout", [5, 6]).includes("at most one"));
  assert(problem("Class", []).includes("1 to 64 values"));
  assert(problem("Class", ["a", ""]).includes("cannot be empty"));
});

Deno.test("encodeReplyAttribute() splits a long extended attribute (RFC 6929 §2.2)", () => {
  const octets = encoded("245.7", `0x${"ab".repeat(300)}`);
  assertEquals([...octets.subarray(0, 4)], [245, 255, 7, 0x80]);
  assertEquals([...octets.subarray(255, 259)], [245, 300 - 251 + 4, 7, 0]);
  assertEquals(octets.length, 255 + 300 - 251 + 4);
  assert(problem("241.7", "x".repeat(253)).includes("maximum is 252"));
  for (const name of ["241.0", "241.256", "241.26", "247.1", "241.26.9", "241.5.9.1"]) {
    assert(problem(name, "x") !== "", name);
  }
});

Deno.test("encodeReplyAttribute() writes vendor attributes by name and by number (RFC 2865 §5.26)", () => {
  for (const [name, { vendor, type, kind }] of Object.entries<VendorAttributeRow>(VENDOR_ATTRIBUTES)) {
    const [setting, body] = SAMPLES[kind] ?? fail(`${name} has no sample`);
    const inner = [...octetsOfInteger(vendor), type, body.length / 2 + 2, ...Uint8Array.fromHex(body)];
    assertEquals(valueIn(encoded(name, setting), 26), Uint8Array.from(inner), name);
    assertEquals(encoded(`26.${vendor}.${type}`, `0x${body}`), encoded(name, setting));
  }
  assertEquals(encoded("Cisco-AVPair", "x".repeat(247)).length, 255);
  assert(problem("Cisco-AVPair", "x".repeat(248)).includes("maximum is 247"));
  for (const name of ["26.0.1", "26.9.0", "26.9.256", "26.16777216.1", "26.9", "27.9.1"]) {
    assert(problem(name, "x") !== "", name);
  }
});

Deno.test("encodeReplyAttribute() accepts the named values of integers, and lists them in a refusal", () => {
  for (const [name, { values }] of Object.entries(INTEGER_VALUES)) {
    // The others are in requests only.
    if (!("inAccept" in RADIUS_ATTRIBUTES[name as AttributeName])) continue;
    for (const [word, number] of Object.entries(values)) {
      assertEquals(encoded(name, word), encoded(name, number));
    }
  }
  assert(problem("Service-Type", "login").includes("Login, Framed"));
  for (const word of ["constructor", "__proto__", "toString", ""]) {
    assert(problem("Service-Type", word) !== "");
  }
});

Deno.test("encodeReplyAttribute() accepts names in any case, as other dictionaries write them", () => {
  const pairs = [
    ["Tunnel-Private-Group-Id:1", "Tunnel-Private-Group-ID:1", "42"],
    ["tunnel-type:1", "Tunnel-Type:1", "VLAN"],
    ["cisco-avpair", "Cisco-AVPair", "shell:priv-lvl=15"],
  ] as const;
  for (const [typed, name, value] of pairs) assertEquals(encoded(typed, value), encoded(name, value));
});

const REFUSED: readonly (readonly [string, string | number, string])[] = [
  ["Unknown-Attribute", "x", "not in the dictionary"],
  ["constructor", "x", "not in the dictionary"],
  ["26.9.999", "x", "with a type of 1 to 255"],
  ["Session-Timeout", -1, "whole number"],
  ["Session-Timeout", 1.5, "whole number"],
  ["Session-Timeout", 4294967296, "whole number"],
  ["Session-Timeout", "0x10", "whole number"],
  ["Framed-IP-Address", "1.2.3", "not an IPv4 address"],
  ["Framed-IP-Address", "1.2.3.256", "not an IPv4 address"],
  ["Login-IPv6-Host", "1.2.3.4", "not an IPv6 address"],
  ["Login-IPv6-Host", "fe80::1%eth0", "not an IPv6 address"],
  ["Framed-IPv6-Prefix", "2001:db8:1::1/64", "without bits after its length"],
  ["Framed-IPv6-Prefix", "2001:db8::", "not an IPv6 prefix"],
  ["Framed-IPv6-Prefix", "2001:db8::/129", "not an IPv6 prefix"],
  ["Framed-Interface-Id", "1:2:3", "not an interface id"],
  ["MIP6-Feature-Vector", "18446744073709551616", "whole number"],
  ["Framed-IP-Address", "4294967296", "not an IPv4 address"],
  ["Class", "", "cannot be empty"],
  ["Class", "x".repeat(254), "maximum is 253"],
];
for (const [name, value, expected] of REFUSED) {
  Deno.test(`encodeReplyAttribute() refuses ${name} = ${JSON.stringify(value).slice(0, 20)}: ${expected}`, () => {
    assert(problem(name, value).includes(expected), problem(name, value));
  });
}

Deno.test("parseIpv6() reads the spellings of RFC 4291 §2.2, and returns null for any other text", () => {
  const same = "20010db8000000000000000000000001";
  for (const text of ["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "2001:0db8::0001", "2001:db8::0.0.0.1"]) {
    assertEquals(parseIpv6(text)?.toHex(), same, text);
  }
  assertEquals(parseIpv6("::")?.toHex(), "0".repeat(32));
  for (
    const text of [
      "",
      ":",
      ":::",
      "1::2::3",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1:2:3:4:5:6:7:8::",
      "g::",
    ]
  ) assertEquals(parseIpv6(text), null, text);
});

Deno.test("parseIpv4() and parseIpv6() never throw, whatever the text", () => {
  fc.assert(fc.property(fc.string({ maxLength: 60 }), (text) => {
    assert((parseIpv4(text)?.length ?? 4) === 4 && (parseIpv6(text)?.length ?? 16) === 16);
  }));
});

Deno.test("readInteger() reads what the encoder wrote, up to 32 bits", () => {
  fc.assert(fc.property(integers, (value) => {
    assertEquals(readInteger(encoded("Session-Timeout", value).subarray(2)), value);
  }));
});

Deno.test("describeAttributes() shows no value of a secret row", () => {
  const secret = ROWS.filter(([, row]) => row.secret === true);
  assert(secret.length >= 4);
  for (const [name, { type }] of secret) {
    const { bytes } = buildRequest("s", { more: [{ type, value: new TextEncoder().encode("show-me-not") }] });
    const { shown } = describeAttributes(bytes, bytes.length);
    assert(shown.includes(`${name}=***`), shown);
    assert(!shown.includes("show-me-not") && !shown.includes("73686f77"), shown);
  }
});

Deno.test("describeAttributes() lists unknown types separately, and limits both lists", () => {
  const more = Array.from({ length: 100 }, () => ({ type: 66, value: Uint8Array.of(1) }));
  const { bytes } = buildRequest("s", { userName: "ada", more });
  const { shown, unknown } = describeAttributes(bytes, bytes.length);
  assert(shown.includes('User-Name="ada"'));
  assertEquals(unknown, new Array(16).fill(66));
});

Deno.test("describeAttributes() never throws, and stays short, for random attributes", () => {
  const anything = fc.record({
    type: fc.integer({ min: 81, max: 255 }),
    value: fc.uint8Array({ maxLength: 253 }),
  });
  fc.assert(fc.property(fc.array(anything, { maxLength: 15 }), (more) => {
    const { bytes } = buildRequest("s", { more, messageAuthenticator: "none" });
    assert(describeAttributes(bytes, bytes.length).shown.length < 64 * 500);
  }));
});
