// The duplicate cache (RFC 5080 §2.2.2).

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { DuplicateCache, type PacketPlace, REPLY_RETENTION_MS } from "../../radius/server/duplicate_cache.ts";

/** A packet whose authenticator has 16 octets of the value `authenticator`. */
function packet(
  { socket = 0, hostname = "192.0.2.1", port = 1024, identifier = 7, authenticator = 1 }: {
    socket?: number;
    hostname?: string;
    port?: number;
    identifier?: number;
    authenticator?: number;
  } = {},
): PacketPlace {
  const octets = new Uint8Array(20).fill(authenticator, 4);
  octets[1] = identifier;
  return { socket, hostname, port, octets };
}

const OTHERS: Readonly<Record<string, PacketPlace>> = {
  "on another socket": packet({ socket: 1 }),
  "from another address": packet({ hostname: "192.0.2.2" }),
  "from another port": packet({ port: 1025 }),
  "under another identifier": packet({ identifier: 8 }),
  "with another authenticator": packet({ authenticator: 2 }),
};

Deno.test("DuplicateCache finds the same packet again, without a reply until one is set", () => {
  const duplicates = new DuplicateCache();
  assertEquals(duplicates.find(packet()), null);
  const slot = duplicates.add(packet(), 0);
  assertEquals(duplicates.find(packet())?.reply, null);
  slot.reply = Uint8Array.of(1, 2, 3);
  assertEquals(duplicates.find(packet())?.reply, Uint8Array.of(1, 2, 3));
});

for (const [what, other] of Object.entries(OTHERS)) {
  Deno.test(`DuplicateCache treats a packet ${what} as a new one`, () => {
    const duplicates = new DuplicateCache();
    duplicates.add(packet(), 0);
    assertEquals(duplicates.find(other), null);
    assertNotEquals(duplicates.find(packet()), null);
  });
}

Deno.test("DuplicateCache compares all sixteen octets of the authenticator", () => {
  const duplicates = new DuplicateCache();
  duplicates.add(packet(), 0);
  for (let at = 4; at < 20; at++) {
    const other = packet();
    other.octets[at] = 99;
    assertEquals(duplicates.find(other), null, `octet ${at}`);
  }
});

Deno.test("DuplicateCache replaces the entry of the old authenticator by that of a new one", () => {
  const duplicates = new DuplicateCache();
  const old = duplicates.add(packet(), 0);
  const fresh = duplicates.add(packet({ authenticator: 2 }), 1);
  old.reply = Uint8Array.of(1);
  fresh.reply = Uint8Array.of(2);
  assertEquals(duplicates.find(packet()), null);
  assertEquals(duplicates.find(packet({ authenticator: 2 }))?.reply, Uint8Array.of(2));
  duplicates.forget(old);
  assertEquals(duplicates.find(packet({ authenticator: 2 }))?.reply, Uint8Array.of(2));
  assertEquals(duplicates.size, 1);
});

Deno.test("DuplicateCache removes an entry on request, and a second removal is harmless", () => {
  const duplicates = new DuplicateCache();
  const slot = duplicates.add(packet(), 0);
  duplicates.forget(slot);
  duplicates.forget(slot);
  assertEquals([duplicates.find(packet()), duplicates.size], [null, 0]);
});

Deno.test("DuplicateCache keeps answers for 30 s, and then frees room when new packets arrive", () => {
  const duplicates = new DuplicateCache();
  for (let identifier = 0; identifier < 8; identifier++) duplicates.add(packet({ identifier }), 0);
  duplicates.add(packet({ port: 1 }), REPLY_RETENTION_MS - 1);
  assertNotEquals(duplicates.find(packet({ identifier: 0 })), null);
  for (let port = 2; port < 6; port++) duplicates.add(packet({ port }), REPLY_RETENTION_MS);
  for (let identifier = 0; identifier < 8; identifier++) {
    assertEquals(duplicates.find(packet({ identifier })), null);
  }
  assertEquals(duplicates.size, 5);
});

Deno.test("DuplicateCache keeps at most 65,535 packets, the newest ones", () => {
  const duplicates = new DuplicateCache();
  for (let i = 0; i < 70_000; i++) {
    duplicates.add(packet({ port: i >> 8, identifier: i & 0xff, hostname: `h${i % 3}` }), 0);
  }
  assert(duplicates.size <= 65_536 && duplicates.size > 65_000, String(duplicates.size));
  assertEquals(duplicates.find(packet({ port: 0, identifier: 0, hostname: "h0" })), null);
  const last = packet({ port: 69_999 >> 8, identifier: 69_999 & 0xff, hostname: `h${69_999 % 3}` });
  assertNotEquals(duplicates.find(last), null);
});

Deno.test("DuplicateCache agrees with a plain table for any sequence of calls", () => {
  const step = fc.record({
    act: fc.constantFrom("note", "find", "forget"),
    port: fc.integer({ min: 1, max: 2 }),
    identifier: fc.integer({ min: 0, max: 2 }),
    authenticator: fc.integer({ min: 0, max: 2 }),
    hostname: fc.constantFrom("a", "b"),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const duplicates = new DuplicateCache();
    const table = new Map<string, { authenticator: number; slot: ReturnType<typeof duplicates.add> }>();
    for (const { act, ...place } of steps) {
      const name = `${place.hostname} ${place.port} ${place.identifier}`;
      const known = table.get(name);
      if (act === "note") {
        const slot = duplicates.add(packet(place), 0);
        table.set(name, { authenticator: place.authenticator, slot });
      } else if (act === "forget" && known !== undefined) {
        duplicates.forget(known.slot);
        table.delete(name);
      }
      const now = table.get(name);
      const expected = now?.authenticator === place.authenticator ? now.slot : null;
      assert(duplicates.find(packet(place)) === expected);
      assertEquals(duplicates.size, table.size);
    }
  }));
});
