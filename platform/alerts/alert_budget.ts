// How many messages a receiver gets in an hour. Warnings share one limit. Each kind of critical alerts has its own, so that a flood of other alerts
// suppresses none of them.

import { ALERT_HOUR_MS, type AlertKind, type AlertSeverity, isAlertKind } from "./alert_kinds.ts";

/** What a limit is for. */
export type BudgetName = "warning" | AlertKind;

export interface Budget {
  /** When its hour began (milliseconds since the epoch). */
  readonly sinceMs: number;
  readonly sent: number;
  /** Messages that were left out in this hour. */
  readonly leftOut: number;
}

/** By receiver and name. */
export type Budgets = Readonly<Record<string, Readonly<Partial<Record<BudgetName, Budget>>>>>;

/** The limit that counts a message. */
export function budgetNameOf(
  { kind, severity }: { readonly kind: AlertKind; readonly severity: AlertSeverity },
): BudgetName {
  return severity === "critical" ? kind : "warning";
}

/** Whether the hour of a limit is over, also after the clock was set back. */
export function isOver({ sinceMs }: Budget, nowMs: number): boolean {
  return nowMs - sinceMs >= ALERT_HOUR_MS || nowMs < sinceMs;
}

/** Takes one message. `isFree`: it may be sent. */
export function takeMessage(
  budget: Budget | undefined,
  { nowMs, perHour }: { readonly nowMs: number; readonly perHour: number },
): { readonly budget: Budget; readonly isFree: boolean } {
  // Messages that were left out are announced before a new hour begins.
  const now = budget === undefined || (isOver(budget, nowMs) && budget.leftOut === 0)
    ? { sinceMs: nowMs, sent: 0, leftOut: 0 }
    : budget;
  const isFree = now.sent < perHour;
  return {
    budget: isFree ? { ...now, sent: now.sent + 1 } : { ...now, leftOut: now.leftOut + 1 },
    isFree,
  };
}

/** Limits as stored. What cannot be read begins again. */
export function readBudgets(value: unknown): Budgets {
  if (typeof value !== "object" || value === null) return {};
  const receivers = Object.entries(value as Record<string, unknown>).map(([receiver, given]) => {
    const known = Object.entries((given ?? {}) as Record<string, Partial<Budget>>).filter(([name, budget]) =>
      (name === "warning" || isAlertKind(name)) &&
      [budget?.sinceMs, budget?.sent, budget?.leftOut].every(Number.isFinite)
    );
    return [receiver, Object.fromEntries(known)] as const;
  });
  return Object.fromEntries(receivers);
}
