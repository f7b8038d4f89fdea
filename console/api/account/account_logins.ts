// A user's own logins: open ones, pending approvals, and finished ones; and the report "This was not me". The user's page polls, so
// finished logins are cached, and only newer ones are read.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { StoreUnavailable } from "../../../platform/store_fault.ts";
import type {
  OwnRequest,
  PhoneView,
  SecondFactorAdmin,
} from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Log } from "../../../platform/log.ts";
import type { NotMeReport } from "../../../radius/conversation/ended_logins.ts";
import { createHistoryReader, type HistoryItem } from "../history/history.ts";
import type { FoldedRecords } from "../folded_records.ts";
import { createNoticeStore } from "../notices/notices.ts";
import type { People } from "../deps.ts";
import { Refusal } from "../errors.ts";
import type { AccountOwner, AccountSessions } from "./account_sessions.ts";
import type {
  AccountApproval,
  AccountLogin,
  AccountLogins,
  AccountOpenLogin,
  NotMeResult,
} from "./account_types.ts";
import type { AccountAuth } from "./account_auth.ts";

export interface AccountLoginsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly watch: GatewayMonitor;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly history: AccountHistory;
}

/** The login that a user reports. */
interface KnownLogin {
  readonly conversationId: string;
  readonly client: string;
  readonly place: string;
}

const MAX_OPEN = 20;
const MAX_SCANNED = 20_000;
/** The places where a login waits for a phone. */
export const AT_THE_PHONE: ReadonlySet<string> = new Set([
  "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  "pushing",
  "holding",
  "asking",
]);

/** All logins of one user. Logins before the user's record was created belong to an earlier user of the name. */
export async function listAccountLogins(
  deps: AccountLoginsDeps,
  { canonical, createdMs }: Pick<AccountOwner, "canonical" | "createdMs">,
): Promise<AccountLogins> {
  const sinceMs = createdMs ?? 0;
  return {
    nowMs: deps.clock.nowMs(),
    open: openLogins(deps, canonical),
    approvals: approvalsOf(deps, canonical),
    recent: (await deps.history.of(canonical)).filter(({ startedMs }) => startedMs >= sinceMs).map(loginOf),
  };
}

/** A login of this user by its id, in progress or ended; `null` if there is none, or if it is another user's. */
export async function findAccountLogin(
  { store, watch }: AccountLoginsDeps,
  { canonical, conversationId }: { canonical: string; conversationId: string },
): Promise<KnownLogin | null> {
  const login = watch.conversation(conversationId) ??
    await createHistoryReader({ store }).one(conversationId);
  if (login === null || canonicalName(login.user) !== canonical) return null;
  return { conversationId, client: login.client, place: login.place };
}

function openLogins({ watch }: AccountLoginsDeps, canonical: string): AccountOpenLogin[] {
  return watch.conversations(MAX_SCANNED)
    .filter(({ user, outcome }) => outcome === null && canonicalName(user) === canonical)
    .slice(0, MAX_OPEN)
    .map(({ id, startedMs, client, place, step }) => ({
      conversationId: id,
      startedMs,
      client,
      place,
      step,
      waitsForPhone: AT_THE_PHONE.has(step),
    }));
}

function approvalsOf({ secondFactorAdmin }: AccountLoginsDeps, canonical: string): AccountApproval[] {
  return (secondFactorAdmin()?.pendingApprovals() ?? [])
    .filter(({ userName }) => canonicalName(userName) === canonical)
    .slice(-MAX_OPEN)
    .map(({ requestId, client, place, createdMs, deadlineMs }) => ({
      requestId,
      client,
      place,
      createdMs,
      deadlineMs,
    }));
}

function loginOf(
  { id, startedMs, endedMs, outcome, reason, factor, client, place }: HistoryItem,
): AccountLogin {
  return {
    conversationId: id,
    startedMs,
    endedMs,
    outcome,
    reason: reason?.code ?? null,
    factor,
    client,
    place,
  };
}

export interface AccountHistory {
  /** Of a user (canonical name), newest first; at most 50, at most 90 days back. */
  of(canonical: string): Promise<readonly HistoryItem[]>;
}

interface CachedHistory {
  readonly untilMs: number;
  readonly items: readonly HistoryItem[];
}

const BACK_MS = 90 * 24 * 3600_000;
/** The history is in the order in which logins began. One that began this long ago may have ended just now. */
const OVERLAP_MS = 15 * 60_000;
const MAX_SHOWN = 50;
/** Pages of the history that one search reads; each reads a bounded number of records. */
const MAX_PAGES = 3;
const PAGE = 200;
const MAX_CACHED = 500;

export function createAccountHistory({ store, clock }: { store: Store; clock: Clock }): AccountHistory {
  const reader = createHistoryReader({ store });
  const known = new Map<string, CachedHistory>();

  const search = async (canonical: string, fromMs: number): Promise<HistoryItem[]> => {
    const filter = { outcome: "", user: canonical, client: "", target: "", fromMs, toMs: null };
    const found: HistoryItem[] = [];
    let before: string | null = null;
    for (let page = 0; page < MAX_PAGES && found.length < MAX_SHOWN; page += 1) {
      const options: { before: string | null; limit: number } = { before, limit: PAGE };
      const { items, next } = await reader.page(filter, options);
      // The filter also finds names that contain this one.
      found.push(...items.filter(({ user }) => canonicalName(user) === canonical));
      if (next === null) break;
      before = next;
    }
    return found;
  };
  const keep = (canonical: string, value: CachedHistory): void => {
    known.delete(canonical);
    known.set(canonical, value);
    for (const oldest of known.keys()) {
      if (known.size <= MAX_CACHED) return;
      known.delete(oldest);
    }
  };

  return {
    async of(canonical) {
      const nowMs = clock.nowMs();
      const before = known.get(canonical);
      const fromMs = before === undefined ? nowMs - BACK_MS : before.untilMs - OVERLAP_MS;
      const fresh = await search(canonical, fromMs);
      const ids = new Set(fresh.map(({ id }) => id));
      const older = (before?.items ?? []).filter(({ id, startedMs }) =>
        !ids.has(id) && startedMs > nowMs - BACK_MS
      );
      const items = [...fresh, ...older].slice(0, MAX_SHOWN);
      keep(canonical, { untilMs: nowMs, items });
      return items;
    },
  };
}

interface NotMeDeps {
  readonly people: Pick<People, "prepareNotMeReport">;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly sessions: Pick<AccountSessions, "prepareEndAll">;
  readonly records: FoldedRecords;
}

/** A user's report. */
interface NotMeRequest {
  readonly user: string;
  readonly source: string;
  /** The session that continues; all others of this user end. */
  readonly keepSessionId: string | null;
  /** The login in question, if known. */
  readonly about: { readonly conversationId: string; readonly client: string; readonly place: string } | null;
}

/**
 * "This was not me": locks the user for an hour, denies pending requests, ends logins, and notifies the administrators. The lock,
 * the notice and the audit record are one commit.
 */
export async function reportNotMe(deps: NotMeDeps, request: NotMeRequest): Promise<NotMeResult> {
  const { user, source, about } = request;
  const report = await recordReport(deps, request);
  const { lockedUntilMs } = report;
  // The reported logins end as reported, before the denial of their requests ends them.
  const ended = report.end();
  const denied = await denyAll(deps, canonicalName(user));
  report.done();
  deps.log.warn("a user says that a login was not theirs", {
    ...{ reason: "not_me", user, source },
    conversation: about?.conversationId ?? "",
    until: new Date(lockedUntilMs).toISOString(),
  });
  return { lockedUntilMs, ended, denied };
}

/** Lost races of one report. */
const MAX_TRIES = 20;

/** Commits the report. If another node counts a failure of the user meanwhile, the lock is computed again. */
async function recordReport(
  { people, store, sessions, records, ...deps }: NotMeDeps,
  { user, source, keepSessionId, about }: NotMeRequest,
): Promise<NotMeReport> {
  const canonical = canonicalName(user);
  const { conversationId = "", client = "", place = "" } = about ?? {};
  const login = { conversationId, client, place };
  const notices = createNoticeStore({ store, ...deps });
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const ending = await sessions.prepareEndAll(canonical, { exceptId: keepSessionId });
    const report = people.prepareNotMeReport(canonical);
    const { lockedUntilMs, sessions: connected } = report;
    const record = records.entry(`not_me ${canonical} ${source} ${conversationId}`, {
      actor: `user:${user}`,
      source,
      action: "user.not_me",
      object: `user:${user}`,
      // Where the login came from. `source` is the user who reports it.
      ...(client === "" ? {} : { client }),
      ...(place === "" ? {} : { caller: place }),
      ...(conversationId === "" ? {} : { before: `login ${conversationId}` }),
      after: `locked until ${new Date(lockedUntilMs).toISOString()}`,
    });
    const notice = notices.prepare({
      ...{ kind: "not_me", user, source, ...login },
      ...{ lockedUntilMs, sessions: connected },
    });
    const mutations = [...report.mutations, notice, record, ...ending.mutations];
    const done = await store.commit({ checks: ending.checks, mutations })
      .catch((fault: unknown) => {
        report.undo();
        throw fault;
      });
    if (done.ok) return report;
    report.undo();
    await store.reread(report.dependsOn);
  }
  throw new StoreUnavailable("Cannot lock a user: other nodes keep counting failures of the user");
}

/** Denies the requests that wait for the user's phones. The lock already applies, so a missed request cannot lead to an accept. */
async function denyAll({ secondFactorAdmin, log }: NotMeDeps, canonical: string): Promise<number> {
  const waiting =
    secondFactorAdmin()?.pendingApprovals().filter(({ userName }) => canonicalName(userName) === canonical) ??
      [];
  let denied = 0;
  for (const { requestId } of waiting) {
    const outcome = await secondFactorAdmin()?.decide(requestId, { approve: false }).catch(
      (fault: unknown) => {
        log.error("a reported request could not be denied", { fault: String(fault) });
      },
    );
    if (outcome?.ok === true) denied += 1;
  }
  return denied;
}

// "This wasn't me" about a request that a phone received: from the phone page, its notification, and the approval page.

interface RequestReportDeps extends Omit<NotMeDeps, "people" | "sessions" | "records"> {
  readonly people?: People;
  readonly accountAuth: () => AccountAuth;
}

/**
 * Reports a request as "not me".
 *
 * @param keepSessionId the account session that continues
 * @throws Refusal `no_directory`, `too_many_changes`
 */
export async function reportRequest(
  { people, accountAuth, ...deps }: RequestReportDeps,
  { userName, client, place }: OwnRequest,
  { source, keepSessionId }: { source: string; keepSessionId: string | null },
): Promise<NotMeResult> {
  if (people === undefined) throw new Refusal("no_directory");
  const { sessions, records, reports } = accountAuth();
  await reports.take(canonicalName(userName));
  return await reportNotMe({ ...deps, people, sessions, records }, {
    ...{ user: userName, source, keepSessionId },
    about: { conversationId: "", client, place },
  });
}

/** Reports a request of a phone. The request may have been answered before. @throws Refusal `unknown_request` */
export function phoneReportOf(deps: RequestReportDeps) {
  return async (view: PhoneView, requestId: string, source: string): Promise<NotMeResult> => {
    const request = deps.secondFactorAdmin()?.request(requestId) ?? null;
    const isOwn = view.pairings.some(({ pairingId, status }) =>
      pairingId === request?.pairingId && status === "enabled"
    );
    if (request === null || !isOwn) throw new Refusal("unknown_request");
    return await reportRequest(deps, request, { source, keepSessionId: null });
  };
}
