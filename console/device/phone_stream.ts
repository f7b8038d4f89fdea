// The phone page's event stream, with a check that it is alive. A connection can die without an error event, for example
// when the phone sleeps or changes its network.

import { type ReadonlySignal, signal } from "@preact/signals";
import { MAX_SILENCE_MS, type RunLater } from "../web/app/clock_model.ts";
import type { EventSourceLike } from "../web/app/live_stream.ts";

export interface PhoneStream {
  /** Whether the open stream received something. */
  readonly online: ReadonlySignal<boolean>;
  /** Opens the stream unless it is open. */
  listen(): void;
  close(): void;
  /** Closes a stream that is silent for too long. Returns whether the stream is closed. */
  isLost(): boolean;
}

interface PhoneStreamDeps {
  readonly open: () => EventSourceLike;
  readonly nowMs: () => number;
  readonly later: RunLater;
  /** Receives the data of a `view` event. */
  readonly onView: (data: string) => void;
  readonly onSignedOut: () => void;
  /** The browser closed the stream, or it was silent for too long. */
  readonly onLost: () => void;
}

const CLOSED = 2;
const CHECK_EVERY_MS = 2000;

export function createPhoneStream(deps: PhoneStreamDeps): PhoneStream {
  const online = signal(false);
  let stream: EventSourceLike | null = null;
  let lastSignMs = 0;
  let stopCheck = () => {};

  const close = (): void => {
    stream?.close();
    stream = null;
    stopCheck();
    online.value = false;
  };
  const isLost = (): boolean => {
    if (stream !== null && deps.nowMs() - lastSignMs > MAX_SILENCE_MS) close();
    return stream === null;
  };
  const check = (): void => {
    if (isLost()) deps.onLost();
    else stopCheck = deps.later(CHECK_EVERY_MS, check);
  };
  const listen = (): void => {
    if (stream !== null && stream.readyState !== CLOSED) return;
    close();
    const mine = deps.open();
    stream = mine;
    lastSignMs = deps.nowMs();
    stopCheck = deps.later(CHECK_EVERY_MS, check);
    const on = (type: string, act: (event: MessageEvent<string>) => void) =>
      mine.addEventListener(type, (event) => {
        if (stream !== mine) return;
        lastSignMs = deps.nowMs();
        online.value = true;
        act(event);
      });
    on("open", () => undefined);
    on("beat", () => undefined);
    on("view", ({ data }) => deps.onView(data));
    on("signed_out", deps.onSignedOut);
    mine.onerror = () => {
      if (stream !== mine) return;
      online.value = false;
      if (mine.readyState !== CLOSED) return;
      close();
      deps.onLost();
    };
  };
  return { online, listen, close, isLost };
}
