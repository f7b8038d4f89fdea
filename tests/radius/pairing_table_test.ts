// The pairings in memory: a table of octets returns what Maps of objects would.

import { assert, assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import type { Pairing } from "../../radius/factors/pairing.ts";
import { PairingTable } from "../../radius/factors/pairing_table.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const wholeMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const phone = fc.record({ id: text, name: text }, { requiredKeys: ["id"] });
const seed = fc.uint8Array({ maxLength: 200 }).map((octets) => Uint8Array.from(octets));
/** Few ids and users, so that they meet. */
const head = {
  id: fc.constantFrom("a", "b", "c", "d", "ü", "totp-0011223344556677"),
  user: fc.constantFrom("ada", "bob", "zoë"),
  shownUser: text,
  createdMs: fc.integer({ min: 0, max: 5 }),
  addedBy: phone,
};
const requiredKeys = ["id", "user", "shownUser", "createdMs", "kind"] as const;
const pairings = fc.oneof(
  fc.record(
    {
      ...head,
      kind: fc.constant("device"),
      totpLength: fc.integer({ min: 0, max: 8 }),
      name: text,
      approvedMs: wholeMs,
    },
    { requiredKeys: [...requiredKeys, "totpLength"] },
  ),
  fc.record({ ...head, kind: fc.constantFrom("sms", "voice"), number: text }, {
    requiredKeys: [...requiredKeys, "number"],
  }),
  fc.record(
    {
      ...head,
      kind: fc.constant("totp"),
      seed,
      lastStep: fc.integer({ min: -1, max: 2 ** 40 }),
      drift: fc.integer({ min: -10, max: 10 }),
      algorithm: fc.constantFrom("SHA256", "SHA512"),
      digits: fc.integer({ min: 6, max: 8 }),
      periodS: fc.constantFrom(30, 60),
    },
    { requiredKeys: [...requiredKeys, "seed", "lastStep"] },
  ),
  // Records of another version.
  fc.record({ ...head, kind: fc.constant("fido"), key: fc.anything() }, {
    requiredKeys: [...requiredKeys, "key"],
  }),
  fc.record({
    ...head,
    kind: fc.constant("sms"),
    number: text,
    since: fc.double(),
    name: fc.constant("\ud800"),
  }, {
    requiredKeys: [...requiredKeys, "number", "since"],
  }),
) as fc.Arbitrary<Pairing>;

const changes = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ put: pairings }) },
    { weight: 1, arbitrary: fc.record({ drop: head.id }) },
  ),
  { maxLength: 40 },
);

function sorted(list: Iterable<Pairing>): Pairing[] {
  return [...list].sort((a, b) => a.id < b.id ? -1 : 1);
}

Deno.test("PairingTable returns each record as it was put, and the users and counts of a Map", () => {
  fc.assert(fc.property(changes, fc.integer(), (list, hashSeed) => {
    const table = new PairingTable(hashSeed);
    const model = new Map<string, Pairing>();
    for (const change of list) {
      if ("put" in change) {
        const before = table.versionOf(change.put.id);
        const version = table.put(change.put);
        assert(version > before && table.versionOf(change.put.id) === version);
        model.set(change.put.id, change.put);
      } else {
        table.drop(change.drop);
        model.delete(change.drop);
        assertEquals(table.versionOf(change.drop), 0);
      }
      for (const user of ["ada", "bob", "zoë", "eve"]) {
        const own = [...model.values()].filter((one) => one.user === user);
        assertEquals(sorted(table.of(user)), sorted(own));
        const created = table.of(user).map(({ createdMs }) => createdMs);
        assertEquals(created, created.toSorted((a, b) => a - b));
      }
    }
    assertEquals(sorted(table.all()), sorted(model.values()));
    assertEquals(
      [...table.names()].map(({ user, shownUser }) => `${user} ${shownUser}`).sort(),
      [...model.values()].map(({ user, shownUser }) => `${user} ${shownUser}`).sort(),
    );
    for (const [id, pairing] of model) assertEquals(table.get(id), pairing);
    const users = new Set([...model.values()].map(({ user }) => user)).size;
    assertEquals([table.size, table.userCount, table.get("unknown")], [model.size, users, undefined]);
  }));
});

Deno.test("PairingTable finds each of 5,000 users while it grows, and uses freed rows again", () => {
  const table = new PairingTable(1);
  const one = (n: number): Pairing => ({
    ...{ id: `phone-${n}`, user: `user${n}`, shownUser: `User${n}`, createdMs: n },
    ...{ kind: "device", totpLength: 6 },
  });
  for (let n = 0; n < 5000; n++) table.put(one(n));
  for (let n = 0; n < 5000; n += 2) table.drop(`phone-${n}`);
  for (let n = 5000; n < 7000; n++) table.put(one(n));
  for (let n = 0; n < 7000; n++) {
    assertEquals(table.of(`user${n}`), n < 5000 && n % 2 === 0 ? [] : [one(n)], `${n}`);
  }
  assertEquals([table.size, table.userCount], [4500, 4500]);
});

Deno.test("PairingTable keeps a record whose phone is damaged", () => {
  const table = new PairingTable(1);
  for (const addedBy of [null, "phone", 1, []]) {
    const damaged = {
      ...{ id: "app", user: "ada", shownUser: "Ada", createdMs: 1, kind: "totp" },
      ...{ seed: Uint8Array.of(1), lastStep: 1, addedBy },
    };
    table.put(damaged as unknown as Pairing);
    assertEquals(table.of("ada"), [damaged as unknown as Pairing]);
  }
});
