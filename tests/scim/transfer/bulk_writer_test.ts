// Import rows that are written to a target with several backends, where each row is an operation of the target.

import { assertEquals } from "@std/assert";
import { createTransfer } from "../../../scim/transfer/import_export.ts";
import type { BulkRequest, RowOutcome } from "../../../scim/transfer/bulk_plan.ts";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import type { Target } from "../../../scim/ports.ts";
import { createFakeTarget, type FakeTarget, userContent } from "../../fakes/scim_target.ts";
import { createManualClock, eventually, type ManualClock } from "../../upstream/manual_clock.ts";

const ACTOR = { name: "command", source: "" };

interface World {
  readonly bulk: ReturnType<typeof createTransfer>;
  readonly clock: ManualClock;
  write(target: Target, rows: readonly unknown[], options?: Partial<BulkRequest>): Promise<RowOutcome[]>;
}

function openWorld(): World {
  const clock = createManualClock();
  const bulk = createTransfer({ clock, http: { publicUrl: "http://127.0.0.1:8080" } });
  return {
    bulk,
    clock,
    write(target, given, options = {}) {
      const rows = bulk.readRows(given);
      if (rows === null) throw new Error("these are no rows");
      const request = { rows, actor: ACTOR, mayUpdate: false, isDryRun: false, covers: null };
      return bulk.write(target, { ...request, ...options });
    },
  };
}

const user = (userName: string, more: Record<string, unknown> = {}) => ({
  kind: "user",
  body: { userName, ...more },
});
const verbs = ({ calls }: FakeTarget) => calls.map(({ verb, name }) => `${verb} ${name}`);
const textOf = (outcome: RowOutcome) => outcome.did === "refused" ? outcome.detail : outcome.did;

const ROWS = [
  user("anna", { groups: [] }),
  user("BOB", { title: "Dr" }),
  user("x/.."),
  user("eve", { active: "perhaps" }),
  user("anna"),
];

Deno.test("writeBulk() writes each row by an operation of a target with several backends", async () => {
  const target = createFakeTarget();
  target.put(userContent("Bob"));
  const { write } = openWorld();
  assertEquals((await write(target, ROWS)).map(textOf), [
    "created",
    "A resource of that name exists already.",
    "userName cannot be a name: a name must not be ., .. or .search, or have . or .. beside a slash.",
    "active must be true or false.",
    "A resource of that name exists already.",
  ]);
  assertEquals(verbs(target), ["create anna"]);
  assertEquals(target.calls[0]?.options?.actor, ACTOR);
});

Deno.test("writeBulk() reports in a dry run what it would do, and does not call the target", async () => {
  const target = createFakeTarget();
  target.put(userContent("Bob"));
  const outcomes = await openWorld().write(target, ROWS, { isDryRun: true, mayUpdate: true });
  assertEquals(outcomes.map(({ did }) => did), ["created", "updated", "refused", "refused", "created"]);
  assertEquals(target.calls, []);
});

Deno.test("writeBulk() retries a row after a conflict with another request, and lists the pending backends", async () => {
  const target = createFakeTarget();
  target.failNext(new ScimRefusal("changed"));
  const { write, clock } = openWorld();
  const writing = write(target, [user("anna")]);
  await eventually("the row waits for its retry", () => clock.timers() > 0);
  clock.advance(200);
  assertEquals(await writing, [{ did: "created", owes: ["directory"] }]);
  assertEquals(verbs(target), ["create anna", "create anna"]);
});

Deno.test("writeBulk() keeps attributes that a table lacks, and returns the groups that are still missing", async () => {
  const target = createFakeTarget();
  const stored = target.put({
    kind: "user",
    name: "Bob",
    active: false,
    attributes: { name: { familyName: "B", givenName: "C" }, title: "Dr" },
  });
  const present = { state: "present", sinceMs: 0 } as const;
  const backends = { local: present, directory: present };
  const read: Target["directory"]["read"] = () => Promise.resolve({ ...stored, groups: ["Staff"], backends });
  const joined = { ...target, directory: { ...target.directory, read } };
  const options = { mayUpdate: true, covers: new Set(["userName", "name", "name.familyName"]) };
  const row = (familyName: string, groups: readonly string[]) => ({
    kind: "user",
    body: { userName: "bob", name: { familyName } },
    groups,
  });
  const { write } = openWorld();
  assertEquals(await write(joined, [row("X", ["staff", "vpn"])], options), [
    { did: "updated", joins: ["vpn"], owes: ["directory"] },
  ]);
  assertEquals(await write(joined, [row("B", [])], options), [{ did: "unchanged" }]);
  assertEquals(verbs(target), ["replace Bob"]);
});

/** Values that are not a list of rows. */
const NO_ROWS: readonly (readonly [what: string, rows: unknown])[] = [
  ["nothing", undefined],
  ["a text", "rows"],
  ["an object", {}],
  ["a list with null", [null]],
  ["a list with a text", ["anna"]],
  ["another kind", [{ kind: "admin", body: {} }]],
  ["a body that is a list", [{ kind: "user", body: [] }]],
  ["the name of a group with a step upwards", [{ kind: "user", body: {}, groups: ["a/.."] }]],
  ["members of a group without a name", [{ kind: "members", group: "", add: [] }]],
  ["a member that is a number", [{ kind: "members", group: "staff", add: [7] }]],
  ["more than 1,000 rows", Array.from({ length: 1001 }, () => user("anna"))],
];
for (const [what, rows] of NO_ROWS) {
  Deno.test(`readRows() returns null for ${what}`, () => assertEquals(openWorld().bulk.readRows(rows), null));
}
