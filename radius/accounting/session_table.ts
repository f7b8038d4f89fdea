// The session table: applies accounting reports (RFC 2866) to sessions, within limits per client and in total. The table is in memory.
// Every change is also a mutation of the store, from which the table is loaded at the start.

import type { Mutation, Store } from "../../platform/store.ts";
import { SESSION_LIMITS } from "../protocol/accounting.ts";
import {
  type AccountingReport,
  type AccountingSession,
  type AccountingSessionEnd,
  decodeSession,
  encodeSession,
  mergeIdentification,
  type SessionExtras,
  sessionKey,
  type SessionView,
  staleAtMs,
  viewSession,
} from "./session.ts";

/** The origin of a report, and when it arrived. */
interface ReportOrigin {
  /** Name of the client entry. */
  readonly client: string;
  readonly source: string;
  readonly receivedMs: number;
  /** Request Authenticator in hexadecimal. */
  readonly authenticator: string;
}

/** Sessions as the console reads them. */
export interface AccountingSessionList {
  /** Connected sessions, newest first, at most `limit`; of one client, or of all (""). */
  connected(options: { limit: number; client?: string }): ConnectedSessions;
  /** Sessions of a user, connected ones first, then newest first, at most `limit`. */
  ofUser(canonicalName: string, limit: number): SessionView[];
  /** Connected sessions of all clients. */
  readonly connectedCount: number;
}

interface ConnectedSessions {
  readonly sessions: readonly SessionView[];
  /** All connected sessions that match, stale ones included. */
  readonly total: number;
  readonly stale: number;
}

interface SessionTableDeps {
  readonly store: Pick<Store, "list" | "commit" | "follow">;
  readonly nowMs: () => number;
  /** A new id that grows with time. */
  readonly orderedId: () => string;
  /** {@link SESSION_LIMITS} by default. */
  readonly limits?: SessionTableLimits;
}

interface SessionTableLimits extends SessionIndexLimits {
  readonly retentionMs: number;
}

/** A Start of another time than the session's is a new session. Acct-Delay-Time of a repeated one counts whole seconds (RFC 2866 §5.2). */
const SAME_START_MS = 2000;
const MAX_DELAY_MS = 24 * 3600_000;
/** Deletions in one commit while loading. */
const MAX_DELETIONS = 400;

/** The sessions of all clients: {@link SessionIndex} in memory, and the mutations that store the same changes. */
export class SessionTable implements AccountingSessionList {
  readonly #deps: SessionTableDeps;
  readonly #limits: SessionTableLimits;
  readonly #index = new SessionIndex();
  #extras: (session: AccountingSession) => SessionExtras = () => ({});
  /** Sessions that were removed to make room. */
  evictions = 0;

  constructor(deps: SessionTableDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? SESSION_LIMITS;
    deps.store.follow(["accounting"], ({ key, value }) => this.#applyStored(String(key[1]), value));
  }

  get connectedCount(): number {
    return this.#index.connectedCount;
  }

  get size(): number {
    return this.#index.size;
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
      this.#index.put(session);
      return deletions;
    });
    for (let at = 0; at < mutations.length; at += MAX_DELETIONS) {
      await store.commit({ mutations: mutations.slice(at, at + MAX_DELETIONS) });
    }
    return { unreadable };
  }

  /** Applies a report. Applying the same report again has no further effect. */
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

  /** Takes over a session that another node stored or deleted. */
  #applyStored(id: string, value: unknown): void {
    if (value === null) return this.#index.removeById(id);
    const session = decodeSession(id, value);
    if (session === null) throw new TypeError("it is no session of this version");
    this.#index.put(session);
  }

  /** Removes sessions whose retention is over. Their records expire in the store by themselves. */
  sweep(): void {
    this.#index.removeOlder(this.#deps.nowMs() - this.#limits.retentionMs);
  }

  connected({ limit, client = "" }: { limit: number; client?: string }): ConnectedSessions {
    const nowMs = this.#deps.nowMs();
    const { sessions, total, stale } = this.#index.connected({ limit, client, nowMs });
    return { sessions: sessions.map((session) => this.#view(session, nowMs)), total, stale };
  }

  ofUser(canonicalName: string, limit: number): SessionView[] {
    const nowMs = this.#deps.nowMs();
    return this.#index.ofUser(canonicalName, limit).map((session) => this.#view(session, nowMs));
  }

  /** The session with this id, or `null`. */
  find(id: string): AccountingSession | null {
    return this.#index.findById(id);
  }

  /** The connected sessions of a user (canonical name), newest first, at most `limit`. */
  connectedOf(canonicalName: string, limit: number): AccountingSession[] {
    return this.#index.ofUser(canonicalName, limit).filter(({ endedMs }) => endedMs === null);
  }

  /** Adds to each view what `extras` returns. */
  extendViews(extras: (session: AccountingSession) => SessionExtras): void {
    this.#extras = extras;
  }

  /** A session as the console shows it. */
  view(session: AccountingSession): SessionView {
    return this.#view(session, this.#deps.nowMs());
  }

  #view(session: AccountingSession, nowMs: number): SessionView {
    return { ...viewSession(session, nowMs), ...this.#extras(session) };
  }

  #start(report: AccountingReport, origin: ReportOrigin): Mutation[] {
    const known = this.#find(report, origin);
    if (known === null) return this.#create(report, origin);
    const startMs = eventMs(report, origin);
    const isSamePacket = known.startAuthenticator === origin.authenticator;
    if (isSamePacket || startMs <= (known.endedMs ?? known.startedMs + SAME_START_MS)) {
      if (known.endedMs !== null) return this.#store(known);
      const startAuthenticator = known.startAuthenticator || origin.authenticator;
      return this.#store({ ...merge(known, report, origin), startAuthenticator });
    }
    // Some NASes count their Acct-Session-Ids from 1 again after a restart, and send no Accounting-On before.
    const ended = known.endedMs === null
      ? this.#store({ ...known, endedMs: startMs, end: "nas_restarted", terminateCause: null })
      : [];
    return [...ended, ...this.#create(report, origin)];
  }

  #update(report: AccountingReport, origin: ReportOrigin): Mutation[] {
    const known = this.#find(report, origin);
    if (known === null) return this.#create(report, origin);
    // A Stop is final. Accounting-On and Accounting-Off are not: they can concern another NAS with the same name.
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

  #endAllOfNas(report: AccountingReport, origin: ReportOrigin, end: AccountingSessionEnd): Mutation[] {
    const nas = report.nas || origin.source;
    const endedMs = eventMs(report, origin);
    const connected = this.#index.connectedOf(origin.client);
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
    return this.#index.find({ client, sessionHex, user });
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
      identification: report.identification,
      ...end,
    };
    return [...deletions, ...this.#store(session)];
  }

  #store(session: AccountingSession): Mutation[] {
    this.#index.put(session);
    return [{
      type: "set",
      key: sessionKey(session.id),
      value: encodeSession(session),
      expireInMs: this.#limits.retentionMs,
    }];
  }

  /** The deletions of sessions that make room for one more of `client`. */
  #makeRoom(client: string): Mutation[] {
    const evicted = this.#index.makeRoom(client, this.#limits);
    this.evictions += evicted.length;
    return evicted.map(({ id }) => ({ type: "delete", key: sessionKey(id) }));
  }
}

/** The time of the reported event, by this gateway's clock (RFC 2866 §5.2). */
function eventMs({ delaySeconds }: AccountingReport, { receivedMs }: ReportOrigin): number {
  return receivedMs - Math.min(1000 * delaySeconds, MAX_DELAY_MS);
}

/** Updates a session. Counts never decrease, because an older report can arrive after a newer one. Texts are replaced if the report has them. */
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
    identification: mergeIdentification(known.identification, report.identification),
    inputOctets: Math.max(known.inputOctets, report.inputOctets),
    outputOctets: Math.max(known.outputOctets, report.outputOctets),
    updatedMs: Math.max(known.updatedMs, receivedMs),
  };
}

// The index of accounting sessions in memory: by client, by Acct-Session-Id (RFC 2866 §5.5) and by user, within limits per client and in total.

interface SessionIndexLimits {
  readonly total: number;
  readonly perClient: number;
}

/** Identifies a session in a report: the client, Acct-Session-Id in hexadecimal, and the canonical User-Name ("" for any). */
type SessionName = Pick<AccountingSession, "client" | "sessionHex" | "user">;

/** The sessions of one client. In each map, the least recently changed one comes first. */
interface ClientSessions {
  readonly connected: Map<string, AccountingSession>;
  readonly ended: Map<string, AccountingSession>;
}

/** Accounting sessions with their indexes. To change a session, put its new version. */
class SessionIndex {
  readonly #clients = new Map<string, ClientSessions>();
  /** The newest session of a client, an Acct-Session-Id and a user. */
  readonly #byKey = new Map<string, AccountingSession>();
  /** The newest session of a client and an Acct-Session-Id, for requests without a User-Name. */
  readonly #bySessionId = new Map<string, AccountingSession>();
  readonly #byUser = new Map<string, Map<string, AccountingSession>>();
  #size = 0;
  #connectedCount = 0;

  /** Connected sessions of all clients. */
  get connectedCount(): number {
    return this.#connectedCount;
  }

  /** Sessions of all clients, connected and ended. */
  get size(): number {
    return this.#size;
  }

  /** The newest session of that name, or `null`. */
  find(name: SessionName): AccountingSession | null {
    const sessions = name.user === "" ? this.#bySessionId : this.#byKey;
    return sessions.get(keyOf(name)) ?? null;
  }

  connectedOf(client: string): AccountingSession[] {
    return [...this.#clients.get(client)?.connected.values() ?? []];
  }

  /** Connected sessions of one client or of all (""), newest first, at most `limit`. Also their total, and how many are stale at `nowMs`. */
  connected(
    { limit, client, nowMs }: { limit: number; client: string; nowMs: number },
  ): { sessions: AccountingSession[]; total: number; stale: number } {
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
        // Sorting all sessions would cost far more than sorting a few.
        if (newest.length > 8 * limit) cut();
      }
    }
    cut();
    return { sessions: newest, total, stale };
  }

  /** Sessions of a user (canonical name), connected ones first, then newest first, at most `limit`. */
  ofUser(canonicalName: string, limit: number): AccountingSession[] {
    const rank = ({ endedMs }: AccountingSession): number => endedMs === null ? 0 : 1;
    return [...this.#byUser.get(canonicalName)?.values() ?? []]
      .sort((a, b) => rank(a) - rank(b) || byStart(a, b))
      .slice(0, limit);
  }

  /** Adds a session, or replaces the one with its id. It becomes the most recently changed one. */
  put(session: AccountingSession): void {
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

  /** The session with this id, or `null`. Searches the clients, so it is for rare events. */
  findById(id: string): AccountingSession | null {
    for (const { connected, ended } of this.#clients.values()) {
      const session = connected.get(id) ?? ended.get(id);
      if (session !== undefined) return session;
    }
    return null;
  }

  /** Removes the session with this id, if it is there. */
  removeById(id: string): void {
    const session = this.findById(id);
    if (session !== null) this.remove(session);
  }

  /** Removes a session from every index, if it is there. */
  remove(session: AccountingSession): void {
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

  /**
   * Removes sessions until there is room for one more of `client`. Ended sessions go first, then the least recently changed.
   * @returns the removed sessions
   */
  makeRoom(client: string, limits: SessionIndexLimits): AccountingSession[] {
    const evicted: AccountingSession[] = [];
    const evictOf = (sessions: ClientSessions | undefined): boolean => {
      const oldest = firstOf(sessions?.ended) ?? firstOf(sessions?.connected);
      if (oldest === null) return false;
      this.remove(oldest);
      evicted.push(oldest);
      return true;
    };
    while (countOf(this.#clients.get(client)) >= limits.perClient) {
      if (!evictOf(this.#clients.get(client))) break;
    }
    while (this.#size >= limits.total) {
      // The client with the most sessions loses one, so that one client cannot remove the sessions of others.
      const largest = [...this.#clients.values()].reduce<ClientSessions | undefined>(
        (most, one) => countOf(one) > countOf(most) ? one : most,
        undefined,
      );
      if (!evictOf(largest)) break;
    }
    return evicted;
  }

  /** Removes the sessions that last changed at `oldestMs` or before. */
  removeOlder(oldestMs: number): void {
    for (const { connected, ended } of this.#clients.values()) {
      for (const sessions of [connected, ended]) {
        for (const session of sessions.values()) {
          if (session.updatedMs > oldestMs) break;
          this.remove(session);
        }
      }
    }
  }
}

/** Unambiguous, because the length precedes the client's name, and hexadecimal has no blank. */
function keyOf({ client, sessionHex, user }: SessionName): string {
  return `${client.length} ${client}${sessionHex} ${user}`;
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
