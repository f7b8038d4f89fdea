// Keys and values of a backup: every type that Deno KV stores survives the encoding, and no octets make the decoding fail otherwise than
// with a BackupFault.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  BackupFault,
  OctetReader,
  OctetWriter,
  readKey,
  readValue,
  writeKey,
  writeValue,
} from "../../../platform/backup/records.ts";
import fc from "../../packages/fast_check.ts";
import { STORED_VALUES } from "./stored_values.ts";

function encoded(value: unknown): Uint8Array {
  const writer = new OctetWriter();
  writeValue(writer, value);
  return writer.take();
}

function decoded(octets: Uint8Array): unknown {
  const reader = new OctetReader(octets);
  const value = readValue(reader);
  assert(reader.isAtEnd);
  return value;
}

for (const [name, value] of Object.entries(STORED_VALUES)) {
  Deno.test(`readValue() returns what writeValue() wrote: ${name}`, async () => {
    using kv = await Deno.openKv(":memory:");
    await kv.set(["value"], value);
    const stored = (await kv.get(["value"])).value;
    const back = decoded(encoded(stored));
    assertEquals(back, stored);
    // Deno KV accepts it again, with the same result.
    await kv.set(["again"], back);
    assertEquals((await kv.get(["again"])).value, stored);
  });
}

Deno.test("writeValue() keeps the identity of an object that contains itself", () => {
  const value: Record<string, unknown> = { name: "a" };
  value.self = value;
  const back = decoded(encoded(value)) as Record<string, unknown>;
  assert(back.self === back);
});

Deno.test("readValue() returns a property called __proto__ without a change of the prototype", () => {
  const value = JSON.parse('{"__proto__": {"isAdmin": true}}');
  const back = decoded(encoded(value)) as object;
  assertEquals(Object.keys(back), ["__proto__"]);
  assertEquals(Object.getPrototypeOf(back), Object.prototype);
});

const keyPart = fc.oneof(
  fc.uint8Array(),
  fc.string({ unit: "binary" }),
  fc.double(),
  fc.bigInt(),
  fc.boolean(),
);
const anyValue = fc.anything({
  ...{ withBigInt: true, withDate: true, withMap: true, withSet: true, withSparseArray: true },
  ...{ withTypedArray: true, withUnicodeString: true, withNullPrototype: false, withBoxedValues: false },
});

Deno.test("readValue() returns typed arrays that do not share the octets of their block", () => {
  const writer = new OctetWriter();
  for (let at = 0; at < 3; at++) writeValue(writer, { keys: ["a"], depths: new Int8Array(5) });
  const block = new OctetReader(writer.take());
  for (let at = 0; at < 3; at++) {
    const { depths } = readValue(block) as { depths: Int8Array };
    assertEquals([depths.length, depths.buffer.byteLength], [5, 5]);
  }
});

Deno.test("readKey() returns every key that writeKey() wrote", () => {
  fc.assert(fc.property(fc.array(keyPart, { maxLength: 8 }), (key) => {
    const writer = new OctetWriter();
    writeKey(writer, key);
    assertEquals(readKey(new OctetReader(writer.take())), key);
  }));
});

Deno.test("readValue() returns every value that writeValue() wrote", () => {
  fc.assert(fc.property(anyValue, (value) => {
    assertEquals(decoded(encoded(value)), structuredClone(value));
  }));
});

Deno.test("readValue() refuses a shortened value with a BackupFault", () => {
  fc.assert(fc.property(anyValue, fc.nat(), (value, cut) => {
    const octets = encoded(value);
    const shortened = octets.subarray(0, cut % octets.length);
    assertThrows(() => decoded(shortened), BackupFault);
  }));
});

Deno.test("readValue() fails on arbitrary octets only with a BackupFault", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
    try {
      readValue(new OctetReader(octets));
    } catch (fault) {
      if (!(fault instanceof BackupFault)) throw fault;
    }
  }));
});

Deno.test("readKey() refuses a part that no key can have", () => {
  const writer = new OctetWriter();
  writer.count(1);
  writeValue(writer, null);
  assertThrows(() => readKey(new OctetReader(writer.take())), BackupFault, "no key can have");
});

Deno.test("OctetWriter.count() and OctetReader.count() agree on every whole number", () => {
  fc.assert(fc.property(fc.maxSafeNat(), (value) => {
    const writer = new OctetWriter();
    writer.count(value);
    assertEquals(new OctetReader(writer.take()).count(), value);
  }));
});
