// Ends accounting sessions at their NAS (RFC 5176). An order is stored with its reason, so it survives a restart. The node that stored it
// sends the requests; another node takes it over if that node stops.

import { auditEntry } from "../../platform/audit.ts";
import type { Log } from "../../platform/log.ts";
import type { CancelTimer, Clock, Random } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import {
  type AccountingSession,
  nasAddressOf,
  type SessionExtras,
  type SessionView,
} from "../accounting/session.ts";
import type { AccountingSessionList, SessionTable } from "../accounting/session_table.ts";
import type { PeerNodes } from "../ports.ts";
import type { Limits } from "../factors/limits.ts";
import { errorCauseText } from "../protocol/error_causes.ts";
import type { Clients } from "../server/clients.ts";
import type { RadsecConnections } from "../server/radsec.ts";
import type { Counters } from "../server/gateway_monitor.ts";
import { type DisconnectCall, DisconnectClient, type DisconnectClientDeps } from "./disconnect_client.ts";
import {
  afterAttempt,
  disconnectKey,
  type DisconnectProblem,
  type DisconnectReason,
  type DisconnectRecord,
  type DisconnectResult,
  type DisconnectView,
  OrderMemory,
  resultOf,
  viewDisconnect,
  writeOrder,
} from "./disconnect_records.ts";

interface DisconnectsDeps {
  readonly store: Pick<Store, "get" | "commit" | "follow" | "load" | "node">;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Pick<Counters, "count">;
  readonly sessions: Pick<SessionTable, "find" | "connectedOf">;
  readonly clients: Pick<Clients, "all" | "findByAddress">;
  readonly peers: Pick<PeerNodes, "isResponsibleFor">;
  readonly client: Pick<DisconnectClient, "disconnect" | "close">;
  readonly radsec: Pick<RadsecConnections, "findDisconnectStream">;
  /** Whether logins of a user (canonical name) are refused. */
  readonly isLocked: (user: string) => boolean;
}

/** Orders that wait for their commit. The caller that commits the mutations calls `done`. */
interface PreparedDisconnects {
  readonly mutations: readonly Mutation[];
  /** Call it when the commit is durable. Does not throw or wait. */
  done(): void;
}

interface Order {
  readonly reason: DisconnectReason;
  readonly actor: string;
}

const TICK_MS = 1000;
const MAX_SESSIONS_OF_USER = 20_000;
/** Orders in the commit of their reason. The others follow in commits of their own. */
const MAX_IN_COMMIT = 100;
/** After this wait, a call that found too many others tries again. */
const BUSY_MS = 10_000;
/** How long an order waits for a node that has the TLS connection of the client. */
const CONNECTION_MS = 5000;
const MAX_RACES = 10;
export class Disconnects {
  readonly #deps: DisconnectsDeps;
  readonly #orders: OrderMemory;
  readonly #running = new Set<string>();
  #cancel: CancelTimer = () => {};
  #isClosed = false;

  constructor(deps: DisconnectsDeps) {
    this.#deps = deps;
    this.#orders = new OrderMemory(deps);
  }

  /** Reads the stored orders. Call it once. */
  load(): Promise<void> {
    return this.#orders.load();
  }

  /** Carries out the stored orders from now on. */
  start(): void {
    const tick = (): void => {
      this.#runDue();
      if (!this.#isClosed) this.#cancel = this.#deps.clock.after(TICK_MS, tick);
    };
    tick();
  }

  /** Stops. Orders in progress stay in the store. */
  close(): void {
    this.#isClosed = true;
    this.#cancel();
    this.#deps.client.close();
  }

  /** The order for a session, or `null`. */
  of({ id, endedMs }: Pick<AccountingSession, "id" | "endedMs">): DisconnectView | null {
    const record = this.#orders.get(id);
    return record === null ? null : viewDisconnect(record, endedMs === null);
  }

  /** Reported sessions that an administrator must end at the NAS, at most `limit`. @param isShown whether a session counts */
  manualSessions(limit: number, isShown: (session: AccountingSession) => boolean): AccountingSession[] {
    const found: AccountingSession[] = [];
    for (const [id, record] of this.#orders.all()) {
      if (found.length >= limit) break;
      if (record.reason !== "not_me" || !viewDisconnect(record, true).isManual) continue;
      const session = this.#deps.sessions.find(id);
      if (session !== null && session.endedMs === null && isShown(session)) found.push(session);
    }
    return found;
  }

  /** Why no request can be sent for a session; `null`: it can be sent. */
  problemOf(session: AccountingSession): DisconnectProblem | null {
    const target = findDisconnectTarget(session, this.#deps);
    return target.ok ? null : target.problem;
  }

  /** Prepares orders for all connected sessions of a user (canonical name) who reports a login, and for those that are reported too late. */
  prepareReport(user: string): PreparedDisconnects & { readonly count: number } {
    const connected = this.#deps.sessions.connectedOf(user, MAX_SESSIONS_OF_USER);
    const { mutations, done } = this.prepare(connected, orderOf(user));
    const report = this.#orders.prepareReport(user);
    return {
      mutations: [...mutations, report.mutation],
      count: connected.length,
      done() {
        report.done();
        done();
      },
    };
  }

  /** Ends the sessions of a user who reported a login before the NAS reported the session. Call it after each accounting report. */
  endLate(user: string): void {
    const { sessions, store, isLocked, log } = this.#deps;
    if (!this.#orders.isReported(user) || !isLocked(user)) return;
    const late = sessions.connectedOf(user, MAX_IN_COMMIT).filter(({ id }) => this.#orders.get(id) === null);
    if (late.length === 0) return;
    const { mutations, done } = this.prepare(late, orderOf(user));
    store.commit({ mutations }).then(
      done,
      (fault: unknown) =>
        log.error("orders to disconnect sessions could not be stored", { fault: String(fault) }),
    );
  }

  /**
   * Prepares orders. A request under way continues, and its result counts for the new order. A session that its user reported stays reported if
   * an operator orders its end, too: otherwise its retries and its entry on the Overview would end with the operator's attempt.
   */
  prepare(sessions: readonly AccountingSession[], order: Order): PreparedDisconnects {
    const records = sessions.map(({ id }) => {
      const isReported = this.#orders.get(id)?.reason === "not_me";
      return [id, this.#newRecord(isReported ? { ...order, reason: "not_me" } : order)] as const;
    });
    const first = records.slice(0, MAX_IN_COMMIT);
    return {
      mutations: first.map(([id, record]) => writeOrder(id, record)),
      done: () => {
        for (const [id, record] of first) this.#orders.put(id, record);
        this.#runDue();
        void this.#storeMore(records.slice(MAX_IN_COMMIT));
      },
    };
  }

  #newRecord({ reason, actor }: Order): DisconnectRecord {
    const nowMs = this.#deps.clock.nowMs();
    return {
      ...{ reason, actor, requestedMs: nowMs, nextMs: nowMs, node: this.#deps.store.node },
      ...{ state: "pending", problem: null, errorCause: null, attempts: 0, lastMs: 0 },
    };
  }

  async #storeMore(records: readonly (readonly [string, DisconnectRecord])[]): Promise<void> {
    const { store, log } = this.#deps;
    try {
      for (let at = 0; at < records.length; at += MAX_IN_COMMIT) {
        const part = records.slice(at, at + MAX_IN_COMMIT);
        await store.commit({ mutations: part.map(([id, record]) => writeOrder(id, record)) });
        for (const [id, record] of part) this.#orders.put(id, record);
        this.#runDue();
      }
    } catch (fault) {
      log.error("orders to disconnect sessions could not be stored", { fault: String(fault) });
    }
  }

  #runDue(): void {
    const { clock, peers, log } = this.#deps;
    const nowMs = clock.nowMs();
    for (const id of this.#orders.pending) {
      const record = this.#orders.get(id);
      if (record === null || record.nextMs > nowMs || this.#running.has(id) || this.#isClosed) continue;
      if (!peers.isResponsibleFor(record.node) && !this.#hasConnection(id)) continue;
      this.#running.add(id);
      this.#run(id).catch((fault: unknown) => {
        log.error("a session could not be disconnected", { session: id, fault: String(fault) });
      }).finally(() => this.#running.delete(id));
    }
  }

  async #run(id: string): Promise<void> {
    if (!await this.#claim(id)) return;
    const result = await this.#attempt(id);
    // After a stop, the next start tries again.
    if (result !== null && !this.#isClosed) await this.#record(id, result);
  }

  /** Takes an order over from a node that stopped. `false`: it ended meanwhile, or another node has it. */
  async #claim(id: string): Promise<boolean> {
    const { store, peers } = this.#deps;
    const { key, value, versionstamp } = await store.get<DisconnectRecord>(disconnectKey(id));
    if (value === null || value.state !== "pending") {
      this.#orders.put(id, value);
      return false;
    }
    if (value.node === store.node) return true;
    if (!peers.isResponsibleFor(value.node) && !this.#hasConnection(id)) return false;
    const claimed = { ...value, node: store.node };
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [writeOrder(id, claimed)],
    });
    if (ok) this.#orders.put(id, claimed);
    return ok;
  }

  /** Whether this node has a TLS connection that can end a session. Only one node has it. */
  #hasConnection(id: string): boolean {
    const session = this.#deps.sessions.find(id);
    return session !== null &&
      this.#deps.radsec.findDisconnectStream(session.client, session.source) !== null;
  }

  /** One request. `null`: nothing was sent, and it is tried again soon. */
  async #attempt(id: string): Promise<DisconnectResult | null> {
    const { sessions, client, counters } = this.#deps;
    const session = sessions.find(id);
    if (session === null || session.endedMs !== null) return resultOf("ended");
    const target = findDisconnectTarget(session, { ...this.#deps, attempts: this.#orders.get(id)?.attempts });
    if (!target.ok) return this.#withoutTarget(id, target.problem);
    counters.count("disconnect_requests");
    const outcome = await client.disconnect(target.call);
    if (outcome.kind === "busy") return this.#postpone(id, BUSY_MS);
    counters.count(`disconnect_${outcome.kind}`);
    return resultOf(outcome.kind, outcome.kind === "refused" ? outcome.errorCause : null);
  }

  #withoutTarget(id: string, problem: DisconnectProblem): DisconnectResult | null {
    if (problem !== "no_connection") return { ...resultOf("not_supported"), problem };
    const requestedMs = this.#orders.get(id)?.requestedMs ?? 0;
    const isNew = this.#deps.clock.nowMs() - requestedMs < CONNECTION_MS;
    return isNew ? this.#postpone(id, TICK_MS) : { ...resultOf("no_answer"), problem };
  }

  #postpone(id: string, waitMs: number): null {
    const record = this.#orders.get(id);
    if (record !== null) this.#orders.put(id, { ...record, nextMs: this.#deps.clock.nowMs() + waitMs });
    return null;
  }

  /** Stores the result, or the time of the next attempt. */
  async #record(id: string, result: DisconnectResult): Promise<void> {
    const { store, clock } = this.#deps;
    for (let race = 0; race < MAX_RACES; race++) {
      const { key, value, versionstamp } = await store.get<DisconnectRecord>(disconnectKey(id));
      if (value === null || value.state !== "pending") return this.#orders.put(id, value);
      const next = afterAttempt(value, result, clock.nowMs());
      const audit = next.state === "pending" ? [] : [this.#audit(id, next)];
      const { ok } = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [writeOrder(id, next), ...audit],
      });
      if (!ok) continue;
      this.#orders.put(id, next);
      return this.#log(id, next);
    }
  }

  #audit(id: string, { state, problem, errorCause: cause, attempts, reason }: DisconnectRecord): Mutation {
    const session = this.#deps.sessions.find(id);
    const isDone = state === "acked" || state === "ended";
    return auditEntry({
      actor: "radius",
      action: isDone ? "vpn_session.disconnected" : "vpn_session.disconnect_failed",
      ...(session === null ? {} : {
        object: `user:${session.shownUser}`,
        ...{ client: session.client, nas: session.nas, session: session.sessionId },
        address: session.framedAddress,
      }),
      because: `disconnect_${problem ?? state}`,
      ...(cause === null ? {} : { errorCause: errorCauseText(cause) }),
      ...(attempts > 1 ? { attempts } : {}),
      by: `disconnect_${reason}`,
    });
  }

  #log(id: string, { state, problem, errorCause: cause, attempts, nextMs }: DisconnectRecord): void {
    const { log, sessions } = this.#deps;
    const session = sessions.find(id);
    const isGood = state === "acked" || state === "ended";
    log[isGood ? "info" : "warn"](`a session ${isGood ? "was disconnected" : "is not disconnected"}`, {
      ...{ user: session?.shownUser ?? "", client: session?.client ?? "", session: session?.sessionId ?? id },
      ...{ result: problem ?? state, errorCause: errorCauseText(cause), attempts },
      ...(state === "pending" ? { nextAttempt: new Date(nextMs).toISOString() } : {}),
    });
  }
}

const orderOf = (user: string): Order => ({ reason: "not_me", actor: `user:${user}` });

// Where a session can be ended: only at an address that the client entry owns now.

type DisconnectTarget =
  | { readonly ok: true; readonly call: DisconnectCall }
  | { readonly ok: false; readonly problem: DisconnectProblem };

type KnownClients = Pick<Clients, "all" | "findByAddress">;

/**
 * The address that sent the accounting of the session comes first, because the shared secret proved it. NAS-IP-Address comes second, because
 * any holder of the secret can write it. Both must be addresses of the client entry, so that no session report sends a request, signed with
 * the secret of one client, to another host. Further attempts alternate, because a NAS can listen on another address than the one from which
 * it sends accounting, and a host in the range of the client could have repeated an old report.
 *
 * @param options.attempts attempts without success so far
 */
export function findDisconnectTarget(
  { client: name, source, identification }: AccountingSession,
  { clients, radsec, attempts = 0 }: {
    clients: KnownClients;
    radsec: Pick<RadsecConnections, "findDisconnectStream">;
    attempts?: number | undefined;
  },
): DisconnectTarget {
  const client = clients.all.find((one) => one.name === name);
  if (client === undefined) return { ok: false, problem: "no_client" };
  const attributes = Uint8Array.fromHex(identification);
  if (client.tlsDisconnect) {
    const stream = radsec.findDisconnectStream(name, source);
    if (stream === null) return { ok: false, problem: "no_connection" };
    return { ok: true, call: { client: name, hostname: source, port: 0, secret: "", attributes, stream } };
  }
  if (client.disconnect === null) return { ok: false, problem: "no_port" };
  const addresses = [...new Set([source, nasAddressOf(attributes)])];
  const usable = addresses.filter((address) => isOwned(clients, { name, address }));
  const owned = usable[attempts % usable.length];
  if (owned === undefined) return { ok: false, problem: "no_address" };
  return { ok: true, call: { client: name, hostname: owned, ...client.disconnect, attributes } };
}

function isOwned(clients: KnownClients, { name, address }: { name: string; address: string }): boolean {
  if (address === "") return false;
  return clients.findByAddress(address)?.some((one) => one.name === name && !one.anyAddress) ?? false;
}

// Builds the part of the gateway that ends sessions, and shows its orders on the sessions.

interface OpenDisconnectsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly counters: Counters;
  readonly sessions: SessionTable;
  readonly clients: Clients;
  readonly peers: PeerNodes;
  readonly limits: Pick<Limits, "isLocked">;
  readonly openSocket: DisconnectClientDeps["open"];
  readonly radsec: Pick<RadsecConnections, "findDisconnectStream">;
}

/** Accounting sessions and the orders to end them, for the console. */
export interface SessionAdministration
  extends AccountingSessionList, Pick<SessionTable, "find" | "connectedOf"> {
  /** Prepares orders to end sessions. The caller commits the mutations. */
  prepareDisconnects: Disconnects["prepare"];
  /** Sessions that users reported and that the gateway could not end, without stale ones; at most `limit`. */
  manualSessions(limit: number): readonly SessionView[];
}

export function administerSessions(
  sessions: SessionTable,
  disconnects: Pick<Disconnects, "manualSessions" | "prepare">,
): SessionAdministration {
  return {
    connected: (options) => sessions.connected(options),
    ofUser: (canonicalName, limit) => sessions.ofUser(canonicalName, limit),
    get connectedCount() {
      return sessions.connectedCount;
    },
    find: (id) => sessions.find(id),
    connectedOf: (canonicalName, limit) => sessions.connectedOf(canonicalName, limit),
    manualSessions: (limit) =>
      disconnects.manualSessions(limit, (session) => !sessions.view(session).isStale).map((session) =>
        sessions.view(session)
      ),
    prepareDisconnects: (chosen, order) => disconnects.prepare(chosen, order),
  };
}

/** Loads the stored orders and carries them out. */
export async function openDisconnects(
  { openSocket, limits, ...deps }: OpenDisconnectsDeps,
): Promise<Disconnects> {
  const disconnects = new Disconnects({
    ...deps,
    isLocked: (user) => limits.isLocked(user),
    client: new DisconnectClient({ ...deps, open: openSocket }),
  });
  await disconnects.load();
  deps.sessions.extendViews((session) => extrasOf(session, disconnects));
  disconnects.start();
  return disconnects;
}

function extrasOf(session: AccountingSession, disconnects: Disconnects): SessionExtras {
  const disconnect = disconnects.of(session);
  const disconnectProblem = session.endedMs === null ? disconnects.problemOf(session) : null;
  return {
    ...(disconnect === null ? {} : { disconnect }),
    ...(disconnectProblem === null ? {} : { disconnectProblem }),
  };
}
