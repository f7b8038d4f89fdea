// The fake push service is right: it reads the example of RFC 8291, and refuses what a real service refuses.

import { assertEquals, assertThrows } from "@std/assert";
import { BrowserKeys } from "../../../fakes/push_decryption.ts";
import { RFC_8291_EXAMPLE as EXAMPLE } from "../../../vectors/push_message.ts";
import { startPushService } from "../../../fakes/push_service.ts";

const octets = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });

Deno.test("BrowserKeys.decrypt() reads the message of RFC 8291 §5", () => {
  const keys = new BrowserKeys({
    privateKey: octets(EXAMPLE.receiverPrivate),
    auth: octets(EXAMPLE.auth),
  });
  assertEquals(keys.json, { p256dh: EXAMPLE.receiverPublic, auth: EXAMPLE.auth });
  assertEquals(new TextDecoder().decode(keys.decrypt(octets(EXAMPLE.message))), EXAMPLE.plaintext);
  assertThrows(() => new BrowserKeys().decrypt(octets(EXAMPLE.message)));
});

const SOUND = {
  "content-encoding": "aes128gcm",
  ttl: "60",
  authorization: "vapid t=x.y.z, k=AA",
};
const REFUSED:
  readonly (readonly [change: Record<string, string | null>, problem: string, status: number])[] = [
    [{ ttl: null }, "TTL", 400],
    [{ ttl: "soon" }, "TTL", 400],
    [{ "content-encoding": "gzip" }, "Content-Encoding", 400],
    [{ topic: "a topic" }, "Topic", 400],
    [{ urgency: "now" }, "Urgency", 400],
    [{ authorization: null }, "Authorization", 401],
  ];

for (const [change, problem, status] of REFUSED) {
  Deno.test(`the push service answers ${status} to ${JSON.stringify(change)}`, async () => {
    await using service = startPushService();
    const { endpoint } = service.subscribe();
    const headers = Object.entries({ ...SOUND, ...change })
      .flatMap(([name, value]) => value === null ? [] : [[name, value] as [string, string]]);
    const response = await service.fetch(endpoint, { method: "POST", headers, body: "x" });
    assertEquals([response.status, await response.text()], [status, problem]);
    assertEquals([service.refused, service.delivered], [[problem], []]);
  });
}

Deno.test("the push service answers 410 for a subscription that ended", async () => {
  await using service = startPushService();
  const { endpoint } = service.subscribe();
  service.unsubscribe(endpoint);
  const response = await service.fetch(endpoint, { method: "POST", headers: SOUND, body: "x" });
  assertEquals([response.status, await response.text()], [410, ""]);
});
