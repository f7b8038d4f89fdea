// A backup of a store that changes meanwhile is the store at one moment.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { answerBackups, BACKUP_PATH, CommitObserver } from "../../../platform/backup/server_backup.ts";
import { readBackup } from "../../../platform/backup/backup_format.ts";
import { BackupFault, type BackupRecord, readRecords } from "../../../platform/backup/records.ts";
import { createLog } from "../../../platform/log.ts";
import { systemClock } from "../../../platform/runtime.ts";

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });
const NOT_FOUND = () => Promise.resolve(new Response(null, { status: 404 }));

function answerOf(kv: Deno.Kv, { clock = systemClock } = {}) {
  const commits = new CommitObserver(kv, Date.now);
  const settings = { auditRetentionMs: 1, conversationTtlMs: 1 };
  return answerBackups({ kv, commits, clock, settings, version: "0.1.0", log }, NOT_FOUND);
}

const ask = (answer: ReturnType<typeof answerOf>) => answer(new Request(`http://localhost${BACKUP_PATH}`));

/** Applies the records in order. */
async function contentOf(response: Response): Promise<Map<string, unknown>> {
  const content = new Map<string, unknown>();
  for await (const part of readBackup(response.body ?? [] as never)) {
    if (part.kind !== "records") continue;
    for (const record of readRecords(part.octets)) {
      const key = JSON.stringify(record.key);
      if (record.kind === "set") content.set(key, record.value);
      else content.delete(key);
    }
  }
  return content;
}

Deno.test("answerBackups() streams the store at one moment while every commit changes distant keys together", async () => {
  using kv = await Deno.openKv(":memory:");
  const answer = answerOf(kv);
  for (let at = 0; at < 3000; at++) await kv.set(["middle", at], at);
  let isDone = false;
  let step = 0;
  const write = async () => {
    while (!isDone) {
      step++;
      // The first and the last key of the store always have the same value, and "b" exists if and only if "y" does.
      const operation = kv.atomic().set(["a"], { step }).set(["z"], { step });
      if (step % 2 === 0) operation.set(["b"], step).set(["y"], step);
      else operation.delete(["b"]).delete(["y"]);
      await operation.sum(["sum"], 1n).commit();
    }
  };
  await kv.atomic().set(["a"], { step }).set(["z"], { step }).commit();
  const writing = write();
  const contents: Map<string, unknown>[] = [];
  for (let round = 0; round < 5; round++) contents.push(await contentOf(await ask(answer)));
  isDone = true;
  await writing;
  assert(step > 50, `only ${step} commits ran meanwhile`);
  for (const content of contents) {
    assertEquals(content.get('["a"]'), content.get('["z"]'));
    assertEquals(content.get('["b"]'), content.get('["y"]'));
    // A sum is read after its commit, so it can include later ones.
    assert(sumOf(content) >= BigInt((content.get('["a"]') as { step: number }).step));
    assertEquals([...content.keys()].filter((key) => key.startsWith('["middle"')).length, 3000);
  }
});

function sumOf(content: ReadonlyMap<string, unknown>): bigint {
  const sum = content.get('["sum"]');
  return sum instanceof Deno.KvU64 ? sum.value : -1n;
}

Deno.test("CommitObserver.capture() waits for the commits in progress, and its end for the last ones", async () => {
  using kv = await Deno.openKv(":memory:");
  const commits = new CommitObserver(kv, Date.now);
  const before = kv.atomic().set(["before"], 1).commit();
  const capture = await commits.capture();
  assertEquals((await kv.get(["before"])).value, 1);
  const during = kv.atomic().set(["during"], 2, { expireIn: 60_000 }).commit();
  const ending = capture.end();
  const after = kv.atomic().set(["after"], 3).commit();
  await ending;
  const changes = await capture.take();
  assertEquals(changes.map(({ key }) => key), [["during"]]);
  const [change] = changes;
  assert(change?.kind === "set" && Math.abs((change.expiresAtMs ?? 0) - Date.now() - 60_000) < 30_000);
  await Promise.all([before, during, after]);
});

Deno.test("CommitObserver captures no commit whose check failed, and values as they were", async () => {
  using kv = await Deno.openKv(":memory:");
  const capture = await new CommitObserver(kv, Date.now).capture();
  await kv.atomic().check({ key: ["x"], versionstamp: "00000000000000010000" }).set(["x"], 1).commit();
  const value = { list: [1] };
  const committing = kv.atomic().set(["y"], value).commit();
  value.list.push(2);
  await committing;
  const expected: BackupRecord[] = [{ kind: "set", key: ["y"], value: { list: [1] }, expiresAtMs: null }];
  assertEquals(await capture.take(), expected);
  assertEquals(await capture.take(), []);
});

Deno.test("CommitObserver bounds the changes that wait for a slow receiver", async () => {
  using kv = await Deno.openKv(":memory:");
  const capture = await new CommitObserver(kv, Date.now, { maxWaitingOctets: 100 }).capture();
  for (let at = 0; at < 12; at++) await kv.atomic().set(["x", at], at).commit();
  await assertRejects(() => capture.take(), BackupFault, "faster than the backup");
});

Deno.test("CommitObserver ends a capture that could miss an operation", async () => {
  using kv = await Deno.openKv(":memory:");
  const commits = new CommitObserver(kv, Date.now);
  const early = kv.atomic().set(["x"], 1);
  const capture = await commits.capture();
  await early.commit();
  await assertRejects(() => capture.take(), BackupFault, "began before the backup");
});

Deno.test("answerBackups() ends a backup whose reader stopped reading", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["k"], 1);
  const timers: (() => void)[] = [];
  const clock = {
    ...systemClock,
    after: (_delayMs: number, task: () => void) => (timers.push(task), () => undefined),
  };
  const answer = answerOf(kv, { clock });
  const stopped = await ask(answer);
  assertEquals((await ask(answer)).status, 409);
  timers.at(-1)?.();
  await assertRejects(() => stopped.arrayBuffer());
  assertEquals((await contentOf(await ask(answer))).size, 1);
});

Deno.test("answerBackups() makes one backup at a time, and the next one after a reader that gave up", async () => {
  using kv = await Deno.openKv(":memory:");
  for (let at = 0; at < 2000; at++) await kv.set(["k", at], "x".repeat(1000));
  const answer = answerOf(kv);
  const first = await ask(answer);
  assertEquals((await ask(answer)).status, 409);
  await first.body?.cancel();
  assertEquals((await contentOf(await ask(answer))).size, 2000);
  assertEquals((await answer(new Request("http://localhost/other"))).status, 404);
});
