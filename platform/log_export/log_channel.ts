// What a destination looks like to the delivery: a channel that takes records, and confirms that the receiver has them.

import type { CallProblem } from "../call_fault.ts";
import type { EcsRecord } from "./ecs_fields.ts";

/** The receiver did not take the records. What was not confirmed is sent again. */
export class ChannelFault extends Error {
  readonly code: CallProblem;
  /** How long the receiver asked to wait. */
  readonly retryAfterMs: number;

  /** @param detail for the administrator, without secrets */
  constructor(code: CallProblem, detail: string, { retryAfterMs = 0 }: { retryAfterMs?: number } = {}) {
    super(detail);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface SendOptions {
  /** Leave out records that the receiver refuses for their content, if it accepts others. Otherwise one record would stop the export. */
  readonly leavesOutRefused: boolean;
  /** Whether the delivery ends. Then no further request is made. */
  readonly isStopped: () => boolean;
}

export interface LogChannel {
  /** Hands records over. Rejects with a {@link ChannelFault}, in time. @returns the ids of the records that were left out */
  send(records: readonly EcsRecord[], options: SendOptions): Promise<readonly string[]>;
  /** For how long records may be sent before {@link confirm}; 0: what `send` took is delivered. */
  readonly confirmAfterMs: number;
  /** Resolves when the receiver has everything that was sent. Rejects with a {@link ChannelFault}. */
  confirm(): Promise<void>;
  /** Ends the connection; what was not confirmed is lost. */
  close(): void;
}
