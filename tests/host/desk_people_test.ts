// The desk's operations on targets and their people: rows of an import, work that takes long, what is owed.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { answerText } from "../../commands/desk_text.ts";
import { ScimRefusal } from "../../scim/facts/refusals.ts";
import type { OwedWrite, RefreshReport, Target } from "../../scim/ports.ts";
import { createFakeTarget, type FakeTarget, REPORT } from "../fakes/scim_target.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { type DeskStage, done, openDeskStage, refusal, refused } from "./desk_stage.ts";

/** Waits until as many timers are set: the desk's one for each job under way, and those of the work itself. */
const untilTimers = ({ clock }: DeskStage, count: number) =>
  eventually(`${count} timers`, () => clock.timers() === count);

/** The answer to a request during which the clock goes on by `byMs`, once so many timers are set. */
async function later<T>(
  stage: DeskStage,
  { byMs, asked, timers = 1 }: { byMs: number; asked: Promise<T>; timers?: number },
): Promise<T> {
  await untilTimers(stage, timers);
  stage.clock.advance(byMs);
  return await asked;
}

const user = (userName: string, more: Record<string, unknown> = {}) => ({
  kind: "user",
  body: { userName, ...more },
});
const write = (rows: unknown, more: Record<string, unknown> = {}) => ({
  op: "people.write",
  target: "default",
  rows,
  ...more,
});
const verbs = ({ calls }: FakeTarget) => calls.map(({ verb, name }) => `${verb} ${name}`);

Deno.test("desk people.write writes each row by an operation of a target with several backends", async () => {
  const target = createFakeTarget();
  target.put({
    kind: "user",
    name: "Bob",
    active: true,
    attributes: { name: { familyName: "B", givenName: "" } },
  });
  await using stage = await openDeskStage("", { target });
  const rows = [
    user("anna", { groups: [] }),
    user("BOB", { title: "Dr" }),
    user("x/y"),
    user("eve", { active: "perhaps" }),
    user("anna"),
  ];
  assertEquals(
    (await done(stage, write(rows, { isDryRun: true, mayUpdate: true }))).outcomes?.map(({ did }) => did),
    [
      "created",
      "updated",
      "refused",
      "refused",
      "created",
    ],
  );
  assertEquals(target.calls, []);
  const { outcomes } = await done(stage, write(rows));
  assertEquals(outcomes?.map((one) => one.did === "refused" ? one.detail : one.did), [
    "created",
    "A resource of that name exists already.",
    "userName cannot be a name: a name holds no slash.",
    "active must be true or false.",
    "A resource of that name exists already.",
  ]);
  assertEquals(verbs(target), ["create anna"]);
  assertEquals(target.calls[0]?.options?.actor, { name: "command", source: "" });
});

Deno.test("desk people.write retries a row after a conflict with another request, and lists the pending backends", async () => {
  const target = createFakeTarget();
  await using stage = await openDeskStage("", { target });
  target.failNext(new ScimRefusal("changed"));
  const { outcomes } = await later(stage, {
    byMs: 200,
    asked: done(stage, write([user("anna")])),
    timers: 2,
  });
  assertEquals([outcomes, verbs(target)], [[{ did: "created", owes: ["directory"] }], [
    "create anna",
    "create anna",
  ]]);
});

Deno.test("desk people.write leaves what a table lacks as it is, and gives the groups that are still missing", async () => {
  const target = createFakeTarget();
  const [stored, states] = [
    target.put({
      kind: "user",
      name: "Bob",
      active: false,
      attributes: { name: { familyName: "B", givenName: "C" }, title: "Dr" },
    }),
    { state: "present", sinceMs: 0 } as const,
  ];
  const read: Target["directory"]["read"] = () =>
    Promise.resolve({ ...stored, groups: ["Staff"], backends: { local: states, directory: states } });
  await using stage = await openDeskStage("", {
    target: { ...target, directory: { ...target.directory, read } },
  });
  const rows = [{
    kind: "user",
    body: { userName: "bob", name: { familyName: "X" } },
    groups: ["staff", "vpn"],
  }];
  const covers = ["userName", "name", "name.familyName"];
  const { outcomes } = await done(stage, write(rows, { mayUpdate: true, covers }));
  assertEquals(outcomes, [{ did: "updated", joins: ["vpn"], owes: ["directory"] }]);
  const same = [{ kind: "user", body: { userName: "bob", name: { familyName: "B" } }, groups: [] }];
  assertEquals((await done(stage, write(same, { mayUpdate: true, covers }))).outcomes, [{
    did: "unchanged",
  }]);
  assertEquals(verbs(target), ["replace Bob"]);
});

/** What is no request of an import. */
const NO_ROWS = [
  undefined,
  "rows",
  {},
  [null],
  ["anna"],
  [{ kind: "admin", body: {} }],
  [{ kind: "user", body: [] }],
  [{ kind: "user", body: {}, groups: ["a/b"] }],
  [{ kind: "members", group: "", add: [] }],
  [{ kind: "members", group: "staff", add: [7] }],
  Array.from({ length: 1001 }, () => user("anna")),
];
Deno.test("desk people.write refuses what are no rows, and asks the target nothing", async () => {
  const target = createFakeTarget();
  await using stage = await openDeskStage("", { target });
  for (const rows of NO_ROWS) assertEquals(await refusal(stage, write(rows)), "bad_input");
  for (const more of [{ mayUpdate: "yes" }, { backends: "a,b" }, { covers: [1] }, { isDryRun: 1 }]) {
    assertEquals(await refusal(stage, write([user("anna")], more)), "bad_input");
  }
  assertEquals(await refusal(stage, write([user("anna")], { backends: ["nowhere"] })), "target_refused");
  assertEquals(target.calls, []);
});

Deno.test("desk target.refresh that takes long is waited for with job.wait, and its answer is given once", async () => {
  const target = createFakeTarget();
  const report = Promise.withResolvers<RefreshReport>();
  target.refreshes(report.promise);
  await using stage = await openDeskStage("", { target });
  const first = await later(stage, {
    byMs: 2500,
    asked: done(stage, { op: "target.refresh", target: "default" }),
  });
  const wait = { op: "job.wait", job: first.job?.id ?? "none" };
  const second = await later(stage, { byMs: 2500, asked: done(stage, wait) });
  assertEquals(second.job?.id, first.job?.id);
  report.resolve({ ...REPORT, created: 3 });
  assertStringIncludes(
    (await done(stage, wait)).did,
    'Target "default" is up to date with its backends: 3 created',
  );
  assertEquals(await refusal(stage, wait), "unknown_job");
});

Deno.test("desk target.refresh says which backend could not be read", async () => {
  const target = createFakeTarget();
  target.refreshes(
    Promise.resolve({ ...REPORT, updated: 2, faults: [{ backend: "directory", detail: "It is away." }] }),
  );
  await using stage = await openDeskStage("", { target });
  const { reason, message } = await refused(stage, { op: "target.refresh", target: "default" });
  assertEquals(reason, "backend");
  assertStringIncludes(message, "0 created, 2 updated");
  assertStringIncludes(message, "  directory: It is away.");
});

Deno.test("desk goes on with other work while a refresh takes long", async () => {
  const target = createFakeTarget();
  target.refreshes(new Promise(() => {}));
  await using stage = await openDeskStage("", { target });
  const refreshing = done(stage, { op: "target.refresh", target: "default" });
  assertStringIncludes(
    (await done(stage, { op: "pair.sms", user: "ann", number: "+14155550123" })).did,
    "ann",
  );
  assertStringIncludes(
    (await done(stage, { op: "target.about", target: "default" })).did,
    "0 users and 0 groups",
  );
  await later(stage, { byMs: 2500, asked: refreshing });
});

Deno.test("desk has at most 16 jobs at a time", async () => {
  const target = createFakeTarget();
  target.refreshes(new Promise(() => {}));
  await using stage = await openDeskStage("", { target });
  const asked = Array.from(
    { length: 17 },
    () => stage.desk.handle({ op: "target.refresh", target: "default" }),
  );
  await untilTimers(stage, 16);
  stage.clock.advance(2500);
  const answers = await Promise.all(asked);
  assertEquals(answers.filter(({ ok }) => ok).length, 16);
  assertEquals(answers.filter((one) => !one.ok && one.reason === "busy").length, 1);
});

const OWED: readonly OwedWrite[] = [
  {
    id: "1",
    backend: "directory",
    kind: "user",
    name: "anna",
    operation: "put",
    attempts: 3,
    sinceMs: 0,
    nextMs: 60_000,
    why: "It is\naway",
  },
  {
    id: "2",
    backend: "directory",
    kind: "group",
    name: "staff",
    operation: "remove",
    attempts: 9,
    sinceMs: 0,
    nextMs: null,
    why: null,
  },
];
Deno.test("desk target.owed lists what is owed, dead letters by name, and target.retry tries those again", async () => {
  const retried: unknown[] = [];
  const target: Target = {
    ...createFakeTarget(),
    owed: (limit) => OWED.slice(0, limit),
    retryDeadLetters(options) {
      retried.push(options);
      return Promise.resolve(1);
    },
  };
  await using stage = await openDeskStage("", { target });
  const text = answerText(await done(stage, { op: "target.owed", target: "default" }));
  for (
    const part of [
      'Target "default" owes its backends 2 writes, 1 dead letter among them.',
      "directory  put user      anna   1970-01-01 00:00 UTC  3         1970-01-01 00:01 UTC  It is\\u000aaway",
      "remove group  staff  1970-01-01 00:00 UTC  9         dead letter",
      "Note: Dead letters are tried again with --retry.",
    ]
  ) assertStringIncludes(text, part);
  assertEquals(
    (await done(stage, { op: "target.retry", target: "default" })).did,
    "1 dead letter tried again.",
  );
  await done(stage, { op: "target.retry", target: "default", backend: "directory" });
  assertEquals(retried, [{}, { backend: "directory" }]);
  assertEquals((await stage.audits()).map(({ actor, action, count }) => ({ actor, action, count })), [
    { actor: "command", action: "outbox.retried", count: 1 },
    { actor: "command", action: "outbox.retried", count: 1 },
  ]);
});

Deno.test("desk knows no target, listing or job of another name", async () => {
  await using stage = await openDeskStage();
  for (const op of ["target.about", "target.refresh", "target.owed", "target.retry"]) {
    assertEquals(await refusal(stage, { op, target: "corp" }), "unknown_target");
  }
  assertEquals(await refusal(stage, { op: "people.list", target: "corp", kind: "user" }), "unknown_target");
  assertEquals(await refusal(stage, { op: "people.list", target: "default", kind: "admin" }), "bad_input");
  assertEquals(await refusal(stage, { op: "people.next", listing: "x" }), "unknown_job");
  assertEquals(await refusal(stage, { op: "job.wait", job: "x" }), "unknown_job");
});
