// `deno task outbox` and `deno task refresh`: what they ask the API for, and what they say.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { AdminRefusal } from "../../cli/admin_connection.ts";
import { outbox, type OutboxPlan, planOutbox } from "../../cli/outbox.ts";
import { planRefresh, refreshTarget } from "../../cli/refresh.ts";
import type { OwedWrite, RefreshReport, Target } from "../../scim/ports.ts";
import { operatorApi } from "../fakes/composition.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { createFakeTarget, REPORT } from "../fakes/scim_target.ts";
import { openOperator } from "./operator.ts";

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

/** A target that owes its backend `owed`, and the dead letters that were tried again. */
function owingTarget(owed: readonly OwedWrite[]): { target: Target; retried: unknown[] } {
  const retried: unknown[] = [];
  const target = {
    ...createFakeTarget(),
    owed: (limit: number) => owed.slice(0, limit),
    retryDeadLetters(options: { backend?: string }) {
      retried.push(options);
      return Promise.resolve(
        owed.filter(({ nextMs, backend }) => nextMs === null && backend === options.backend).length,
      );
    },
  };
  return { target, retried };
}

const LIST: OutboxPlan = { target: "default", retry: "none" };

/** What a target owes, and lines of the list. */
const LISTS: readonly (readonly [what: string, owed: readonly OwedWrite[], parts: readonly string[]])[] = [
  ["nothing", [], ['Target "default" owes its backends nothing.\n']],
  ["a write", OWED.slice(0, 1), ["1 write, no dead letters among them."]],
  ["writes and a dead letter", OWED, [
    'Target "default" owes its backends 2 writes, 1 dead letter among them.',
    "directory  put user      anna   1970-01-01 00:00 UTC  3         1970-01-01 00:01 UTC  It is\\u000aaway",
    "remove group  staff  1970-01-01 00:00 UTC  9         dead letter",
    "Note: Dead letters are tried again with --retry.",
  ]],
  ["more than it lists", Array.from({ length: 201 }, (_, at) => ({ ...OWED[0] as OwedWrite, id: `${at}` })), [
    "200 writes or more; the oldest are listed, no dead letters among them.",
  ]],
];
for (const [what, owed, parts] of LISTS) {
  Deno.test(`outbox() lists what a target owes: ${what}`, async () => {
    await using site = await startConnectConsole({ target: owingTarget(owed).target });
    const { out, err, exitCode } = await outbox(operatorApi(site.app), LIST);
    assertEquals([err, exitCode], ["", 0]);
    for (const part of parts) assertStringIncludes(out, part);
  });
}

/** What is tried again, the backends that are asked, and what the command says. */
const RETRIES: readonly (readonly [retry: OutboxPlan["retry"], backends: readonly string[], out: string])[] =
  [
    ["all", ["local", "directory"], "1 dead letter tried again.\n"],
    [{ backend: "directory" }, ["directory"], "1 dead letter tried again.\n"],
    [{ backend: "local" }, ["local"], "There are no dead letters.\n"],
  ];
for (const [retry, backends, out] of RETRIES) {
  Deno.test(`outbox() tries dead letters again, with a record for each backend: ${JSON.stringify(retry)}`, async () => {
    const { target, retried } = owingTarget(OWED);
    await using site = await startConnectConsole({ target });
    const plan = { target: "default", retry };
    assertEquals(await outbox(operatorApi(site.app), plan), { out, err: "", exitCode: 0 });
    assertEquals(retried, backends.map((backend) => ({ backend })));
    const records = (await site.audits()).filter(({ action }) => action === "outbox.retried");
    assertEquals(
      records.map(({ actor, object }) => [actor, object]),
      backends.map(() => ["command", "target:default"]),
    );
  });
}

Deno.test("outbox() names the backends of a target when it has none of that name", async () => {
  const { target, retried } = owingTarget(OWED);
  await using site = await startConnectConsole({ target });
  const fault = await outbox(operatorApi(site.app), { target: "default", retry: { backend: "crm" } })
    .catch((thrown: unknown) => thrown);
  const message = 'Target "default" has no backend of that name. It has "local", "directory".';
  assertEquals([fault instanceof AdminRefusal, (fault as Error).message], [true, message]);
  assertEquals(retried, []);
});

/** Refreshes the target of a console, and gives the outcome, the lines of progress and how often it waited. */
async function refreshed(
  site: ConnectConsole,
  { onWait = () => undefined }: { onWait?: (round: number) => void } = {},
) {
  const said: string[] = [];
  let waits = 0;
  const outcome = await refreshTarget(operatorApi(site.app), {
    target: "default",
    progress: { say: (text) => void said.push(text) },
    async wait() {
      onWait(waits += 1);
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
  });
  return { outcome, said, waits };
}

Deno.test("refreshTarget() says what a refresh did", async () => {
  const target = createFakeTarget();
  target.refreshes(Promise.resolve({ ...REPORT, created: 3, vanished: 1, tookMs: 1540 }));
  await using site = await startConnectConsole({ target });
  const { outcome } = await refreshed(site);
  assertEquals(outcome, {
    out:
      'Target "default" is up to date with its backends: 3 created, 0 updated, 0 left alone, 1 vanished, 0 deleted, in 1.5 s.\n',
    err: "",
    exitCode: 0,
  });
});

Deno.test("refreshTarget() names each backend that could not be read, and ends with 1", async () => {
  const target = createFakeTarget();
  const faults = [{ backend: "directory", detail: "It is\naway." }];
  target.refreshes(Promise.resolve({ ...REPORT, updated: 2, faults }));
  await using site = await startConnectConsole({ target });
  const { outcome: { out, err, exitCode } } = await refreshed(site);
  assertEquals([out, exitCode], ["", 1]);
  assertStringIncludes(
    err,
    'Cannot bring target "default" up to date with every backend: 0 created, 2 updated',
  );
  assertStringIncludes(err, "\n  directory: It is\\u000aaway.\n");
});

Deno.test("refreshTarget() says that a refresh broke off, and ends with 1", async () => {
  const target: Target = {
    ...createFakeTarget(),
    refreshAll: () => Promise.reject(new Error("planted detail")),
  };
  await using site = await startConnectConsole({ target });
  const { outcome: { err, exitCode } } = await refreshed(site);
  assertEquals([err, exitCode], ["The refresh did not end well. The server's log says why.\n", 1]);
});

Deno.test("refreshTarget() follows a refresh that takes long, with its progress, while the API answers other requests", async () => {
  const report = Promise.withResolvers<RefreshReport>();
  const target: Target = {
    ...createFakeTarget(),
    refreshAll(_actor, options) {
      options?.onProgress?.({ backend: "directory", kind: "user", read: 1200 });
      return report.promise;
    },
  };
  await using site = await startConnectConsole({ target });
  const { outcome, said, waits } = await refreshed(site, {
    onWait: (round) => round === 3 && report.resolve(REPORT),
  });
  assertEquals([outcome.exitCode, waits >= 3], [0, true]);
  assertEquals(new Set(said), new Set(["directory: 1,200 users read"]));
});

Deno.test("planOutbox() reads a target and what is tried again", () => {
  assertEquals(planOutbox(["corp"]), { target: "corp", retry: "none" });
  assertEquals(planOutbox(["corp", "--retry"]), { target: "corp", retry: "all" });
  assertEquals(planOutbox(["corp", "--retry", "crm"]), { target: "corp", retry: { backend: "crm" } });
  assertEquals(planOutbox(["corp", "--retry=crm"]), { target: "corp", retry: { backend: "crm" } });
  for (const args of [[], ["corp", "crm"], ["corp", "a", "b", "--retry"], ["corp", "a", "--retry=b"]]) {
    assertEquals(typeof planOutbox(args), "string", args.join(" "));
  }
});

Deno.test("planRefresh() reads one target", () => {
  assertEquals(planRefresh(["corp"]), { target: "corp" });
  for (const args of [[], ["a", "b"], ["a", "--all"]]) assertEquals(typeof planRefresh(args), "string");
});

Deno.test("deno task outbox and deno task refresh work without a server, and know the targets of the settings", async () => {
  await using operator = await openOperator();
  const listed = await operator.run("outbox", "default");
  assertEquals([listed.code, listed.stdout], [0, 'Target "default" owes its backends nothing.\n']);
  const retried = await operator.run("outbox", "default", "--retry");
  assertEquals([retried.code, retried.stdout], [0, "There are no dead letters.\n"]);
  const refreshed = await operator.run("refresh", "default");
  assertEquals([refreshed.code, refreshed.stderr], [0, ""]);
  assertStringIncludes(refreshed.stdout, 'Target "default" is up to date with its backends: 0 created');
  for (const command of ["outbox", "refresh"]) {
    const unknown = await operator.run(command, "corp");
    const message = 'There is no target "corp". The settings have "default".\n';
    assertEquals([unknown.code, unknown.stdout, unknown.stderr], [1, "", message]);
  }
});
