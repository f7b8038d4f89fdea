// What the console shows of accounting sessions.

import type { SessionView } from "../../../radius/accounting/session.ts";

export type { SessionView };

/** Who is connected now. */
export interface ConnectedAnswer {
  /** Newest first; at most 100. */
  readonly sessions: readonly SessionView[];
  /** All connected sessions, stale ones included. */
  readonly total: number;
  readonly stale: number;
}

export interface UserSessionsAnswer {
  /** Connected ones first, then ended ones, newest first; at most 100. */
  readonly sessions: readonly SessionView[];
}
