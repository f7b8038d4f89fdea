// Replays the sign-ins of the last 24 hours: which ones a draft would decide differently than the stored policies.

import { DAY_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { PolicyEvaluator } from "../../../radius/policy/evaluator.ts";
import type { PolicyDecision, PolicyPreview } from "../../../radius/policy/policy_preview.ts";
import { decodeLoginRecord, historyKey, historyKeyAt } from "../../../radius/conversation/login_record.ts";
import { createPauses } from "./pauses.ts";
import { MAX_CHANGES_SHOWN, type ReplayAnswer, type ReplayChange } from "./policy_types.ts";

export interface ReplayDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs" | "after">;
  readonly preview: PolicyPreview;
}

const MAX_LOGINS = 20_000;
const MAX_MS = 5000;
/** Ends that repeat another sign-in, and say nothing about a decision. */
const NOT_COUNTED: ReadonlySet<string> = new Set(["superseded", "cancelled"]);

/** Evaluates sign-ins, newest first, with the groups and factors that users have now. */
export async function replayDay(deps: ReplayDeps, draft: PolicyEvaluator): Promise<ReplayAnswer> {
  const { store, clock, preview } = deps;
  const startedMs = clock.nowMs();
  const fromMs = startedMs - DAY_MS;
  const range = { start: historyKey(historyKeyAt(fromMs)), end: historyKey(historyKeyAt(startedMs + 1)) };
  const changes: ReplayChange[] = [];
  const pause = createPauses(clock);
  let evaluated = 0;
  let changed = 0;
  let read = 0;
  let oldestMs = startedMs;
  for await (const { key, value } of store.range<unknown>(range, { reverse: true })) {
    if (read >= MAX_LOGINS || clock.nowMs() - startedMs > MAX_MS) {
      return { fromMs, evaluated, cutAtMs: oldestMs, changed, changes };
    }
    read++;
    const login = decodeLoginRecord(value);
    if (login === null || NOT_COUNTED.has(login.outcome)) continue;
    const { user, client, place, startedMs: atMs, outcome } = login;
    oldestMs = atMs;
    evaluated++;
    await pause();
    const [before, after] = await preview.decide([preview.stored, draft], {
      ...{ user, client, atMs },
      ...{ address: place, isStripped: true },
    });
    if (before === undefined || after === undefined || isSameEffect(before, after)) continue;
    changed++;
    if (changes.length >= MAX_CHANGES_SHOWN) continue;
    changes.push({ id: String(key[1]), user, client, place, atMs, outcome, before, after });
  }
  return { fromMs, evaluated, cutAtMs: null, changed, changes };
}

/** Another name of a policy alone changes nothing for the user. */
function isSameEffect({ effect: a }: PolicyDecision, { effect: b }: PolicyDecision): boolean {
  return a.kind === b.kind && a.required === b.required && a.factors.join() === b.factors.join() &&
    JSON.stringify(a.attributes) === JSON.stringify(b.attributes);
}
