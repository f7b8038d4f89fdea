// Syslog messages (RFC 5424): header, structured data, limits, and values that a sender of logins chooses.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { encodeSyslog, frameSyslog } from "../../../platform/log_export/syslog.ts";
import fc from "../../packages/fast_check.ts";

const OBSERVER = { hostName: "gate.example.com", version: "0.1.0" };
const OPTIONS = { format: "json", facility: 10, maxOctets: 8192 } as const;
const VALUE = {
  ...{ atMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678), action: "login.rejected", actor: "radius" },
  ...{
    object: "user:ada",
    client: "vpn",
    source: "192.0.2.1",
    caller: "198.51.100.7",
    because: "wrong_number",
  },
};
const fieldsOf = (value: Record<string, unknown>) =>
  toEcsRecord({ id: "0abcdefghij1a2b", value }, { observer: OBSERVER });
const textOf = (octets: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(octets);

Deno.test("a JSON message has the header of RFC 5424, the origin, and one object", () => {
  const text = textOf(encodeSyslog(fieldsOf(VALUE), OPTIONS));
  const begin = "<84>1 2026-01-02T03:04:05.678Z gate.example.com countersign - login.rejected " +
    '[origin software="Countersign" swVersion="0.1.0"] ';
  assertEquals(text.slice(0, begin.length), begin);
  const { event, user, source, client, countersign } = JSON.parse(text.slice(begin.length));
  assertEquals([event.action, event.outcome, event.reason], ["login.rejected", "failure", "wrong_number"]);
  assertEquals([user.name, source.ip, client.ip], ["ada", "198.51.100.7", "192.0.2.1"]);
  assertEquals(countersign.client, "vpn");
});

Deno.test("structured data has the fields as parameters, escaped", () => {
  const value = { ...VALUE, object: 'user:a"b]c\\d\ne' };
  const text = textOf(encodeSyslog(fieldsOf(value), { ...OPTIONS, format: "structured_data" }));
  assert(text.includes(' user.name="a\\"b\\]c\\\\d e"'), text);
  assert(text.includes(' event.category="authentication"'), text);
  assert(!text.includes("\n"));
});

/** The priority is facility * 8 + severity (RFC 5424 §6.2.1). */
const PRIORITIES: readonly (readonly [string, number, string])[] = [
  ["login.accepted", 10, "<86>"],
  ["login.rejected", 10, "<84>"],
  ["user.created", 13, "<109>"],
  ["user.not_me", 4, "<33>"],
];
for (const [action, facility, priority] of PRIORITIES) {
  Deno.test(`${action} with the facility ${facility} has the priority ${priority}`, () => {
    assertEquals(
      textOf(encodeSyslog(fieldsOf({ ...VALUE, action }), { ...OPTIONS, facility })).slice(
        0,
        priority.length,
      ),
      priority,
    );
  });
}

Deno.test("a message that is too long loses its dispensable fields, and says so", () => {
  const long = {
    ...VALUE,
    before: "x".repeat(5000),
    after: { text: "y".repeat(5000) },
    phone: "p".repeat(500),
  };
  const octets = encodeSyslog(fieldsOf(long), { ...OPTIONS, maxOctets: 2048 });
  assert(octets.length <= 2048);
  const text = textOf(octets);
  const { countersign, user } = JSON.parse(text.slice(text.indexOf("{")));
  assertEquals([countersign.truncated, countersign.before, user.name], [true, undefined, "ada"]);
});

Deno.test("a frame begins with the number of octets", () => {
  assertEquals(textOf(frameSyslog(new TextEncoder().encode("<1>ä"))), "5 <1>ä");
});

const HOSTILE = fc.record({
  object: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constant("user:__proto__"),
    fc.string({ minLength: 3000, maxLength: 4000 }),
  ),
  actor: fc.string({ unit: "binary" }),
  caller: fc.oneof(fc.string(), fc.constantFrom("::1", "192.0.2.256", "fe80::1%eth0")),
  because: fc.oneof(fc.array(fc.string()), fc.integer(), fc.constant(null)),
  action: fc.oneof(fc.string(), fc.constantFrom("login.accepted", "constructor", "__proto__.x", "")),
  atMs: fc.oneof(fc.double(), fc.constant("x"), fc.constant(Infinity)),
  before: fc.anything({ maxDepth: 2 }).filter((one) => typeof one !== "bigint"),
});

const ORIGIN = '[origin software="Countersign" swVersion="0.1.0"]';
/** Two elements with quoted values (RFC 5424 §6.3), and a message. */
const WHOLE_ELEMENTS =
  /^<\d+>1 \S+ \S+ \S+ \S+ \S+ (?:\[[^\s=\]"]+(?: [^\s=\]"]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*\]){2} /u;

Deno.test("a datagram with long names is whole JSON, and names that it is not complete", () => {
  // An attacker chooses User-Name and Calling-Station-Id. As JSON, each control character has six octets.
  const value = { ...VALUE, object: `user:${"\u0001".repeat(253)}`, caller: "\u0002".repeat(253) };
  for (const format of ["json", "structured_data"] as const) {
    const octets = encodeSyslog(fieldsOf(value), { ...OPTIONS, format, maxOctets: 2048 });
    assert(octets.length <= 2048);
    const text = textOf(octets);
    if (format === "structured_data") assertMatch(text, WHOLE_ELEMENTS);
    else {
      const { countersign, event, user } = JSON.parse(text.slice(text.indexOf("{")));
      assertEquals([countersign.truncated, event.action, event.reason], [
        true,
        "login.rejected",
        "wrong_number",
      ]);
      assertMatch(user.name.replaceAll("\u0001", "x"), /^x{30,}…$/);
    }
  }
});

Deno.test("a JSON message is US-ASCII, and a text that is not begins with the byte order mark", () => {
  const value = { ...VALUE, object: "user:zoë\u0085\u2028👩" };
  const json = textOf(encodeSyslog(fieldsOf(value), OPTIONS));
  assertMatch(json, /^[\x20-\x7e]+$/);
  assertEquals(JSON.parse(json.slice(json.indexOf("{"))).user.name, "zoë\u0085\u2028👩");
  const marked = encodeSyslog(fieldsOf(value), { ...OPTIONS, format: "structured_data" });
  assert(marked.toHex().includes(`5d20efbbbf${new TextEncoder().encode("login.rejected user:zoë").toHex()}`));
  const plain = encodeSyslog(fieldsOf(VALUE), { ...OPTIONS, format: "structured_data" });
  assert(!plain.toHex().includes("efbbbf"));
});

Deno.test("any record is one line of valid UTF-8 within the limit, in both formats", () => {
  fc.assert(
    fc.property(
      HOSTILE,
      fc.constantFrom("json", "structured_data"),
      fc.constantFrom(480, 2048, 8192),
      (value, format, maxOctets) => {
        let before: unknown = null;
        try {
          before = JSON.parse(JSON.stringify(value.before) ?? "null");
        } catch (_notJson) {
          before = null;
        }
        const octets = encodeSyslog(fieldsOf({ ...value, before }), {
          format: format as "json",
          facility: 10,
          maxOctets,
        });
        assert(octets.length <= maxOctets);
        const text = textOf(octets);
        assertMatch(text, /^<\d{1,3}>1 \S+ gate\.example\.com countersign - \S+ \[origin /);
        assert(!/[\p{Cc}]/u.test(text));
        if (maxOctets < 2048) return;
        const message = text.slice(text.indexOf(`${ORIGIN} `) + ORIGIN.length);
        if (format === "json") assertEquals(typeof JSON.parse(message).event.id, "string");
        else assertMatch(text, WHOLE_ELEMENTS);
      },
    ),
    { numRuns: 500, seed: 14 },
  );
});
