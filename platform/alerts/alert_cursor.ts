// How far the watch for alerts is, and what one commit of it stores.

import { auditEntry } from "../audit.ts";
import { type ExportPosition, type NodeMark, positionAt } from "../log_export/export_position.ts";
import type { Mutation } from "../store.ts";
import { type Budgets, readBudgets } from "./alert_budget.ts";
import { alertKindRow } from "./alert_kinds.ts";
import type { PlannedMessage } from "./alert_messages.ts";
import { alertMutations, deliveryMutation } from "./alert_record.ts";
import type { AlertChange } from "./alert_rules.ts";
import { pendingMutation } from "./pending_messages.ts";
import { emptyCounts, readCounts, type RejectionCounts } from "./rejection_rate.ts";

/** The value under ["alert_cursor"]. */
export interface AlertCursor {
  readonly position: ExportPosition;
  readonly counts: RejectionCounts;
  readonly budgets: Budgets;
}

export const ALERT_CURSOR: Deno.KvKey = ["alert_cursor"];
/** A cursor as stored. Without a position, alerts begin now: the past has no news. */
export function readCursor(value: unknown, nowMs: number, marks: readonly NodeMark[]): AlertCursor {
  const { position, counts, budgets } = (value ?? {}) as Partial<AlertCursor>;
  return {
    position: readPosition(position) ?? positionAt(nowMs, marks),
    counts: readCounts(counts) ?? emptyCounts(nowMs),
    budgets: readBudgets(budgets),
  };
}

/** The mutation that stores a cursor. A new run begins a new pass over the log. */
export function cursorMutation({ position: { next: _pass, ...position }, ...cursor }: AlertCursor): Mutation {
  return { type: "set", key: ALERT_CURSOR, value: { ...cursor, position } };
}

/** The mutations of a changed alert. */
export function changeMutations({ alert, message }: AlertChange): Mutation[] {
  const { id, kind, about, count, values: { users } } = alert;
  const stored = alertMutations(alert);
  const isAgain = message === "again" && alertKindRow(kind).source !== "event";
  if (message !== "opened" && message !== "ended" && !isAgain) return stored;
  const action = message === "ended" ? "alert.ended" : "alert.opened";
  const subject = users === undefined ? about : users.join(", ");
  return [
    ...stored,
    auditEntry({ action, actor: "radius", object: `alert:${kind}`, alert: id, subject, count }),
  ];
}

/** The mutations of a message. */
export function messageMutations(
  { receiver, id, pending, isAboutAlert }: PlannedMessage,
  atMs: number,
): Mutation[] {
  const state = pending === null ? "suppressed" : "pending";
  const problem = pending === null ? { code: "too_many", detail: "" } as const : null;
  return [
    ...pending === null ? [] : [pendingMutation({ receiver, id }, pending)],
    ...isAboutAlert ? [deliveryMutation(id, receiver, { state, atMs, problem })] : [],
  ];
}

/** A position as stored; `null` if it cannot be used. */
function readPosition(value: unknown): ExportPosition | null {
  const { upTo, nodes } = (value ?? {}) as Partial<ExportPosition>;
  const isUsable = typeof upTo === "string" && typeof nodes === "object" && nodes !== null &&
    Object.values(nodes).every((node) => typeof node?.upTo === "string");
  return isUsable ? { upTo, nodes } : null;
}
