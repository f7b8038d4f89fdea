// One packet at work on a conversation: what came with it, and what the services answered.

import type { Denial } from "../flow/denial_causes.ts";
import type { Facts } from "../flow/context.ts";
import type { Appended } from "../protocol/password.ts";
import type { Client } from "./clients.ts";
import type { NotSentReason } from "../factors/message_policy.ts";
import type { TotpPairingRow } from "../factors/pairing.ts";
import type { Request } from "./request.ts";

/** What a packet brought, and what was learnt while it was worked on. */
export interface Attempt {
  readonly client: Client;
  /** `null` at the start of a login. */
  readonly answer: string | null;
  /** The password of a login without what was appended; empty for an answer. */
  readonly password: Uint8Array;
  readonly appended: Appended | null;
  readonly receivedMs: number;
  /** A login that was held when the server died, sent again: its push is out already. */
  readonly holdsAgain: boolean;
  /** The approval had let another login in when this one was to be accepted with it. */
  readonly approvalUsed: boolean;
  firstFactor: "wrong" | "unavailable" | "right" | null;
  /** Whether the password was compared with the right one. */
  passwordChecked: boolean;
  /** Why the user was refused: for the log and the audit, never for the reply. */
  refusedFor: "inactive" | "deleted" | "unknown" | "locked" | null;
  decision: Facts["decision"];
  /** Why `decision` is "denied". */
  denial?: Denial | undefined;
  pairing: Facts["pairing"];
  messageSent: boolean;
  /** Why a typed number got no message. */
  notSent: NotSentReason | null;
  /** The pairing's passcode length, once the service told it. */
  newPairingTotpLength: number;
  /** What that device is called, once the service told it. */
  newPairingName: string | undefined;
  /** The TOTP pairing and step that a typed code belongs to; looked up once. */
  totp: { pairing: TotpPairingRow; step: number } | null | undefined;
  /** The digest of the recovery code that was typed; looked up once. */
  recoveryCode: string | null | undefined;
}

/** What a request brought, before anything was learnt. */
export function newAttempt(
  request: Request,
  typed: Pick<Attempt, "answer" | "password" | "appended">,
): Attempt {
  return {
    answer: typed.answer,
    password: typed.password,
    appended: typed.appended,
    client: request.client,
    receivedMs: request.receivedMs,
    holdsAgain: false,
    approvalUsed: false,
    firstFactor: null,
    passwordChecked: false,
    refusedFor: null,
    decision: null,
    pairing: null,
    messageSent: false,
    notSent: null,
    newPairingTotpLength: 0,
    newPairingName: undefined,
    totp: undefined,
    recoveryCode: undefined,
  };
}
