// Encryption of push messages: the example of RFC 8291, and every length.

import { assertEquals, assertRejects } from "@std/assert";
import { BrowserKeys } from "../../../fakes/push_decryption.ts";
import { RFC_8291_EXAMPLE as EXAMPLE } from "../../../vectors/push_message.ts";
import { encryptPush, MAX_PLAIN_OCTETS } from "../../../../upstream/embedded/push/push_encryption.ts";

const octets = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
const text = (value: Uint8Array) => value.toBase64({ alphabet: "base64url", omitPadding: true });

/** The sender's keys of appendix A. */
async function exampleSenderKeys(): Promise<CryptoKeyPair> {
  const point = octets(EXAMPLE.senderPublic);
  const jwk = { kty: "EC", crv: "P-256", x: text(point.subarray(1, 33)), y: text(point.subarray(33)) };
  const curve = { name: "ECDH", namedCurve: "P-256" };
  const [publicKey, privateKey] = await Promise.all([
    crypto.subtle.importKey("jwk", jwk, curve, true, []),
    crypto.subtle.importKey("jwk", { ...jwk, d: EXAMPLE.senderPrivate }, curve, true, ["deriveBits"]),
  ]);
  return { publicKey, privateKey };
}

Deno.test("encryptPush() makes the message of RFC 8291 §5 from the values of appendix A", async () => {
  const message = await encryptPush(
    new TextEncoder().encode(EXAMPLE.plaintext),
    { p256dh: octets(EXAMPLE.receiverPublic), auth: octets(EXAMPLE.auth) },
    { salt: octets(EXAMPLE.salt), createSenderKeys: exampleSenderKeys, padTo: 1 },
  );
  assertEquals(text(message), EXAMPLE.message);
});

const browser = new BrowserKeys();
const keys = { p256dh: octets(browser.json.p256dh), auth: octets(browser.json.auth) };
const salt = () => crypto.getRandomValues(new Uint8Array(16));

for (const length of [0, 1, 511, 512, 513, 2999, MAX_PLAIN_OCTETS]) {
  Deno.test(`a browser decrypts what encryptPush() made of ${length} octets, below 4,096 octets in all`, async () => {
    const plain = crypto.getRandomValues(new Uint8Array(length));
    const message = await encryptPush(plain, keys, { salt: salt() });
    assertEquals(browser.decrypt(message), plain);
    assertEquals(message.length <= 4096, true);
  });
}

Deno.test("the length of a message does not tell the length of a name", async () => {
  const lengthOf = async (octets: number) =>
    (await encryptPush(new Uint8Array(octets).fill(97), keys, { salt: salt() })).length;
  assertEquals(await lengthOf(300), await lengthOf(420));
});

Deno.test("encryptPush() refuses a text that is too long, and a key that is no point of the curve", async () => {
  const long = new Uint8Array(MAX_PLAIN_OCTETS + 1);
  await assertRejects(() => encryptPush(long, keys, { salt: salt() }), RangeError);
  const p256dh = new Uint8Array(65).fill(4);
  await assertRejects(() => encryptPush(new Uint8Array(1), { ...keys, p256dh }, { salt: salt() }));
});
