// The index of accounting sessions in memory: by client, by Acct-Session-Id (RFC 2866 §5.5) and by user, within limits per client and in total.

import { type AccountingSession, staleAtMs } from "./session.ts";

export interface SessionIndexLimits {
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
export class SessionIndex {
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

  /** The connected sessions of a client. */
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
