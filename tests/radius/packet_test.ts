// Reading and writing of packets: the examples of the RFCs, and laws for any octets.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";
import { forEachAttribute, PacketView, PacketWriter } from "../../radius/protocol/packet.ts";
import { RFC_VECTORS } from "./rfc_vectors.ts";

const AUTHENTICATOR = Uint8Array.from({ length: 16 }, (_, i) => i);
const STRUCTURAL = new Set(["too_short", "too_long", "truncated", "code_not_served", "malformed_attribute"]);
/** RFC vectors to "discard" that the walk over the attributes cannot detect: missing or invalid signatures. */
const SEEN_BY_THE_GATE = new Set(["neg-ma-len-5", "neg-status-no-ma", "neg-eap-no-ma"]);

const attribute = fc.record({
  type: fc.integer({ min: 1, max: 255 }),
  value: fc.uint8Array({ maxLength: 253 }),
});
type Attribute = { type: number; value: Uint8Array };

/** At most 15 attributes of at most 255 octets fit into any packet. */
const attributes = fc.array(attribute, { maxLength: 15 });

function write(list: readonly Attribute[]): Uint8Array<ArrayBuffer> {
  const writer = new PacketWriter();
  writer.begin(1, 7);
  for (const { type, value } of list) writer.attribute(type, value);
  writer.finish();
  writer.octets.set(AUTHENTICATOR, 4);
  return writer.octets.slice(0, writer.lengthOctets);
}

function read(octets: Uint8Array): Attribute[] {
  const list: Attribute[] = [];
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    list.push({ type, value: Uint8Array.from(octets.subarray(at, at + valueOctets)) });
  });
  return list;
}

for (const { id, hex, expect, note } of RFC_VECTORS.filter(({ expect }) => expect !== undefined)) {
  if (SEEN_BY_THE_GATE.has(id)) continue;
  Deno.test(`PacketView.read() ${expect === "discard" ? "drops" : "takes"} ${id}: ${note ?? ""}`, () => {
    const octets = Uint8Array.fromHex(hex);
    const reason = new PacketView().read(octets, octets.length);
    if (expect === "discard") assert(reason !== null && STRUCTURAL.has(reason), String(reason));
    else assertEquals(reason, null);
  });
}

Deno.test("PacketView.read() finds User-Name and State in the requests of the RFCs", () => {
  const view = new PacketView();
  for (const { hex, user, state_hex: stateHex, expect } of RFC_VECTORS) {
    if (expect !== "accept-parse" || user === undefined) continue;
    const octets = Uint8Array.fromHex(hex);
    assertEquals(view.read(octets, octets.length), null);
    assertEquals(new TextDecoder().decode(view.value("userName") ?? undefined), user);
    assertEquals(view.value("state")?.toHex(), stateHex);
  }
});

Deno.test("PacketView.read() keeps nothing of the packet before", () => {
  const view = new PacketView();
  const full = write([{ type: 1, value: Uint8Array.of(1) }, { type: 24, value: Uint8Array.of(2) }]);
  view.read(full, full.length);
  const bare = write([]);
  view.read(bare, bare.length);
  assertEquals([view.value("userName"), view.value("state"), view.slots.state.count], [null, null, 0]);
});

Deno.test("PacketView.read() reads back everything that PacketWriter writes, the first of a type and its count", () => {
  const view = new PacketView();
  fc.assert(fc.property(attributes, (list) => {
    const octets = write(list);
    assertEquals(view.read(octets, octets.length), null);
    assertEquals(read(octets), list);
    // One without octets counts as absent.
    const states = list.filter(({ type, value }) => type === 24 && value.length > 0);
    assertEquals(view.slots.state.count, states.length);
    assertEquals(view.value("state"), states[0]?.value ?? null);
  }));
});

Deno.test("PacketView.read() drops every truncation of a valid packet and never throws", () => {
  const view = new PacketView();
  fc.assert(
    fc.property(fc.array(attribute, { maxLength: 4 }), (list) => {
      const octets = write(list);
      for (let length = 0; length < octets.length; length++) {
        const reason = view.read(octets.slice(0, length), length);
        assertEquals(reason, length < 20 ? "too_short" : "truncated");
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("PacketView.read() drops a packet whose Length was shortened, unless it ends between two attributes", () => {
  const view = new PacketView();
  fc.assert(
    fc.property(fc.array(attribute, { minLength: 1, maxLength: 4 }), (list) => {
      const octets = write(list);
      const borders = new Set([20]);
      forEachAttribute(octets, octets.length, (_type, at, valueOctets) => borders.add(at + valueOctets));
      for (let length = 20; length < octets.length; length++) {
        octets.set([length >> 8, length & 0xff], 2);
        const expected = borders.has(length) ? null : "malformed_attribute";
        assertEquals(view.read(octets, octets.length), expected, `Length ${length}`);
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("PacketView.read() never throws, and returns a row of DROP_REASONS, for random octets", () => {
  const view = new PacketView();
  const header = fc.tuple(fc.constantFrom(1, 12), fc.integer({ min: 0, max: 255 })).map(([code, id]) => [
    code,
    id,
  ]);
  fc.assert(
    fc.property(header, fc.uint8Array({ maxLength: 300 }), (head, body) => {
      const octets = Uint8Array.from([...head, ...body]);
      // Half of them have a right Length, so that the walk over the attributes begins.
      if (octets.length >= 20 && (body[2] ?? 0) % 2 === 0) {
        octets.set([octets.length >> 8, octets.length & 0xff], 2);
      }
      const reason = view.read(octets, octets.length);
      assert(reason === null || reason in DROP_REASONS);
      let last = 20;
      if (reason !== null) return;
      forEachAttribute(octets, view.lengthOctets, (_type, at, valueOctets) => {
        assert(at >= last && at + valueOctets <= view.lengthOctets);
        last = at + valueOctets;
      });
      assertEquals(last, view.lengthOctets);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("PacketWriter.attribute() refuses 254 octets, and a packet over 4096 octets, and leaves the packet unchanged", () => {
  const writer = new PacketWriter();
  writer.begin(2, 0);
  assertThrows(() => writer.attribute(18, new Uint8Array(254)), RangeError, "254 octets");
  for (let i = 0; i < 15; i++) writer.attribute(18, new Uint8Array(253));
  assertEquals(writer.roomOctets, 4096 - 20 - 15 * 255);
  assertThrows(() => writer.attribute(18, new Uint8Array(253)), RangeError, "full");
  assertThrows(() => writer.raw(new Uint8Array(writer.roomOctets + 1)), RangeError, "full");
  writer.attribute(18, new Uint8Array(writer.roomOctets - 2));
  assertEquals([writer.lengthOctets, writer.roomOctets], [4096, 0]);
});
