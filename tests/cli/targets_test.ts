// `deno task outbox` and `deno task refresh`: requests to the API, and printed results.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { AdminRefusal } from "../../cli/admin_connection.ts";
import { outbox, type OutboxPlan, planOutbox } from "../../cli/outbox.ts";
import { planRefresh, runRefresh } from "../../cli/refresh.ts";
import type { Target } from "../../scim/ports.ts";
import type { PendingWrite, RefreshReport } from "../../scim/backend_port.ts";
import { operatorApi } from "../fakes/composition.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { createFakeTarget, REPORT } from "../fakes/scim_target.ts";
import { openOperator } from "./operator.ts";

const PENDING: readonly PendingWrite[] = [
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

/** A target with pending writes, and the requests to retry failed writes. */
function pendingTarget(owed: readonly PendingWrite[]): { target: Target; retried: unknown[] } {
  const retried: unknown[] = [];
  const target = {
    ...createFakeTarget(),
    pendingWrites: (limit: number) => owed.slice(0, limit),
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

/** Pending writes of a target, and lines of the list. */
const LISTS: readonly (readonly [what: string, owed: readonly PendingWrite[], parts: readonly string[]])[] = [
  ["nothing", [], ['Target "default" has no pending writes.\n']],
  ["a write", PENDING.slice(0, 1), ["1 write in its outbox, 0 of them failed."]],
  ["writes and a failed one", PENDING, [
    'Target "default" has 2 writes in its outbox, 1 of them failed.',
    "directory  put user      anna   1970-01-01 00:00 UTC  3         1970-01-01 00:01 UTC  It is\\u000aaway",
    "remove group  staff  1970-01-01 00:00 UTC  9         failed",
    "Note: To retry failed writes, use --retry.",
  ]],
  [
    "more than it lists",
    Array.from({ length: 201 }, (_, at) => ({ ...PENDING[0] as PendingWrite, id: `${at}` })),
    [
      "200 or more writes in its outbox, 0 of them failed.",
      "Note: The list contains the oldest 200 writes.",
    ],
  ],
];
for (const [what, owed, parts] of LISTS) {
  Deno.test(`outbox() lists the writes of a target: ${what}`, async () => {
    await using site = await startConnectConsole({ target: pendingTarget(owed).target });
    const { out, err, exitCode } = await outbox(operatorApi(site.app), LIST);
    assertEquals([err, exitCode], ["", 0]);
    for (const part of parts) assertStringIncludes(out, part);
  });
}

/** The writes to retry, the backends in the requests, and the result. */
const RETRIES: readonly (readonly [retry: OutboxPlan["retry"], backends: readonly string[], out: string])[] =
  [
    ["all", ["local", "directory"], "Retrying 1 write.\n"],
    [{ backend: "directory" }, ["directory"], "Retrying 1 write.\n"],
    [{ backend: "local" }, ["local"], "There are no failed writes.\n"],
  ];
for (const [retry, backends, out] of RETRIES) {
  Deno.test(`outbox() retries failed writes, with an audit record for each backend: ${JSON.stringify(retry)}`, async () => {
    const { target, retried } = pendingTarget(PENDING);
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

Deno.test("outbox() lists the backends of a target when it has none of that name", async () => {
  const { target, retried } = pendingTarget(PENDING);
  await using site = await startConnectConsole({ target });
  const fault = await outbox(operatorApi(site.app), { target: "default", retry: { backend: "crm" } })
    .catch((thrown: unknown) => thrown);
  const message = 'Target "default" has no backend "crm". It has "local", "directory".';
  assertEquals([fault instanceof AdminRefusal, (fault as Error).message], [true, message]);
  assertEquals(retried, []);
});

/** Refreshes the target of a console, and returns the result, the lines of progress and the number of waits. */
async function refreshed(
  site: ConnectConsole,
  { onWait = () => undefined }: { onWait?: (round: number) => void } = {},
) {
  const said: string[] = [];
  let waits = 0;
  const outcome = await runRefresh(operatorApi(site.app), {
    target: "default",
    progress: { showText: (text) => void said.push(text) },
    async wait() {
      onWait(waits += 1);
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
  });
  return { outcome, said, waits };
}

Deno.test("runRefresh() prints the counts of a refresh", async () => {
  const target = createFakeTarget();
  target.refreshes(Promise.resolve({ ...REPORT, created: 3, vanished: 1, tookMs: 1540 }));
  await using site = await startConnectConsole({ target });
  const { outcome } = await refreshed(site);
  assertEquals(outcome, {
    out:
      'Target "default" is up to date with its backends: 3 created, 0 updated, 0 unchanged, 1 vanished, 0 deleted, in 1.5 s.\n',
    err: "",
    exitCode: 0,
  });
});

Deno.test("runRefresh() lists each backend that could not be read, and fails", async () => {
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

Deno.test("runRefresh() fails if the refresh fails", async () => {
  const target: Target = {
    ...createFakeTarget(),
    refreshAll: () => Promise.reject(new Error("planted detail")),
  };
  await using site = await startConnectConsole({ target });
  const { outcome: { err, exitCode } } = await refreshed(site);
  assertEquals([err, exitCode], ["The refresh failed. See the server log for details.\n", 1]);
});

Deno.test("runRefresh() shows the progress of a long refresh, while the API answers other requests", async () => {
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

Deno.test("planOutbox() reads a target and the writes to retry", () => {
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
  assertEquals([listed.code, listed.stdout], [0, 'Target "default" has no pending writes.\n']);
  const retried = await operator.run("outbox", "default", "--retry");
  assertEquals([retried.code, retried.stdout], [0, "There are no failed writes.\n"]);
  const refreshed = await operator.run("refresh", "default");
  assertEquals([refreshed.code, refreshed.stderr], [0, ""]);
  assertStringIncludes(refreshed.stdout, 'Target "default" is up to date with its backends: 0 created');
  for (const command of ["outbox", "refresh"]) {
    const unknown = await operator.run(command, "corp");
    const message = 'There is no target "corp". The settings define "default".\n';
    assertEquals([unknown.code, unknown.stdout, unknown.stderr], [1, "", message]);
  }
});
