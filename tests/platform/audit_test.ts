// The audit log writer: ids in the order of events, the form of records, the index, and the retention.

import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { auditEntry, createAuditSlot, createAuditWriter, UNKNOWN_ACTOR } from "../../platform/audit.ts";
import { auditIdAt, createAuditIds } from "../../platform/log_blocks.ts";
import {
  AUDIT_ACTIONS,
  type AuditAction,
  auditGroupOf,
  isAdministratorChange,
} from "../../platform/audit_actions.ts";
import { createStore } from "../../platform/store.ts";

const START_MS = Date.UTC(2026, 10, 22);
/** A clock that stops, runs and is set back. */
const clocks = fc.array(fc.integer({ min: START_MS - 86_400_000, max: START_MS + 86_400_000 }), {
  minLength: 2,
  maxLength: 60,
});

Deno.test("createAuditIds() returns ids in the order of the calls, whatever the clock does", () => {
  fc.assert(fc.property(clocks, (times) => {
    const nextId = createAuditIds({ node: "0a0b0c0d" });
    const ids = times.map(nextId);
    assertEquals(ids.toSorted(), ids);
    assertEquals(new Set(ids).size, ids.length);
  }));
});

Deno.test("createAuditIds() continues after the newest id of an earlier process", () => {
  fc.assert(
    fc.property(
      clocks,
      clocks,
      fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 8, maxLength: 8 }),
      (first, second, node) => {
        const earlier = createAuditIds({ node: "ffffffff" });
        const ids = first.map(earlier);
        const later = createAuditIds({ node, newest: ids.at(-1) ?? "" });
        ids.push(...second.map(later));
        assertEquals(ids.toSorted(), ids);
      },
    ),
  );
});

Deno.test("createAuditIds() returns at least the first id of the moment, and reads no foreign id as a time", () => {
  for (const newest of ["", "zzzzzzzzzzzzzzzz", "!", "0000000000", "Ada"]) {
    const id = createAuditIds({ node: "1", newest })(START_MS);
    assertEquals(id, `${auditIdAt(START_MS)}1`);
    assertMatch(id, /^[0-9a-z]{1,64}$/);
  }
});

/** The changes that a writer makes of events. */
function writerOf(options: Parameters<typeof createAuditWriter>[0]) {
  const { complete } = createAuditWriter(options);
  return (mutations: Parameters<typeof complete>[0]) => complete(mutations).mutations;
}

Deno.test("createAuditWriter() indexes objects and actor once, for as long as the record exists", () => {
  const write = writerOf({
    nowMs: () => START_MS,
    node: "1",
    retentionMs: () => 5000,
  });
  const mutations = write([
    auditEntry({
      action: "pairing.add",
      actor: "scim:HR",
      object: "user:Ada",
      objects: ["user:Ada"],
      client: "vpn-1",
    }),
  ]);
  const id = `${auditIdAt(START_MS)}1`;
  assertEquals(mutations.map(({ key }) => key), [
    ["audit", id],
    ["audit_by", "object", "user:ada", id],
    ["audit_by", "object", "client:vpn-1", id],
    ["audit_by", "actor", "scim:hr", id],
  ]);
  assertEquals(mutations.every((one) => one.type === "set" && one.expireInMs === 5000), true);
});

Deno.test("createAuditWriter() does not index an actor or an object that no link names", () => {
  const write = writerOf({ nowMs: () => START_MS, node: "1" });
  const keysOf = (actor: string, object: string) =>
    write([auditEntry({ action: "pairing.add", actor, object })]).slice(1).map(({ key }) => key.slice(0, 3));
  const changes = ["audit_by", "events", "changes"];
  assertEquals(keysOf("radius", "everything"), [changes]);
  assertEquals(keysOf("console:Bob", "Ops:Night"), [["audit_by", "object", "ops:night"], changes]);
});

/** Whether a record is in the index of changes, and whether an administrator made the change. */
const EVENTS:
  readonly (readonly [AuditAction, actor: string, isChange: boolean, byAdministrator: boolean])[] = [
    ["login.accepted", "radius", false, false],
    ["approval.deny", "grace", false, false],
    ["packets.dropped", "radius", false, false],
    ["user.created", "scim:hr", false, false],
    ["user.created", "grace", true, true],
    ["client.change", "token:backup", true, true],
    ["user.unlock", "command", true, true],
    ["user.not_me", "user:ada", true, false],
    ["user.locked", "radius", true, false],
    ["mail.sent", "mail", true, false],
    ["administrator.refused", UNKNOWN_ACTOR, true, false],
    ["administrator.sign_in", "grace", true, false],
  ];
for (const [action, actor, isChange, byAdministrator] of EVENTS) {
  Deno.test(`${action} by ${actor} is ${isChange ? "" : "not "}in the index of changes`, () => {
    const write = writerOf({ nowMs: () => START_MS, node: "1" });
    const keys = write([auditEntry({ action, actor, object: "user:ada" })]).map(({ key }) => key[1]);
    assertEquals(keys.includes("events"), isChange);
    assertEquals(isAdministratorChange(action, actor), byAdministrator);
  });
}

Deno.test("every audit action is in a group by the first word of its name", () => {
  const unknown = Object.keys(AUDIT_ACTIONS).filter((action) =>
    auditGroupOf(action) === "system" && !/^(settings|mail|alert|log_export|audit)[.]/.test(action)
  );
  assertEquals(unknown, []);
});

Deno.test("createAuditWriter() ignores mutations that are no event", () => {
  const write = writerOf({ nowMs: () => START_MS, node: "1" });
  const others = [
    { type: "set", key: ["audit", "1"], value: "gone" },
    { type: "set", key: ["pairing", "1"], value: { actor: "x" } },
    { type: "delete", key: ["audit", "1"] },
  ] as const;
  assertEquals(write(others), others);
});

Deno.test("createAuditWriter() replaces a growing record by one with a new id and the first time", () => {
  let nowMs = START_MS;
  const write = writerOf({ nowMs: () => nowMs, node: "1" });
  const slot = createAuditSlot();
  const grow = (count: number) =>
    write([
      auditEntry(
        { action: "administrator.refused", actor: "nobody", object: "administrator:ada", count },
        slot,
      ),
    ]);
  const [first, ...indexes] = grow(1);
  nowMs += 30_000;
  const [second, ...others] = grow(2);
  assert(String(second?.key[1]) > String(first?.key[1]));
  const removed = others.filter(({ type }) => type === "delete").map(({ key }) => key);
  assertEquals(removed, [first?.key, ...indexes.map(({ key }) => key)]);
  assertEquals(second?.type === "set" ? second.value : null, {
    atMs: START_MS,
    action: "administrator.refused",
    actor: "nobody",
    object: "administrator:ada",
    count: 2,
  });
});

Deno.test("createStore() records events of one millisecond in the order of their commits", async () => {
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: () => START_MS });
  const names = Array.from({ length: 40 }, (_, at) => `user:u${at}`);
  await Promise.all(
    names.map((object) =>
      store.commit({ mutations: [auditEntry({ action: "user.locked", actor: "radius", object })] })
    ),
  );
  const read: unknown[] = [];
  for await (const { value } of store.list<{ object: string }>(["audit"])) read.push(value?.object);
  assertEquals(read, names);
  await store.close();
});
