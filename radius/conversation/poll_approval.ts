// Waits for the decision about an approval request: polls the service, and wakes up when the service reports the decision.

import type { Clock } from "../../platform/runtime.ts";
import type { Denial } from "../flow/denial_causes.ts";
import type { Facts } from "../flow/context.ts";
import type { ApprovalRequest, Outcome } from "../ports.ts";
import { noteFault, type OutsideDeps, type ServiceCall } from "./upstream_deps.ts";

/** How often the service is asked while a decision is awaited. The embedded one also calls back at once. */
export const POLL_MS = 1000;
export const POLL_WITH_NOTICE_MS = 5000;
/** Within "continue" the wait is short, so the service is asked more often. */
export const CONTINUE_POLL_MS = 500;

/** Asks for the decision until there is one, the time is over, or the conversation ended meanwhile. */
export async function awaitDecision(
  deps: OutsideDeps,
  at: ServiceCall,
  untilMs: number,
  pollMs: number,
): Promise<void> {
  const { conversation, attempt } = at;
  const { requestId } = conversation;
  if (requestId === null) return;
  const notice = createNotice(deps.clock);
  const stop = deps.secondFactor.onDecision(requestId, notice.wake);
  try {
    while (conversation.outcome === null) {
      const answer = await deps.secondFactor.status(requestId);
      attempt.decision = decisionOf(answer);
      attempt.denial = denialOf(deps, answer);
      if (!answer.ok) noteFault(deps, "status", conversation, answer.fault);
      // A request that expires together with the login was not denied: the end of the login answers.
      const loginIsOver = deps.clock.nowMs() >= conversation.deadlineMs;
      if (loginIsOver && attempt.decision === "denied") attempt.decision = "pending";
      const left = untilMs - deps.clock.nowMs();
      if (attempt.decision === "granted" || attempt.decision === "denied" || left <= 0) return;
      await notice.wait(Math.min(pollMs, left));
    }
  } finally {
    stop();
  }
}

/** A wait that ends early when it is woken. */
function createNotice(clock: Clock): { wake: () => void; wait: (delayMs: number) => Promise<void> } {
  let woken = false;
  let resume: (() => void) | null = null;
  return {
    wake() {
      woken = true;
      resume?.();
    },
    wait(delayMs) {
      if (woken) {
        woken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const cancel = clock.after(delayMs, () => done());
        const done = () => {
          cancel();
          resume = null;
          woken = false;
          resolve();
        };
        resume = done;
      });
    },
  };
}

/** `granted` counts only with `pending` false; a service that does not know the request has not approved it. */
export function decisionOf(answer: Outcome<ApprovalRequest>): Facts["decision"] {
  if (!answer.ok) return answer.fault.kind === "unknown" ? "denied" : null;
  if (answer.value.pending) return "pending";
  return answer.value.granted && !answer.value.cancelled ? "granted" : "denied";
}

/** The cause of a decision that {@link decisionOf} reads as "denied". */
export function denialOf(
  { secondFactor }: OutsideDeps,
  answer: Outcome<ApprovalRequest>,
): Denial | undefined {
  if (decisionOf(answer) !== "denied") return undefined;
  // The embedded service forgets a request only long after its deadline.
  return (answer.ok ? answer.value.denial : undefined) ??
    { cause: secondFactor.embedded ? "expired" : "service" };
}
