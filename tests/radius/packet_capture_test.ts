// The packet capture: a ring buffer with limits of packets, octets and rate.

import { assert, assertEquals } from "@std/assert";
import { PacketCapture } from "../../radius/server/packet_capture.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";

/** An Access-Request with the attributes `body`. */
function packet(body: readonly number[], identifier = 1): Uint8Array {
  const length = 20 + body.length;
  return Uint8Array.of(
    1,
    identifier,
    length >> 8,
    length & 255,
    ...new Uint8Array(16).fill(identifier),
    ...body,
  );
}
const drop = (octets: Uint8Array, source = "192.0.2.1") => ({
  octets,
  reason: "unknown_client",
  source,
  client: null,
});

Deno.test("PacketCapture keeps only the newest strays, and drops those whose octets were overwritten", () => {
  const log = new PacketCapture({ clock: { nowMs: () => 0 } }, { maxStrays: 5, ringOctets: 8192 });
  for (let identifier = 0; identifier < 40; identifier++) {
    log.dropped(drop(packet([1, 3, 65], identifier), `192.0.2.${identifier}`));
  }
  assertEquals(log.strays(100).map(({ source }) => source), [
    "192.0.2.39",
    "192.0.2.38",
    "192.0.2.37",
    "192.0.2.36",
    "192.0.2.35",
  ]);
});

Deno.test("PacketCapture keeps a limited number of packets a second, and continues in the next second", () => {
  let nowMs = 0;
  const log = new PacketCapture({ clock: { nowMs: () => nowMs } }, { maxPerSecond: 3 });
  for (let identifier = 0; identifier < 9; identifier++) log.dropped(drop(packet([], identifier)));
  assertEquals(log.strays(100).length, 3);
  nowMs = 1000;
  log.dropped(drop(packet([], 200)));
  assertEquals(log.strays(100).length, 4);
});

Deno.test("dropped() counts the same datagram again instead of listing it twice", () => {
  const log = new PacketCapture({ clock: { nowMs: () => 0 } });
  for (let count = 0; count < 3; count++) log.dropped(drop(packet([1, 3, 65])));
  assertEquals(log.strays(10).map(({ copies }) => copies), [3]);
  assertEquals(log.tallies().map(({ count }) => count), [3]);
});

Deno.test("copyRedacted() omits what follows a malformed attribute, because it may be part of a password", () => {
  const target = new Uint8Array(4096);
  const broken = packet([1, 3, 65, 9, 1, 2, 18, ...new TextEncoder().encode("secretsecretsecr")]);
  assertEquals(copyRedacted(broken, target, 0), 23);
  assertEquals(dissectPacket(target.subarray(0, 23)).at(-1)?.value, "A");
});

Deno.test("copyRedacted() and dissectPacket() accept every truncation and never throw", () => {
  const target = new Uint8Array(5000);
  const whole = packet([1, 5, 97, 100, 97, 2, 18, ...new Uint8Array(16).fill(7), 26, 8, 0, 0, 0, 9, 1, 2]);
  for (let length = 0; length <= whole.length; length++) {
    const written = copyRedacted(whole.subarray(0, length), target, 0);
    assert(written <= length);
    dissectPacket(target.subarray(0, written));
  }
});

Deno.test("dissectPacket() shows a vendor's attribute and an integer's value by name, and an unknown type by its number", () => {
  const target = new Uint8Array(4096);
  const cisco = [26, 15, 0, 0, 0, 9, 1, 9, ...new TextEncoder().encode("shell:x")];
  const octets = packet([6, 6, 0, 0, 0, 1, ...cisco, 66, 3, 1]);
  const rows = dissectPacket(target.subarray(0, copyRedacted(octets, target, 0)));
  assertEquals(rows.slice(4).map(({ name, value }) => [name, value]), [
    ["Service-Type", "1 (Login)"],
    ["Cisco-AVPair", "shell:x"],
    ["Attribute 66", "0x01"],
  ]);
});
