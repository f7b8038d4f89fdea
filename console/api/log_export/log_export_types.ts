// The answers of the log export API. No answer has a secret, except that of a new webhook and of a renewed secret.

import type { DestinationStatus, TestOutcome } from "../../../platform/log_export/log_export.ts";

export type DestinationRow = DestinationStatus;

export interface DestinationList {
  readonly nowMs: number;
  readonly items: readonly DestinationRow[];
}

export interface OneDestination {
  readonly nowMs: number;
  readonly item: DestinationRow;
}

export interface ChangedDestination extends OneDestination {
  /** The key of the signatures, if this call created one: it is not shown again. Otherwise "". */
  readonly webhookSecret: string;
}

export interface DestinationTested {
  readonly nowMs: number;
  readonly result: TestOutcome;
}
