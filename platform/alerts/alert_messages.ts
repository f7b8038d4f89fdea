// Plans the messages of changed alerts: which receiver gets one, and which are beyond the limit of an hour. Warnings share one limit. Each kind of
// critical alerts has its own, so that a flood of other alerts suppresses none of them. Pure.

import { DAY_MS, HOUR_MS } from "../durations.ts";
import {
  type AlertKind,
  type AlertSeverity,
  isAlertKind,
  type ReceiverSettings,
  wantsAlert,
} from "./alert_kinds.ts";
import { ALERT_MESSAGES, type AlertChange, type AlertMessage } from "./alert_rules.ts";

/** A message that waits. The value under ["alert_pending", receiver, id]. */
export interface PendingMessage {
  /** `left_out`: how many messages were not sent. */
  readonly message: AlertMessage | "left_out";
  readonly severity: AlertSeverity;
  /** What limit counts it. */
  readonly budget: BudgetName;
  /** Of `left_out`. */
  readonly count: number;
  readonly queuedMs: number;
  readonly attempts: number;
  readonly nextMs: number;
}

export interface PlannedMessage {
  readonly receiver: string;
  /** The id of the alert; of `left_out` an own one. */
  readonly id: string;
  /** `null`: the message is left out. */
  readonly pending: PendingMessage | null;
  readonly isAboutAlert: boolean;
}

export interface MessagePlan {
  readonly messages: readonly PlannedMessage[];
  readonly budgets: Budgets;
}

/** A message that could not be delivered within this time failed. */
export const MAX_MESSAGE_AGE_MS = DAY_MS;
/** Messages of one limit that wait for one receiver. A newer one replaces that of the same alert. */
const MAX_PENDING = 200;

interface MessagePlanDeps {
  readonly nowMs: number;
  readonly perHour: number;
  readonly receivers: ReadonlyMap<string, { readonly settings: ReceiverSettings }>;
  /** Messages that wait for a receiver, by their limit. */
  readonly waiting: (receiver: string, budget: BudgetName) => number;
}

/** The messages about changed alerts. */
export function planMessages(
  changes: readonly AlertChange[],
  before: Budgets,
  deps: MessagePlanDeps,
): MessagePlan {
  const { nowMs, perHour, receivers, waiting } = deps;
  const messages: PlannedMessage[] = [];
  const budgets: Record<string, Partial<Record<BudgetName, Budget>>> = {};
  for (const [receiver, known] of Object.entries(before)) {
    // A receiver that was removed has no limits.
    if (receivers.has(receiver)) budgets[receiver] = { ...known };
  }
  for (const { alert, message } of changes) {
    if (message === null) continue;
    for (const [receiver, { settings }] of receivers) {
      if (settings.isPaused || !wantsAlert(settings, alert)) continue;
      const name = budgetNameOf(alert);
      const own = budgets[receiver] ??= {};
      const limit = waiting(receiver, name) >= MAX_PENDING ? 0 : perHour;
      const { budget, isFree } = takeMessage(own[name], { nowMs, perHour: limit });
      own[name] = budget;
      const { id, severity } = alert;
      const pending = {
        message,
        severity,
        budget: name,
        count: 0,
        queuedMs: nowMs,
        attempts: 0,
        nextMs: nowMs,
      };
      messages.push({ receiver, id, pending: isFree ? pending : null, isAboutAlert: true });
    }
  }
  return { messages, budgets };
}

/** The messages that say how many others were left out in an hour that is over. */
export function planLeftOut(
  before: Budgets,
  { nowMs, receivers }: Pick<MessagePlanDeps, "nowMs" | "receivers">,
): MessagePlan {
  const messages: PlannedMessage[] = [];
  const budgets = Object.entries(before).flatMap(([receiver, known]) => {
    if (!receivers.has(receiver)) return [];
    const left = (Object.entries(known) as [BudgetName, Budget][]).filter(([name, budget]) => {
      if (!isOver(budget, nowMs)) return true;
      if (budget.leftOut === 0) return false;
      messages.push(leftOutMessage(receiver, name, budget, nowMs));
      return false;
    });
    return left.length === 0 ? [] : [[receiver, Object.fromEntries(left)] as const];
  });
  return { messages, budgets: Object.fromEntries(budgets) };
}

function leftOutMessage(
  receiver: string,
  budget: BudgetName,
  ...[{ sinceMs, leftOut: count }, nowMs]: [Budget, number]
): PlannedMessage {
  const severity = budget === "warning" ? "warning" : "critical";
  const times = { queuedMs: nowMs, nextMs: nowMs, attempts: 0 };
  return {
    ...{ receiver, id: `left-out-${budget}-${sinceMs}`, isAboutAlert: false },
    pending: { message: "left_out", severity, budget, count, ...times },
  };
}

/** A message as stored; `null` if it cannot be read. */
export function readPending(value: unknown): PendingMessage | null {
  if (typeof value !== "object" || value === null) return null;
  const { message, severity, budget, count, queuedMs, attempts, nextMs } = value as PendingMessage;
  const isKnown = (message === "left_out" || ALERT_MESSAGES.includes(message)) &&
    (severity === "warning" || severity === "critical") && (budget === "warning" || isAlertKind(budget));
  return isKnown && [count, queuedMs, attempts, nextMs].every(Number.isFinite)
    ? value as PendingMessage
    : null;
}

/** What a limit is for. */
export type BudgetName = "warning" | AlertKind;

interface Budget {
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
  return nowMs - sinceMs >= HOUR_MS || nowMs < sinceMs;
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
