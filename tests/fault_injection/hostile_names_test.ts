// The real program and names that are meant to break its log: one event stays one line, in text and in JSON.

import { assert, assertEquals } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { CODES } from "../support/radius_packets.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const WINDOWS_1252 = new TextDecoder("windows-1252");

function textOf(name: Uint8Array): string {
  try {
    return UTF8.decode(name);
  } catch (_notUtf8) {
    return WINDOWS_1252.decode(name);
  }
}

/** Names as octets, by their fault. */
const NAMES: Readonly<Record<string, Uint8Array>> = {
  "a line end": utf8("ada\r\n2026-01-01T00:00:00.000Z error forged line user=root"),
  "a line end of Unicode": utf8("ada\u2028forged\u2029forged\u0085forged"),
  "an escape sequence": utf8("ada\u001b[2J\u001b]0;title\u0007"),
  "a C1 control": utf8("ada\u009b31m"),
  "a bidi override": utf8("ada\u202egpj.exe\u2066x\u2069"),
  "a byte order mark": utf8("\ufeffada"),
  "markup": utf8("</script><script>alert(1)</script>"),
  "an attribute of markup": utf8(`"><img src=x onerror=alert(1)>`),
  "the end of JSON": utf8('ada","level":"error","x":"'),
  "a field of its own": utf8('ada secret="x" level=error'),
  "backslashes": utf8("\\\\\\u0000\\n"),
  "a formula": utf8("=cmd|' /C calc'!A0"),
  "a format": utf8("%s%n%d${7*7}{{7*7}}"),
  "a path": utf8("../../../etc/passwd\0.png"),
  "a name of an object": utf8("__proto__"),
  "another one": utf8("constructor"),
  "253 octets": new Uint8Array(253).fill(0x61),
  "253 octets that grow when escaped": new Uint8Array(253).fill(0x1b),
  "no UTF-8": Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80),
  "half a character": Uint8Array.of(0x61, 0xf0, 0x9f, 0x98),
  "NUL octets": new Uint8Array(20),
  "blanks": utf8("   "),
  "emoji": utf8("👩‍👩‍👧‍👦".repeat(10)),
  "combining characters": utf8(`a${"\u0301".repeat(120)}`),
};
/** Characters that a log must escape. */
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const LINE_OF: Readonly<Record<"text" | "json", RegExp>> = {
  text: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info |warn |error) \S/,
  json: /^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"(debug|info|warn|error)","message":/,
};

for (const format of ["text", "json"] as const) {
  Deno.test(`hostile names never break a line of the ${format} log, and each gets its answer`, async () => {
    await using gateway = await startProgram({
      toml: `[server]\nlog_format = "${format}"\nlog_level = "debug"`,
    });
    const banner = gateway.logLines().length;
    using client = gateway.client();
    const places = Object.values(NAMES);
    for (const [at, userName] of places.entries()) {
      const { code, problems } = await client.ask({
        userName,
        password: "x",
        callingStationId: at % 2 === 0 ? "place" : undefined,
        more: [{ type: 32, value: userName }, { type: 87, value: userName }, { type: 66, value: userName }],
      });
      const isRefused = /^\s|\s$|[\p{Cf}\0]/u.test(textOf(userName));
      const expected = isRefused ? CODES.accessReject : CODES.accessChallenge;
      assertEquals([code, problems], [expected, []], Object.keys(NAMES)[at]);
    }
    await client.ask({ userName: "the last one", password: "x", nasPort: 1 });
    await gateway.logged("the last one");
    await gateway.stop();
    const lines = gateway.logLines().slice(banner);
    assert(lines.length >= 3 * places.length);
    for (const line of lines) {
      assert(LINE_OF[format].test(line) && !UNSAFE.test(line), `a broken line: ${JSON.stringify(line)}`);
      if (format === "json") assertEquals(typeof JSON.parse(line).message, "string");
    }
    if (format === "json") {
      const users = new Set(lines.map((line) => JSON.parse(line).user));
      for (const name of places) assert(users.has(textOf(name)), Deno.inspect(name));
    }
  });
}
