// Waits for the decision about an approval request: polls the service, and continues at once when the service reports the decision. Also the
// dependencies that all calls to other services share.

import { MINUTE_MS } from "../../platform/durations.ts";
import type { FactorSettings } from "../../platform/config/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Limits } from "../factors/limits.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { Facts } from "../flow/context.ts";
import type { Denial } from "./login_record.ts";
import type {
  ApprovalRequest,
  Fault,
  FirstFactorVerifier,
  Outcome,
  Passwords,
  SecondFactorService,
  TelephonyService,
} from "../ports.ts";
import type { Counters } from "../server/counters.ts";
import type { LoginAttempt } from "../server/request.ts";
import type { Conversation } from "./conversation.ts";

export interface UpstreamDeps {
  readonly settings: FactorSettings;
  readonly secondFactor: SecondFactorService;
  readonly nullStatusCheck: NullStatusCheck;
  readonly telephony: TelephonyService;
  readonly firstFactor: FirstFactorVerifier;
  /** Absent: no password can be changed. */
  readonly passwords?: Pick<Passwords, "changes"> | undefined;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly counters: Counters;
  readonly log: Log;
}

/** The login that a service is called for. */
export interface ServiceCall {
  readonly conversation: Conversation;
  readonly attempt: LoginAttempt;
  readonly facts: Facts;
}

/** Logs a call that failed. */
export function logFault(deps: UpstreamDeps, call: string, conversation: Conversation, fault: Fault): void {
  deps.log.warn(`upstream call failed: ${call}`, {
    conversation: conversation.orderedId,
    user: conversation.shownUser,
    fault: fault.kind,
    detail: fault.detail,
  });
}

/** The interval of status calls. The embedded service also reports the decision at once. */
export const POLL_MS = 1000;
export const POLL_WITH_NOTICE_MS = 5000;
/** After "continue", the wait is short, so the interval is short too. */
export const CONTINUE_POLL_MS = 500;

/** Polls until there is a decision, the time is over, or the conversation has ended. */
export async function awaitDecision(
  deps: UpstreamDeps,
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
    while (conversation.outcome === null && !conversation.overtaken) {
      const answer = await deps.secondFactor.status(requestId);
      attempt.decision = decisionOf(answer);
      attempt.denial = denialOf(deps, answer);
      attempt.decidedMs = answer.ok ? answer.value.decidedMs : undefined;
      if (!answer.ok) logFault(deps, "status", conversation, answer.fault);
      // A request that expires together with its login was not denied.
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

/** A wait that `wake` ends early. */
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

/** `granted` counts only if `pending` is false. A service that does not know the request has not approved it. */
export function decisionOf(answer: Outcome<ApprovalRequest>): Facts["decision"] {
  if (!answer.ok) return answer.fault.kind === "unknown" ? "denied" : null;
  if (answer.value.pending) return "pending";
  return answer.value.granted && !answer.value.cancelled ? "granted" : "denied";
}

/** The cause of a decision that {@link decisionOf} reads as "denied". */
export function denialOf(
  { secondFactor }: UpstreamDeps,
  answer: Outcome<ApprovalRequest>,
): Denial | undefined {
  if (decisionOf(answer) !== "denied") return undefined;
  // The embedded service forgets a request only long after its deadline.
  return (answer.ok ? answer.value.denial : undefined) ??
    { cause: secondFactor.embedded ? "expired" : "service" };
}

const MAX_CHECKS_PER_MINUTE = 10;

/**
 * The two status calls with the literal `null` that the specification requires for a State of the device step whose conversation is gone.
 * Limited per client, so that forged States cannot cause many calls.
 */
export class NullStatusCheck {
  readonly #deps: { readonly clock: Clock; readonly secondFactor: SecondFactorService };
  readonly #checked = new Map<string, number[]>();

  constructor(deps: { readonly clock: Clock; readonly secondFactor: SecondFactorService }) {
    this.#deps = deps;
  }

  /** Calls twice, unless the client reached its limit. Never rejects. */
  async checkTwice(client: string): Promise<void> {
    const { clock, secondFactor } = this.#deps;
    const now = clock.nowMs();
    const recent = (this.#checked.get(client) ?? []).filter((atMs) => atMs > now - MINUTE_MS);
    if (recent.length >= MAX_CHECKS_PER_MINUTE) return;
    this.#checked.set(client, [...recent, now]);
    await secondFactor.status("null");
    await secondFactor.status("null");
  }
}
