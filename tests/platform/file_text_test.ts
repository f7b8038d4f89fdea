// Files in UTF-8 and UTF-16.

import { assertEquals } from "@std/assert";
import { decodeFileText } from "../../platform/file_text.ts";

const TEXT = "serial,secret key\nT-1,ä€\u{1f511}\n";

function utf16(text: string, isLittleEndian: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length + 2));
  for (const [at, unit] of ["\ufeff", ...text.split("")].entries()) {
    view.setUint16(2 * at, unit.charCodeAt(0), isLittleEndian);
  }
  return new Uint8Array(view.buffer);
}

Deno.test("decodeFileText() reads UTF-8 and UTF-16 with a byte order mark, and nothing else", () => {
  assertEquals(decodeFileText(new TextEncoder().encode(TEXT)), TEXT);
  assertEquals(decodeFileText(new TextEncoder().encode(`\ufeff${TEXT}`)), TEXT);
  assertEquals(decodeFileText(utf16(TEXT, true)), TEXT);
  assertEquals(decodeFileText(utf16(TEXT, false)), TEXT);
  assertEquals(decodeFileText(new Uint8Array()), "");
  assertEquals(decodeFileText(Uint8Array.of(0x41, 0xe4, 0x42)), null);
  assertEquals(decodeFileText(Uint8Array.of(0xff, 0xfe, 0x41)), null);
});
