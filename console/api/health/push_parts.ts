// Push messages on the Health page: what they need, and the last result of each push service.

import { isLoopback } from "../../../platform/addresses.ts";
import type { PushStatus } from "../../../upstream/embedded/push/push_notifications.ts";
import type { HealthPart, PushNote } from "../targets/target_types.ts";

type PushHost = PushStatus["hosts"][number];

const PLAIN = { figure: null, lastGoodMs: null, detail: "", testable: true } as const;
/** Without an address that phones can use, or while push is off, no phone receives anything. */
const STATES: Partial<Record<PushNote, HealthPart["state"]>> = {
  no_key: "bad",
  needs_https: "warning",
  loopback: "off",
  off: "off",
  unused: "unknown",
};
/** The push service works, and asks for patience. */
const PASSING: ReadonlySet<string> = new Set(["rate_limited", "overloaded"]);

export function pushParts(status: PushStatus, publicUrl: string): HealthPart[] {
  const note = requirementNote(status, publicUrl);
  const state = note === null ? "ok" : STATES[note] ?? "ok";
  const own: HealthPart = {
    ...PLAIN,
    ...{ id: "push", kind: "push", name: publicUrl, state, figure: status.subscribed },
    lastGoodMs: lastGood(status),
    ...(note === null ? {} : { push: note }),
    testable: status.isEnabled && status.hasKey,
  };
  return [own, ...status.isEnabled ? status.hosts.map(hostPart) : []];
}

/** What keeps phones from receiving messages; `null`: nothing. */
function requirementNote({ isEnabled, hasKey, subscribed }: PushStatus, publicUrl: string): PushNote | null {
  if (!isEnabled) return "off";
  if (!hasKey) return "no_key";
  const url = URL.parse(publicUrl);
  // Browsers offer push only to a secure context: https, or a name of their own host.
  if (isLoopback(url?.hostname ?? "")) return "loopback";
  if (url?.protocol !== "https:") return "needs_https";
  return subscribed === 0 ? "unused" : null;
}

function lastGood({ hosts }: PushStatus): number | null {
  const times = hosts.flatMap(({ lastGoodMs }) => lastGoodMs ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

function hostPart({ host, lastGoodMs, problem }: PushHost): HealthPart {
  const id = `push:${host}`;
  const common = { ...PLAIN, id, kind: "push_host", name: host, lastGoodMs } as const;
  if (problem === null) return { ...common, state: lastGoodMs === null ? "unknown" : "ok" };
  const state = PASSING.has(problem.code) ? "warning" : "bad";
  const code = problem.code === "gone" || problem.code === "paused" ? "failed" : problem.code;
  return { ...common, state, push: code };
}
