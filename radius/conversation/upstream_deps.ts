// What the calls to other services share: their dependencies, their input, and the log line of a failed call.

import type { FactorSettings } from "../../platform/config/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Facts } from "../flow/context.ts";
import type { Attempt } from "../server/request_context.ts";
import type { Conversation } from "./conversation.ts";
import type { Counters } from "../server/counters.ts";
import type { Limits } from "../factors/limits.ts";
import type { NullAsks } from "./null_status_check.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { Fault, FirstFactor, SecondFactorService, TelephonyService } from "../ports.ts";

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
