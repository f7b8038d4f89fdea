// AES-256-GCM: the test cases of its authors, and node:crypto in both directions.

import { assertEquals, assertThrows } from "@std/assert";
import { createCipheriv, createDecipheriv } from "node:crypto";
import fc from "../packages/fast_check.ts";
import { AesGcm } from "../../platform/aes_gcm.ts";

/** McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B, test cases 13 to 16. */
const CASES = [
  {
    name: "13",
    key: "00".repeat(32),
    nonce: "00".repeat(12),
    data: "",
    plain: "",
    body: "",
    tag: "530f8afbc74536b9a963b4f1c4cb738b",
  },
  {
    name: "14",
    key: "00".repeat(32),
    nonce: "00".repeat(12),
    data: "",
    plain: "00".repeat(16),
    body: "cea7403d4d606b6e074ec5d3baf39d18",
    tag: "d0d1c8a799996bf0265b98b5d48ab919",
  },
  {
    name: "15",
    key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
    nonce: "cafebabefacedbaddecaf888",
    data: "",
    plain:
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
    body:
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
    tag: "b094dac5d93471bdec1a502270e3cc6c",
  },
  {
    name: "16",
    key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
    nonce: "cafebabefacedbaddecaf888",
    data: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    plain:
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    body:
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
    tag: "76fc6ece0f4e1768cddf8853bb2d551b",
  },
] as const;

const octets = (hex: string) => Uint8Array.fromHex(hex);

function sealed(gcm: AesGcm, associated: Parameters<AesGcm["seal"]>[0], plain: Uint8Array) {
  const result = { body: new Uint8Array(plain.length), tag: new Uint8Array(16) };
  gcm.seal(associated, plain, result);
  return result;
}

for (const { name, key, nonce, data, plain, body, tag } of CASES) {
  Deno.test(`AesGcm seals and opens test case ${name} of GCM`, () => {
    const gcm = new AesGcm(octets(key));
    const associated = { nonce: octets(nonce), data: octets(data) };
    const result = sealed(gcm, associated, octets(plain));
    assertEquals([result.body.toHex(), result.tag.toHex()], [body, tag]);
    assertEquals(gcm.open(associated, result.body, result.tag)?.toHex(), plain);
  });
}

const values = fc.record({
  key: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  nonce: fc.uint8Array({ minLength: 12, maxLength: 12 }),
  data: fc.uint8Array({ maxLength: 200 }),
  plain: fc.uint8Array({ maxLength: 200 }),
});

Deno.test("AesGcm.seal() equals node:crypto for 2,000 random values", () => {
  fc.assert(
    fc.property(values, ({ key, nonce, data, plain }) => {
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      cipher.setAAD(data);
      const body = cipher.update(plain).toString("hex");
      cipher.final();
      const result = sealed(new AesGcm(key), { nonce, data }, plain);
      assertEquals([result.body.toHex(), result.tag.toHex()], [body, cipher.getAuthTag().toString("hex")]);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("AesGcm.open() refuses what node:crypto refuses: any changed bit", () => {
  const change = fc.record({
    part: fc.constantFrom("nonce", "data", "body", "tag"),
    at: fc.nat(),
    bit: fc.nat(7),
  });
  fc.assert(
    fc.property(values, change, ({ key, nonce, data, plain }, { part, at, bit }) => {
      const gcm = new AesGcm(key);
      const parts = { nonce, data, ...sealed(gcm, { nonce, data }, plain) };
      assertEquals(gcm.open(parts, parts.body, parts.tag), Uint8Array.from(plain));
      const changed = parts[part as keyof typeof parts];
      if (changed.length === 0) return;
      changed[at % changed.length] = (changed[at % changed.length] as number) ^ (1 << bit);
      assertEquals(gcm.open(parts, parts.body, parts.tag), null);
      const decipher = createDecipheriv("aes-256-gcm", key, parts.nonce);
      decipher.setAAD(parts.data);
      decipher.setAuthTag(parts.tag);
      decipher.update(parts.body);
      assertThrows(() => decipher.final());
    }),
    { numRuns: 500 },
  );
});

Deno.test("AesGcm.open() returns null for a tag that is shorter, and throws for a nonce of another length", () => {
  const gcm = new AesGcm(new Uint8Array(32));
  const associated = { nonce: new Uint8Array(12), data: new Uint8Array(0) };
  const { body, tag } = sealed(gcm, associated, new Uint8Array(5));
  assertEquals(gcm.open(associated, body, tag.subarray(0, 12)), null);
  assertThrows(() => gcm.open({ ...associated, nonce: new Uint8Array(16) }, body, tag), RangeError);
});
