// Builds the part of the gateway that ends sessions, and shows its orders on the sessions.

import type { Clock, Random } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../platform/store.ts";
import type { AccountingSession, SessionExtras, SessionView } from "../accounting/session.ts";
import type { AccountingSessionList, SessionTable } from "../accounting/session_table.ts";
import type { Limits } from "../factors/limits.ts";
import type { PeerNodes } from "../conversation/peers.ts";
import type { Clients } from "../server/clients.ts";
import type { Counters } from "../server/counters.ts";
import { DisconnectClient, type DisconnectClientDeps } from "./disconnect_client.ts";
import { Disconnects } from "./disconnects.ts";

export interface OpenDisconnectsDeps {
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
