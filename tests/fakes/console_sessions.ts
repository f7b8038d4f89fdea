// VPN sessions for consoles of tests: a table that stores nothing, and orders that are only counted.

import type { AccountingReport } from "../../radius/accounting/session.ts";
import { SessionTable } from "../../radius/accounting/session_table.ts";
import { administerSessions } from "../../radius/dynamic_authorization/disconnects.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

/** Reports change the table, a second apart. The ids of sessions are "0001", "0002" and so on. */
export function createConsoleSessions() {
  const clock = createManualClock();
  let ids = 0;
  const table = new SessionTable({
    store: {
      async *list() {},
      follow: () => () => undefined,
      commit: () => Promise.resolve({ ok: true, versionstamp: "1" }),
    },
    nowMs: clock.nowMs,
    orderedId: () => String(++ids).padStart(4, "0"),
  });
  /** The Acct-Session-Ids of each order. */
  const ordered: string[][] = [];
  const vpnSessions = administerSessions(table, {
    manualSessions: () => [],
    prepare: (sessions) => ({
      mutations: [],
      done: () => void ordered.push(sessions.map(({ sessionId }) => sessionId)),
    }),
  });
  const report = (change: AccountingReport["change"], shownUser: string, client = "vpn-1") => {
    clock.advance(1000);
    table.apply({
      ...{ change, shownUser, user: shownUser.toLowerCase(), sessionId: shownUser, sessionHex: "6131" },
      ...{ nas: "edge", framedAddress: "10.8.0.2", callingStation: "198.51.100.7", identification: "" },
      ...{ inputOctets: 1, outputOctets: 2, sessionSeconds: null, delaySeconds: 0, terminateCause: 1 },
    }, { client, source: "192.0.2.1", receivedMs: clock.nowMs(), authenticator: `${ids} ${change}` });
  };
  return { vpnSessions, report, ordered };
}
