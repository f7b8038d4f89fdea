// The key pair of the installation, and the header that it signs (RFC 8292).

import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { openNode } from "../../../fakes/shared_store.ts";
import { createManualClock } from "../../manual_clock.ts";
import { openServiceDeps } from "../../start_services.ts";
import { openVapidKeys, VapidHeaders } from "../../../../upstream/embedded/push/push_encryption.ts";

const HOUR_MS = 3_600_000;
const ORIGIN = "https://fcm.googleapis.com";
const CONTACT = "mailto:it@example.com";
const KEY = ["embedded", "push_keys", "vapid"];

async function openKeys() {
  const clock = createManualClock();
  const ground = await openServiceDeps(clock);
  const keys = await openVapidKeys(ground);
  return { clock, ground, keys, headers: new VapidHeaders({ keys, clock }) };
}

const tokenOf = (header: string) => /^vapid t=([^,]+), k=/.exec(header)?.[1] ?? "";

Deno.test("openVapidKeys() creates one key pair, and reads it after a restart", async () => {
  const { ground, keys } = await openKeys();
  const again = await openVapidKeys(ground);
  assertEquals([again.publicKey, again.createdMs], [keys.publicKey, keys.createdMs]);
  assertEquals(Uint8Array.fromBase64(keys.publicKey, { alphabet: "base64url" }).length, 65);
  await ground.store.close();
});

Deno.test("nodes that start at the same time use the same key pair", async () => {
  const kv = await Deno.openKv(":memory:");
  const { vault, clock, store } = await openServiceDeps(createManualClock());
  const nodes = await Promise.all(["a", "b", "c", "d"].map((name) => openNode(kv, name)));
  const keys = await Promise.all(nodes.map((node) => openVapidKeys({ store: node.store, vault, clock })));
  assertEquals(new Set(keys.map(({ publicKey }) => publicKey)).size, 1);
  await store.close();
  kv.close();
});

Deno.test("the private key is sealed, and an altered record is refused", async () => {
  const { ground } = await openKeys();
  const { value } = await ground.store.get<Record<string, unknown>>(KEY);
  assertEquals(Object.keys(value ?? {}).toSorted(), ["createdMs", "publicKey", "sealedPrivateKey"]);
  const sealed = value?.sealedPrivateKey as Uint8Array;
  assertEquals(new TextDecoder().decode(sealed).includes("P-256"), false);
  const altered = { ...value, sealedPrivateKey: sealed.with(40, (sealed[40] ?? 0) ^ 1) };
  await ground.store.commit({ mutations: [{ type: "set", key: KEY, value: altered }] });
  await assertRejects(() => openVapidKeys(ground), Error, "Cannot open the push keys");
  await ground.store.close();
});

Deno.test("header() has the claims of RFC 8292 §2", async () => {
  const { clock, ground, keys, headers } = await openKeys();
  const header = await headers.header(ORIGIN, CONTACT);
  const exp = clock.nowMs() / 1000 + 12 * 3600;
  assertEquals(decodeProtectedHeader(tokenOf(header)), { typ: "JWT", alg: "ES256" });
  assertEquals(decodeJwt(tokenOf(header)), { aud: ORIGIN, exp, sub: CONTACT });
  assertEquals(header.endsWith(`, k=${keys.publicKey}`), true);
  await ground.store.close();
});

Deno.test("header() signs once for an origin, and again after hours, for another contact or origin, or a clock that was set back", async () => {
  const { clock, ground, headers } = await openKeys();
  const first = await headers.header(ORIGIN, CONTACT);
  clock.advance(6 * HOUR_MS - 1);
  assertEquals(await headers.header(ORIGIN, CONTACT), first);
  clock.advance(1);
  const renewed = await headers.header(ORIGIN, CONTACT);
  assertNotEquals(renewed, first);
  assertNotEquals(await headers.header(ORIGIN, "https://example.com"), renewed);
  assertNotEquals(await headers.header("https://web.push.apple.com", CONTACT), renewed);
  await ground.store.close();
});

Deno.test("header() replaces a token that a clock, now set back, made for the future", async () => {
  const { ground, keys } = await openKeys();
  let nowMs = Date.UTC(2030, 0, 2);
  const headers = new VapidHeaders({ keys, clock: { nowMs: () => nowMs, after: () => () => undefined } });
  const future = await headers.header(ORIGIN, CONTACT);
  nowMs = Date.UTC(2030, 0, 1);
  assertNotEquals(await headers.header(ORIGIN, CONTACT), future);
  await ground.store.close();
});
