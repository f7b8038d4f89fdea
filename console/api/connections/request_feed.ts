// The event `connection_request` of the live stream: the requests of identity providers on all nodes, in batches.

import type { Clock } from "../../../platform/runtime.ts";
import { eventChunk } from "../conversations/event_stream.ts";
import type { Connect } from "../deps.ts";
import type { ConnectionRequestEvent, ConnectionRequestRow } from "./connection_types.ts";

export interface RequestFeedDeps {
  /** Absent where the console runs without the gateway. */
  readonly connect?: Connect;
  readonly clock: Clock;
}

type SendChunk = (chunk: Uint8Array<ArrayBuffer>) => void;

const BATCH_MS = 400;
/** Requests of one event. The others are counted in `lost`. */
export const MAX_EVENT_REQUESTS = 100;

export class ConnectionRequestFeed {
  readonly #deps: RequestFeedDeps;
  readonly #followers = new Set<SendChunk>();
  #waiting: ConnectionRequestRow[] = [];
  #lost = 0;
  #stop: (() => void) | null = null;
  #isTimerRunning = false;

  constructor(deps: RequestFeedDeps) {
    this.#deps = deps;
  }

  /** Sends the requests from now on. Returns what stops it. */
  follow(send: SendChunk): () => void {
    this.#followers.add(send);
    this.#stop ??= this.#deps.connect?.connections.observeRequests((rows) => this.#note(rows)) ?? null;
    return () => {
      this.#followers.delete(send);
      if (this.#followers.size > 0) return;
      this.#stop?.();
      this.#stop = null;
      this.#waiting = [];
    };
  }

  #note(rows: readonly ConnectionRequestRow[]): void {
    this.#waiting.push(...rows);
    const excess = this.#waiting.length - MAX_EVENT_REQUESTS;
    if (excess > 0) {
      this.#lost += excess;
      this.#waiting = this.#waiting.slice(excess);
    }
    if (this.#isTimerRunning) return;
    this.#isTimerRunning = true;
    this.#deps.clock.after(BATCH_MS, () => this.#send());
  }

  #send(): void {
    this.#isTimerRunning = false;
    const rows = this.#waiting;
    const event: ConnectionRequestEvent = { nowMs: this.#deps.clock.nowMs(), rows, lost: this.#lost };
    this.#waiting = [];
    this.#lost = 0;
    if (rows.length === 0) return;
    const chunk = eventChunk("connection_request", JSON.stringify(event));
    for (const send of [...this.#followers]) send(chunk);
  }
}
