// The session table: applies accounting reports (RFC 2866) to sessions, within limits per client and in total. Lives in memory; every change
// is also a mutation of the store, from which the table is loaded at the start.

import type { Mutation, Store } from "../../store.ts";
import { SESSION_LIMITS } from "../facts/accounting.ts";
import type { AccountingReport } from "./accounting_request.ts";
import {
  type AccountingSession,
  decodeSession,
  encodeSession,
  type SessionEnd,
  sessionKey,
  type SessionView,
  staleAtMs,
  viewSession,
} from "./session.ts";

/** Where and when a report arrived. */
export interface ReportOrigin {
  /** Name of the client entry. */
  readonly client: string;
  readonly source: string;
  readonly receivedMs: number;
  /** Request Authenticator in hexadecimal. */
  readonly authenticator: string;
}

/** Sessions as the console reads them. */
export interface SessionList {
  /** Connected sessions, newest first, at most `limit`; of one client, or of all (""). */
  connected(options: { limit: number; client?: string }): ConnectedSessions;
  /** Sessions of a user, connected ones first, then newest first, at most `limit`. */
  ofUser(canonicalName: string, limit: number): SessionView[];
  /** Connected sessions of all clients. */
  readonly connectedCount: number;
}

export interface ConnectedSessions {
  readonly sessions: readonly SessionView[];
  /** All connected sessions that match, stale ones included. */
  readonly total: number;
  readonly stale: number;
}

export interface SessionTableDeps {
  readonly store: Pick<Store, "list" | "commit">;
  readonly nowMs: () => number;
  /** A new id that grows with time. */
  readonly orderedId: () => string;
  /** {@link SESSION_LIMITS} by default. */
  readonly limits?: SessionTableLimits;
}

export interface SessionTableLimits {
  readonly total: number;
  readonly perClient: number;
  readonly retentionMs: number;
}

/** The sessions of one client, each map with the session first that changed longest ago. */
interface ClientSessions {
  readonly connected: Map<string, AccountingSession>;
  readonly ended: Map<string, AccountingSession>;
}

const MAX_DELAY_MS = 24 * 3600_000;
/** Deletions in one commit while loading. */
const MAX_DELETIONS = 400;

export class SessionTable implements SessionList {
  readonly #deps: SessionTableDeps;
  readonly #limits: SessionTableLimits;
  readonly #clients = new Map<string, ClientSessions>();
  /** The newest session of a client, an Acct-Session-Id and a user. */
  readonly #byKey = new Map<string, AccountingSession>();
  /** The newest session of a client and an Acct-Session-Id, for requests without a User-Name. */
  readonly #bySessionId = new Map<string, AccountingSession>();
  readonly #byUser = new Map<string, Map<string, AccountingSession>>();
  #size = 0;
  #connectedCount = 0;
  /** Sessions that were removed to make room. */
  evictions = 0;

  constructor(deps: SessionTableDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? SESSION_LIMITS;
  }

  get connectedCount(): number {
    return this.#connectedCount;
  }

  get size(): number {
    return this.#size;
  }

  /** Reads the stored sessions. Returns how many records could not be read. */
  async load(): Promise<{ unreadable: number }> {
    const { store, nowMs } = this.#deps;
    const found: AccountingSession[] = [];
    let unreadable = 0;
    for await (const { key, value } of store.list(["accounting"])) {
      const session = decodeSession(String(key[1]), value);
      if (session === null) unreadable++;
      else if (session.updatedMs + this.#limits.retentionMs > nowMs()) found.push(session);
    }
    found.sort((a, b) => a.updatedMs - b.updatedMs);
    const mutations = found.flatMap((session) => {
      const deletions = this.#makeRoom(session.client);
      this.#put(session);
      return deletions;
    });
    for (let at = 0; at < mutations.length; at += MAX_DELETIONS) {
      await store.commit({ mutations: mutations.slice(at, at + MAX_DELETIONS) });
    }
    return { unreadable };
  }

  /** Applies a report. The report counts once its mutations are stored; applying it again changes nothing further. */
  apply(report: AccountingReport, origin: ReportOrigin): Mutation[] {
    switch (report.change) {
      case "none":
        return [];
      case "nas_restarted":
      case "nas_stopped":
        return this.#endAllOfNas(report, origin, report.change);
      case "start":
        return this.#start(report, origin);
      case "update":
        return this.#update(report, origin);
      case "stop":
        return this.#stop(report, origin);
    }
  }

  /** Removes sessions whose retention is over; the store expires their records itself. */
  sweep(): void {
    const oldestMs = this.#deps.nowMs() - this.#limits.retentionMs;
    for (const { connected, ended } of this.#clients.values()) {
      for (const sessions of [connected, ended]) {
        for (const session of sessions.values()) {
          if (session.updatedMs > oldestMs) break;
          this.#remove(session);
        }
      }
    }
  }

  connected({ limit, client = "" }: { limit: number; client?: string }): ConnectedSessions {
    const nowMs = this.#deps.nowMs();
    let total = 0;
    let stale = 0;
    let newest: AccountingSession[] = [];
    const cut = (): void => {
      newest = newest.sort(byStart).slice(0, limit);
    };
    for (const [name, { connected }] of this.#clients) {
      if (client !== "" && name !== client) continue;
      for (const session of connected.values()) {
        total++;
        if (nowMs > staleAtMs(session)) stale++;
        newest.push(session);
        // Sorting everything would cost far more than the few that are shown.
        if (newest.length > 8 * limit) cut();
      }
    }
    cut();
    return { sessions: newest.map((session) => viewSession(session, nowMs)), total, stale };
  }

  ofUser(canonicalName: string, limit: number): SessionView[] {
    const nowMs = this.#deps.nowMs();
    const rank = ({ endedMs }: AccountingSession): number => endedMs === null ? 0 : 1;
    return [...this.#byUser.get(canonicalName)?.values() ?? []]
      .sort((a, b) => rank(a) - rank(b) || byStart(a, b))
      .slice(0, limit).map((session) => viewSession(session, nowMs));
  }

  #start(report: AccountingReport, origin: ReportOrigin): Mutation[] {
    const known = this.#find(report, origin);
    if (known === null) return this.#create(report, origin);
    const isSamePacket = known.startAuthenticator === origin.authenticator;
    if (known.endedMs === null || isSamePacket || eventMs(report, origin) <= known.endedMs) {
      return this.#store(known.endedMs === null ? merge(known, report, origin) : known);
    }
    // Some NASes count their Acct-Session-Ids from 1 again after a restart.
    return this.#create(report, origin);
  }

  #update(report: AccountingReport, origin: ReportOrigin): Mutation[] {
    const known = this.#find(report, origin);
    if (known === null) return this.#create(report, origin);
    // A Stop is final. Accounting-On and Accounting-Off may concern another NAS with the same name.
    if (known.end === "stop") return this.#store(known);
    if (known.endedMs !== null && eventMs(report, origin) <= known.endedMs) return this.#store(known);
    const { receivedMs } = origin;
    const intervalMs = Math.max(known.intervalMs, receivedMs - known.updatedMs);
    return this.#store({
      ...merge(known, report, origin),
      ...{ endedMs: null, end: null, terminateCause: null, intervalMs },
    });
  }

  #stop(report: AccountingReport, origin: ReportOrigin): Mutation[] {
    const known = this.#find(report, origin);
    if (known?.end === "stop") return this.#store(known);
    const end = {
      endedMs: eventMs(report, origin),
      end: "stop",
      terminateCause: report.terminateCause,
    } as const;
    if (known === null) return this.#create(report, origin, end);
    return this.#store({ ...merge(known, report, origin), ...end });
  }

  #endAllOfNas(report: AccountingReport, origin: ReportOrigin, end: SessionEnd): Mutation[] {
    const nas = report.nas || origin.source;
    const endedMs = eventMs(report, origin);
    const connected = [...this.#clients.get(origin.client)?.connected.values() ?? []];
    return connected.filter((session) => session.nas === nas && session.startedMs <= endedMs).flatMap((
      session,
    ) =>
      this.#store({
        ...session,
        updatedMs: origin.receivedMs,
        ...{ endedMs, end, terminateCause: report.terminateCause },
      })
    );
  }

  #find({ sessionHex, user }: AccountingReport, { client }: ReportOrigin): AccountingSession | null {
    const found = user === ""
      ? this.#bySessionId.get(keyOf({ client, sessionHex, user }))
      : this.#byKey.get(keyOf({ client, sessionHex, user }));
    return found ?? null;
  }

  #create(
    report: AccountingReport,
    origin: ReportOrigin,
    end: Partial<AccountingSession> = {},
  ): Mutation[] {
    const { client, source, receivedMs } = origin;
    const atMs = eventMs(report, origin);
    const { sessionHex, sessionId, user, shownUser, framedAddress, callingStation } = report;
    const { inputOctets, outputOctets } = report;
    const deletions = this.#makeRoom(client);
    const session: AccountingSession = {
      id: this.#deps.orderedId(),
      ...{ client, source, sessionHex, sessionId, user, shownUser, framedAddress, callingStation },
      nas: report.nas || source,
      startedMs: Math.max(0, atMs - 1000 * (report.change === "start" ? 0 : report.sessionSeconds ?? 0)),
      updatedMs: receivedMs,
      ...{ endedMs: null, end: null, terminateCause: null, inputOctets, outputOctets, intervalMs: 0 },
      startAuthenticator: report.change === "start" ? origin.authenticator : "",
      ...end,
    };
    return [...deletions, ...this.#store(session)];
  }

  #store(session: AccountingSession): Mutation[] {
    this.#put(session);
    return [{
      type: "set",
      key: sessionKey(session.id),
      value: encodeSession(session),
      expireInMs: this.#limits.retentionMs,
    }];
  }

  #put(session: AccountingSession): void {
    const { id, client, user, endedMs } = session;
    const sessions = this.#clients.get(client) ?? { connected: new Map(), ended: new Map() };
    this.#clients.set(client, sessions);
    const wasConnected = sessions.connected.delete(id);
    const wasEnded = sessions.ended.delete(id);
    if (!wasConnected && !wasEnded) this.#size++;
    (endedMs === null ? sessions.connected : sessions.ended).set(id, session);
    this.#connectedCount += (endedMs === null ? 1 : 0) - (wasConnected ? 1 : 0);
    const ofUser = this.#byUser.get(user) ?? new Map<string, AccountingSession>();
    this.#byUser.set(user, ofUser.set(id, session));
    setNewest(this.#byKey, keyOf(session), session);
    setNewest(this.#bySessionId, keyOf({ ...session, user: "" }), session);
  }

  #remove(session: AccountingSession): void {
    const { id, client, user } = session;
    const sessions = this.#clients.get(client);
    const wasConnected = sessions?.connected.delete(id) ?? false;
    const wasEnded = sessions?.ended.delete(id) ?? false;
    if (sessions !== undefined && sessions.connected.size + sessions.ended.size === 0) {
      this.#clients.delete(client);
    }
    if (wasConnected || wasEnded) this.#size--;
    if (wasConnected) this.#connectedCount--;
    const ofUser = this.#byUser.get(user);
    ofUser?.delete(id);
    if (ofUser?.size === 0) this.#byUser.delete(user);
    removeIfSame(this.#byKey, keyOf(session), id);
    removeIfSame(this.#bySessionId, keyOf({ ...session, user: "" }), id);
  }

  /** Removes sessions until one more of `client` fits: ended before connected, the one that changed longest ago first. */
  #makeRoom(client: string): Mutation[] {
    const mutations: Mutation[] = [];
    const evictOf = (sessions: ClientSessions | undefined): boolean => {
      const oldest = firstOf(sessions?.ended) ?? firstOf(sessions?.connected);
      if (oldest === null) return false;
      this.#remove(oldest);
      this.evictions++;
      mutations.push({ type: "delete", key: sessionKey(oldest.id) });
      return true;
    };
    while (countOf(this.#clients.get(client)) >= this.#limits.perClient) {
      if (!evictOf(this.#clients.get(client))) break;
    }
    while (this.#size >= this.#limits.total) {
      // The client that uses most of the table gives way, so that one client cannot push out the others.
      const largest = [...this.#clients.values()].reduce<ClientSessions | undefined>(
        (most, one) => countOf(one) > countOf(most) ? one : most,
        undefined,
      );
      if (!evictOf(largest)) break;
    }
    return mutations;
  }
}

/** No two keys read alike: the client's name has its length in front, and hexadecimal has no blank. */
function keyOf({ client, sessionHex, user }: { client: string; sessionHex: string; user: string }): string {
  return `${client.length} ${client}${sessionHex} ${user}`;
}

/** When the reported event happened, by this gateway's clock (RFC 2866 §5.2). */
function eventMs({ delaySeconds }: AccountingReport, { receivedMs }: ReportOrigin): number {
  return receivedMs - Math.min(1000 * delaySeconds, MAX_DELAY_MS);
}

/** Counts never decrease: an older report may arrive after a newer one. Texts are replaced if the report has them. */
function merge(
  known: AccountingSession,
  report: AccountingReport,
  { source, receivedMs }: ReportOrigin,
): AccountingSession {
  return {
    ...known,
    source,
    framedAddress: report.framedAddress || known.framedAddress,
    callingStation: report.callingStation || known.callingStation,
    inputOctets: Math.max(known.inputOctets, report.inputOctets),
    outputOctets: Math.max(known.outputOctets, report.outputOctets),
    updatedMs: Math.max(known.updatedMs, receivedMs),
  };
}

function byStart(a: AccountingSession, b: AccountingSession): number {
  return b.startedMs - a.startedMs || (a.id < b.id ? 1 : -1);
}

function countOf(sessions: ClientSessions | undefined): number {
  return sessions === undefined ? 0 : sessions.connected.size + sessions.ended.size;
}

function firstOf(sessions: ReadonlyMap<string, AccountingSession> | undefined): AccountingSession | null {
  return sessions?.values().next().value ?? null;
}

function setNewest(map: Map<string, AccountingSession>, key: string, session: AccountingSession): void {
  const known = map.get(key);
  if (known === undefined || known.id <= session.id) map.set(key, session);
}

function removeIfSame(map: Map<string, AccountingSession>, key: string, id: string): void {
  if (map.get(key)?.id === id) map.delete(key);
}
