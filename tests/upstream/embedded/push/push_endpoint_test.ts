// The subscription that a phone sends is foreign input.

import { assertEquals } from "@std/assert";
import { BrowserKeys } from "../../../fakes/push_decryption.ts";
import { isAllowedEndpoint, parsePushTarget } from "../../../../upstream/embedded/push/push_subscriptions.ts";

const { p256dh, auth } = new BrowserKeys().json;
const HOSTS = ["fcm.googleapis.com", "*.push.apple.com", "push.example.com:8443"];
const text = (octets: Uint8Array) => octets.toBase64({ alphabet: "base64url" });

const GOOD = [
  ["https://fcm.googleapis.com/fcm/send/abc:DEF", "fcm.googleapis.com"],
  ["https://FCM.googleapis.com:443/fcm/send/x", "fcm.googleapis.com"],
  ["https://web.push.apple.com/QA", "web.push.apple.com"],
  ["https://a.b.push.apple.com/?token=1", "a.b.push.apple.com"],
  ["https://push.example.com:8443/x", "push.example.com:8443"],
] as const;

for (const [endpoint, host] of GOOD) {
  Deno.test(`parsePushTarget() accepts ${endpoint}`, async () => {
    const parsed = await parsePushTarget({ endpoint, keys: { p256dh, auth } }, HOSTS);
    assertEquals(parsed.ok && parsed.value.host, host);
    assertEquals(parsed.ok && isAllowedEndpoint(parsed.value.endpoint, HOSTS), true);
  });
}

const NOT_ALLOWED = [
  "https://example.com/x",
  "https://push.apple.com/x",
  "https://evilpush.apple.com.example.com/x",
  "https://fcm.googleapis.com.example.com/x",
  "https://fcm.googleapis.com:8443/x",
  "https://fcm.googleapis.com./x",
  "https://push.example.com/x",
  "https://127.0.0.1/x",
  "https://[::1]/x",
  "https://0x7f.1/x",
  "https://localhost/x",
];
const BAD = [
  "http://fcm.googleapis.com/x",
  "ftp://fcm.googleapis.com/x",
  "https://user@fcm.googleapis.com/x",
  "https://user:password@fcm.googleapis.com/x",
  "https://fcm.googleapis.com/x#y",
  "https://fcm.googleapis.com/a b",
  "https://fcm.googleapis.com\\@evil.example/x#",
  "https://fcm.googleapis.com/\n",
  "https://fcm.googleapis.com/ü",
  "https://",
  "fcm.googleapis.com",
  `https://fcm.googleapis.com/${"x".repeat(2048)}`,
  "",
];

for (const endpoint of [...NOT_ALLOWED, ...BAD]) {
  Deno.test(`parsePushTarget() refuses ${JSON.stringify(endpoint.slice(0, 60))}`, async () => {
    const parsed = await parsePushTarget({ endpoint, keys: { p256dh, auth } }, HOSTS);
    const reason = NOT_ALLOWED.includes(endpoint) ? "push_host_not_allowed" : "bad_push_subscription";
    assertEquals(parsed, { ok: false, reason });
    assertEquals(isAllowedEndpoint(endpoint, HOSTS), false);
  });
}

const BAD_KEYS: readonly (readonly [what: string, keys: { p256dh: string; auth: string }])[] = [
  ["a point that is not on the curve", { p256dh: text(new Uint8Array(65).fill(4)), auth }],
  ["the point at infinity", { p256dh: text(new Uint8Array(1)), auth }],
  ["a compressed point", { p256dh: text(new Uint8Array(33).fill(2)), auth }],
  ["a short auth secret", { p256dh, auth: text(new Uint8Array(15)) }],
  ["a long auth secret", { p256dh, auth: text(new Uint8Array(17)) }],
  ["no base64url", { p256dh: p256dh.replace(/^./, "+"), auth }],
  ["empty keys", { p256dh: "", auth: "" }],
  ["a very long key", { p256dh: "A".repeat(100_000), auth }],
];

for (const [what, keys] of BAD_KEYS) {
  Deno.test(`parsePushTarget() refuses ${what}`, async () => {
    const parsed = await parsePushTarget({ endpoint: "https://fcm.googleapis.com/x", keys }, HOSTS);
    assertEquals(parsed, { ok: false, reason: "bad_push_subscription" });
  });
}
