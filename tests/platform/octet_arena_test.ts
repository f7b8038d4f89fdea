// Blocks of octets in large arrays: they never overlap, and freed ones are used again.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { OctetArena } from "../../platform/octet_fields.ts";

function write(arena: OctetArena, handle: number, octets: Uint8Array): void {
  const block = arena.open(handle);
  block.octets.set(octets, block.at);
}

function read(arena: OctetArena, handle: number, lengthOctets: number): Uint8Array {
  const block = arena.open(handle);
  return block.octets.slice(block.at, block.at + lengthOctets);
}

Deno.test("OctetArena keeps the octets of each block, for any sequence of calls", () => {
  const step = fc.record({
    isFree: fc.boolean(),
    which: fc.nat(),
    lengthOctets: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 4000, max: 9000 })),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const arena = new OctetArena();
    const blocks: { handle: number; octets: Uint8Array }[] = [];
    for (const [number, { isFree, which, lengthOctets }] of steps.entries()) {
      if (isFree && blocks.length > 0) {
        const [freed] = blocks.splice(which % blocks.length, 1);
        if (freed !== undefined) arena.free(freed.handle, freed.octets.length);
      } else {
        const handle = arena.allocate(lengthOctets);
        const octets = new Uint8Array(lengthOctets).fill(number + 1);
        write(arena, handle, octets);
        blocks.push({ handle, octets });
      }
      for (const { handle, octets } of blocks) assertEquals(read(arena, handle, octets.length), octets);
    }
  }));
});

Deno.test("OctetArena uses a freed block again for one of the same size", () => {
  const arena = new OctetArena();
  const first = arena.allocate(100);
  assertNotEquals(arena.allocate(100), first);
  arena.free(first, 100);
  assertEquals(arena.allocate(120), first);
  assert(arena.fits(100, 128) && !arena.fits(100, 129) && !arena.fits(5000, 5000));
});
