// Which steps are slower than usual: how long logins stood at each step lately, against how long those stand that are there now.

import type { ConversationView } from "../../../radius/ports.ts";
import { placeName } from "../words.ts";

/** Fewer passes say nothing about what is usual. */
const FEWEST_PASSES = 20;
const SHARE = 0.95;

/**
 * The steps where more than half of those who stand there have stood longer than 95 of 100 did before them.
 *
 * @param nowMs the server's time.
 */
export function slowSteps(views: Iterable<ConversationView>, nowMs: number): ReadonlySet<string> {
  const passed = new Map<string, number[]>();
  const standing = new Map<string, number[]>();
  for (const { moments, outcome, startedMs } of views) {
    let since = startedMs;
    let at = "start";
    for (const { atMs, step } of moments) {
      put(passed, at, atMs - since);
      at = placeName(step);
      since = atMs;
    }
    if (outcome === null) put(standing, at, nowMs - since);
  }
  const slow = new Set<string>();
  for (const [step, ages] of standing) {
    const usual = percentile(passed.get(step) ?? []);
    if (usual !== null && ages.filter((age) => age > usual).length * 2 > ages.length) slow.add(step);
  }
  return slow;
}

function put(lists: Map<string, number[]>, name: string, value: number): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}

function percentile(times: number[]): number | null {
  if (times.length < FEWEST_PASSES) return null;
  times.sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * SHARE))] ?? null;
}
