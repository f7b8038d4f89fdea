// MD5 and HMAC-MD5, compared with node:crypto for every length around the block borders.

import { assertEquals } from "@std/assert";
import { createHash, createHmac } from "node:crypto";
import { createHmacMd5, md5 } from "../../radius/protocol/md5.ts";

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
