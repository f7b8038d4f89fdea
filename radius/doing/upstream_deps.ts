// What the calls to other services share: their dependencies, their input, and the log line of a failed call.

import type { FactorSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import type { Clock, Random } from "../../runtime.ts";
import type { Vault } from "../../vault.ts";
import type { Facts } from "../facts/facts.ts";
import type { Attempt } from "./attempt.ts";
import type { Conversation } from "./conversation.ts";
import type { Counters } from "./counters.ts";
import type { Limits } from "./limits.ts";
import type { NullAsks } from "./null_asks.ts";
import type { Pairings } from "./pairings.ts";
import type { Fault, FirstFactor, SecondFactorService, TelephonyService } from "./ports.ts";

export interface OutsideDeps {
  readonly settings: FactorSettings;
  readonly secondFactor: SecondFactorService;
  readonly nullAsks: NullAsks;
  readonly telephony: TelephonyService;
  readonly firstFactor: FirstFactor;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly counters: Counters;
  readonly log: Log;
}

/** The login for which a service is called. */
export interface ServiceCall {
  readonly conversation: Conversation;
  readonly attempt: Attempt;
  readonly facts: Facts;
}

/** Logs a call that a service did not answer as expected. */
export function noteFault(deps: OutsideDeps, call: string, conversation: Conversation, fault: Fault): void {
  deps.log.warn(`upstream call failed: ${call}`, {
    conversation: conversation.orderedId,
    user: conversation.shownUser,
    fault: fault.kind,
    detail: fault.detail,
  });
}
