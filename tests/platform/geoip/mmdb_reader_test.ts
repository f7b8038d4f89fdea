// The reader of MaxMind DB files: all record sizes, and files that are damaged or hostile.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { ipOctets } from "../../../platform/addresses.ts";
import { type Mmdb, openMmdb } from "../../../platform/geoip/geoip.ts";
import { encodeMmdb, type MmdbFile, mmdbFile, mmdbPointer } from "../../fakes/mmdb_file.ts";

const NETWORKS = {
  "198.51.100.0/24": { country: { iso_code: "DE", names: { en: "Germany" } }, list: [1, "two", true] },
  "203.0.113.128/25": { country: { iso_code: "FR" }, large: 2 ** 40, text: "é".repeat(200) },
  "2001:db8::/32": { asn: 64500 },
};

function open(file: MmdbFile): Mmdb {
  const opened = openMmdb(mmdbFile(file));
  if (!opened.ok) throw new Error(`The file is not sound: ${opened.reason}`);
  return opened.value;
}

const find = (database: Mmdb, address: string) => database.find(ipOctets(address) ?? new Uint8Array());

for (const recordSize of [24, 28, 32] as const) {
  Deno.test(`openMmdb() finds the records of networks with records of ${recordSize} bits`, () => {
    const database = open({ networks: NETWORKS, recordSize });
    assertEquals([database.databaseType, database.builtMs], ["Test-Country", 1_790_000_000_000]);
    assertEquals(find(database, "198.51.100.0"), NETWORKS["198.51.100.0/24"]);
    assertEquals(find(database, "198.51.100.255"), NETWORKS["198.51.100.0/24"]);
    assertEquals(find(database, "203.0.113.200"), NETWORKS["203.0.113.128/25"]);
    assertEquals(find(database, "2001:db8:1::5"), NETWORKS["2001:db8::/32"]);
    for (const unknown of ["198.51.101.0", "203.0.113.127", "2001:db9::", "0.0.0.0", "255.255.255.255"]) {
      assertEquals(find(database, unknown), null, unknown);
    }
  });
}

Deno.test("openMmdb() reads a database of IPv4 addresses, which has no IPv6 address", () => {
  const { "198.51.100.0/24": german } = NETWORKS;
  const database = open({ networks: { "198.51.100.0/24": german }, ipVersion: 4 });
  assertEquals(find(database, "198.51.100.7"), german);
  assertEquals(find(database, "2001:db8::1"), null);
});

Deno.test("openMmdb() refuses other files, other versions and trees that do not fit", () => {
  const reasonOf = (octets: Uint8Array) => {
    const opened = openMmdb(octets);
    return opened.ok ? "ok" : opened.reason;
  };
  const changed = (metadata: MmdbFile["metadata"]) =>
    reasonOf(mmdbFile({ networks: NETWORKS, metadata: metadata ?? {} }));
  assertEquals(reasonOf(new Uint8Array()), "not_mmdb");
  assertEquals(reasonOf(new TextEncoder().encode("{}".repeat(10_000))), "not_mmdb");
  assertEquals(changed({ binary_format_major_version: 3 }), "not_mmdb");
  const damages: MmdbFile["metadata"][] = [
    { node_count: 2 ** 31 },
    { node_count: 0 },
    { node_count: "many" },
    { record_size: 23 },
    { ip_version: 5 },
  ];
  for (const damage of damages) assertEquals(changed(damage), "damaged", JSON.stringify(damage));
});

Deno.test("openMmdb() limits the time of the build to one that can be shown", () => {
  const { builtMs } = open({ networks: NETWORKS, metadata: { build_epoch: 2 ** 52 } });
  assertEquals(new Date(builtMs).getTime(), builtMs);
});

/** The record of a file that is opened; "not opened" otherwise. */
function found(octets: Uint8Array): unknown {
  const opened = openMmdb(octets);
  return opened.ok ? find(opened.value, "198.51.100.1") : "not opened";
}

/** A file whose only record is the given octets. */
function fileWith(record: readonly number[]): Uint8Array<ArrayBuffer> {
  const text = "x".repeat(Math.max(285, record.length));
  const octets = mmdbFile({ networks: { "198.51.100.0/24": text } });
  const at = octets.findIndex((_, index) =>
    octets.subarray(index, index + 20).every((octet) => octet === 120)
  );
  // Three octets of control and size come before the text.
  octets.set(record, at - 3);
  return octets;
}

Deno.test("find() ends on pointers to themselves, deep nesting and records that grow without limit", () => {
  const list = (...items: number[][]) => [items.length, 4, ...items.flat()];
  const bomb: number[] = [];
  // Each list contains the one before it 28 times: 28 ** 6 values.
  // A pointer to the last list and a spare octet come first.
  const headOctets = 3;
  let start = 0;
  for (let depth = 0; depth < 6; depth++) {
    const before = start;
    start = headOctets + bomb.length;
    bomb.push(
      ...list(...Array.from({ length: 28 }, () => depth === 0 ? encodeMmdb("x") : mmdbPointer(before))),
    );
  }
  for (
    const record of [mmdbPointer(0), [0x3f, 255, 255, 255, 255], [0xff, 255, 255, 255], [
      31,
      4,
      255,
      255,
      255,
    ]]
  ) {
    assertEquals(found(fileWith(record)), null);
  }
  assertEquals(found(fileWith([...mmdbPointer(start), 0, ...bomb])), null);
  assertEquals(found(fileWith([...mmdbPointer(3), 0, ...encodeMmdb("a text")])), "a text");
});

Deno.test("openMmdb() and find() never throw on a damaged file", () => {
  const sound = mmdbFile({ networks: NETWORKS, recordSize: 28 });
  const addresses = ["198.51.100.1", "203.0.113.200", "2001:db8::1"];
  const read = (octets: Uint8Array) => {
    const opened = openMmdb(octets);
    if (opened.ok) { for (const address of addresses) find(opened.value, address); }
  };
  for (let length = 0; length < sound.length; length++) {
    read(sound.subarray(0, length));
    read(sound.subarray(length));
  }
  const change = fc.tuple(fc.nat(sound.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
      const octets = sound.slice();
      for (const [at, octet] of changes) octets[at] = octet;
      read(octets);
    }),
    { numRuns: 3000 },
  );
});
