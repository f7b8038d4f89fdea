// The counts of the Overview page. Counts of sign-ins come from the charts, and rejected sign-ins from the history.

import { Hono } from "hono";
import type { AlertService } from "../../../platform/alerts/alerts.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { AT_THE_PHONE } from "../account/account_logins.ts";
import type { ConnectedRouteDeps } from "../accounting_sessions/session_routes.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, type People, targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import type { HttpEnv } from "../hono_env.ts";
import type { NodeRouteDeps } from "../nodes/node_routes.ts";
import type { EnrolmentCounter } from "../reports/enrolment_counter.ts";
import { hasSyncProblem, isBackendFailing, targetSummary } from "../targets/target_routes.ts";
import type {
  FactorlessAnswer,
  LockedUsers,
  ManualSession,
  OverviewCounts,
  SyncProblem,
} from "./overview_types.ts";

export interface OverviewRouteDeps
  extends Pick<NodeRouteDeps, "cluster">, Pick<ConnectedRouteDeps, "vpnSessions"> {
  readonly people?: People;
  readonly connect?: Connect;
  readonly watch: Pick<GatewayMonitor, "liveSteps">;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly clock: Clock;
  readonly alerts?: Pick<AlertService, "listOpen"> | undefined;
}

const MAX_STEPS = 20_000;
/** A request waits this long for a count that just began. */
const COUNT_WAIT_MS = 400;
/** Locked names that one request reads. */
const MAX_LOCKED_READ = 2000;
const READ_AT_ONCE = 100;
/** Names and problems that the page lists. */
const MAX_LISTED = 5;
const MAX_DETAIL_CHARACTERS = 300;

/** @param counter `null` where the console runs without a directory */
export function createOverviewRoutes(deps: OverviewRouteDeps, counter: EnrolmentCounter | null) {
  const { people, clock, cluster } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), async (c) =>
      c.json(
        {
          nowMs: clock.nowMs(),
          isShared: cluster?.isShared === true,
          pending: countPending(deps),
          locked: people === undefined ? null : await lockedUsers(people),
          sync: syncProblems(deps.connect),
          criticalAlerts: await countCritical(deps),
          manualSessions: (deps.vpnSessions?.manualSessions(MAX_LISTED) ?? []).map(toManualSession),
        } satisfies OverviewCounts,
      ))
    .get("/factorless", may("viewer", { countsAsUse: false }), async (c) => {
      if (counter === null) throw new Refusal("no_directory");
      const { report, progress } = await counter.read({ waitMs: COUNT_WAIT_MS });
      return c.json(
        {
          nowMs: clock.nowMs(),
          count: report?.without ?? null,
          countedMs: report?.startedMs ?? null,
          isCut: report !== null && report.counted < report.total,
          progress,
        } satisfies FactorlessAnswer,
      );
    });
}

function toManualSession({ id, user, client, nas, sessionId, framedAddress }: ManualSession): ManualSession {
  return { id, user, client, nas, sessionId, framedAddress };
}

async function countCritical({ alerts }: Pick<OverviewRouteDeps, "alerts">): Promise<number> {
  const open = await alerts?.listOpen() ?? [];
  return open.filter(({ severity }) => severity === "critical").length;
}

/** An external service does not say how many approvals are pending. */
export function countPending(
  { secondFactorAdmin, watch }: Pick<OverviewRouteDeps, "secondFactorAdmin" | "watch">,
): OverviewCounts["pending"] {
  const admin = secondFactorAdmin();
  if (admin !== null) return { count: admin.pendingCount(), isEmbedded: true };
  let count = 0;
  for (const { step } of watch.liveSteps(MAX_STEPS)) if (AT_THE_PHONE.has(step)) count += 1;
  return { count, isEmbedded: false };
}

/** The users that the list shows with the filter "Locked". Locked names outside the directory are not users. */
async function lockedUsers(people: People): Promise<LockedUsers> {
  const { directory } = targetOf(people, undefined);
  const all = people.limits.locked().sort();
  const names: string[] = [];
  let count = 0;
  const read = all.slice(0, MAX_LOCKED_READ);
  for (let at = 0; at < read.length; at += READ_AT_ONCE) {
    const part = read.slice(at, at + READ_AT_ONCE);
    for (const stored of await Promise.all(part.map((name) => directory.read("user", name)))) {
      if (stored === null) continue;
      count += 1;
      if (names.length < MAX_LISTED) names.push(stored.content.name);
    }
  }
  return { count, isCut: all.length > read.length, names };
}

function syncProblems(connect: Connect | undefined): OverviewCounts["sync"] {
  if (connect === undefined) return null;
  const items = connect.targets.names.flatMap((name): SyncProblem[] => {
    const target = connect.targets.get(name);
    if (target === null) return [];
    return targetSummary(connect, target).backends.filter(hasSyncProblem).map((row) => ({
      target: name,
      backend: row.name,
      failedWrites: row.dead,
      detail: isBackendFailing(row) ? (row.lastFault?.detail ?? "").slice(0, MAX_DETAIL_CHARACTERS) : "",
    }));
  });
  return { count: items.length, items: items.slice(0, MAX_LISTED) };
}
