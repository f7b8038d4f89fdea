// Parsing of valid and invalid Authorization headers.

import { assertEquals } from "@std/assert";
import { readBasic } from "../../../scim/http/app.ts";

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

const SOUND: readonly (readonly [header: string, name: string, password: string])[] = [
  // RFC 7617 §2.
  ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"],
  // RFC 7617 §2.1.
  ["Basic dGVzdDoxMjPCow==", "test", "123£"],
  [`bAsIc   ${base64("a:b")}`, "a", "b"],
  [`Basic ${base64("a:b:c::")}`, "a", "b:c::"],
  [`Basic ${base64("a:")}`, "a", ""],
  [`Basic ${base64(":b")}`, "", "b"],
  [`Basic ${base64("a:bb").replace(/=+$/, "")}`, "a", "bb"],
];
for (const [header, name, password] of SOUND) {
  Deno.test(`readBasic() reads ${header}`, () => assertEquals(readBasic(header), { name, password }));
}

const ODD: Readonly<Record<string, string | null>> = {
  "no header": null,
  "an empty header": "",
  "the scheme alone": "Basic",
  "the scheme and a blank": "Basic ",
  "another scheme": `Bearer ${base64("a:b")}`,
  "no blank": `Basic${base64("a:b")}`,
  "base64url": "Basic _-8=",
  "a blank inside": "Basic YTp i",
  "two credentials": `Basic ${base64("a:b")}, Basic ${base64("a:b")}`,
  "padding in the middle": "Basic YQ==Og==",
  "no colon": `Basic ${base64("ab")}`,
  "a line end": `Basic ${base64("a:b\n")}`,
  "a NUL": `Basic ${base64("a\0:b")}`,
  "a C1 control": `Basic ${base64("a:\u0085b")}`,
  "no UTF-8": `Basic ${new Uint8Array([0x61, 0x3a, 0xff]).toBase64()}`,
  "a surrogate in UTF-8": `Basic ${new Uint8Array([0x61, 0x3a, 0xed, 0xa0, 0x80]).toBase64()}`,
  "too much": `Basic ${base64(`a:${"b".repeat(8192)}`)}`,
};
for (const [what, header] of Object.entries(ODD)) {
  Deno.test(`readBasic() refuses ${what}`, () => assertEquals(readBasic(header), null));
}
