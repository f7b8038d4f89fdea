// Server-sent events: bounded streams with a heartbeat, which ends a stream whose reader is no longer allowed.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

import type { Clock } from "../../../platform/runtime.ts";
import { Refusal } from "../errors.ts";

/** Receives the chunks of a stream; never waits. */
export interface EventSink {
  send(chunk: Uint8Array<ArrayBuffer>): void;
}

/** One stream to be opened. */
interface StreamRequest {
  /** Each owner has a limit, such as a phone. */
  readonly owner: string;
  /** The person of the owner, who has a limit too. Absent: the owner is the person. */
  readonly person?: string;
  /** Whether the stream may take one of the places that are reserved. */
  readonly mayUseReserve?: boolean;
  /** Starts producing; returns what stops it. */
  readonly start: (sink: EventSink) => () => void;
  /** Called at each heartbeat. */
  readonly isStillAllowed: () => Promise<boolean>;
}

export interface EventStreams {
  /** @throws Refusal `too_many_streams`. */
  open(request: StreamRequest): Response;
  /** Ends all streams and opens no more, so that the listener can close. */
  closeAll(): void;
  openCount(): number;
}

interface EventStreamsDeps {
  readonly clock: Clock;
  readonly maxOpen: number;
  readonly maxPerOwner: number;
  /** Default: that of an owner. */
  readonly maxPerPerson?: number;
  /** The last places, for some callers. Default: none. */
  readonly reserved?: number;
  /** A reader with more unread octets is disconnected; it resumes at its last id. */
  readonly maxBufferedOctets?: number;
}

/** The pages count a stream as lost after two missed heartbeats (`MAX_SILENCE_MS`). */
const HEARTBEAT_MS = 5000;
const RETRY_MS = 1000;
const MAX_BUFFERED_OCTETS = 4 * 1024 * 1024;
const encoder = new TextEncoder();
/** A comment for proxies, and an event for the page, which does not receive comments. */
const HEARTBEAT = encoder.encode(":\n\nevent: beat\ndata: {}\n\n");
const SIGNED_OUT = eventChunk("signed_out", "{}");

/** One event as it goes over the wire. `data` is JSON, which has no line break. */
export function eventChunk(event: string, data: string, id?: string): Uint8Array<ArrayBuffer> {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return encoder.encode(`${idLine}event: ${event}\ndata: ${data}\n\n`);
}

export function createEventStreams(deps: EventStreamsDeps): EventStreams {
  const open = new Set<OpenStream>();
  let closing = false;
  return {
    open(request) {
      const { owner, person = owner, mayUseReserve = false } = request;
      const { maxOpen, maxPerOwner, maxPerPerson = maxPerOwner, reserved = 0 } = deps;
      let owned = 0;
      let ofPerson = 0;
      for (const stream of open) {
        if (stream.owner === owner) owned += 1;
        if (stream.person === person) ofPerson += 1;
      }
      const places = mayUseReserve ? maxOpen : maxOpen - reserved;
      if (closing || open.size >= places || owned >= maxPerOwner || ofPerson >= maxPerPerson) {
        throw new Refusal("too_many_streams", { "retry-after": "10" });
      }
      const stream = openStream(request, { ...deps, onEnd: (ended) => open.delete(ended) });
      open.add(stream);
      return new Response(stream.body, {
        headers: {
          "content-type": "text/event-stream; charset=utf-8",
          "cache-control": "no-store",
          // A buffering proxy would delay the events.
          "x-accel-buffering": "no",
        },
      });
    },
    closeAll() {
      closing = true;
      for (const stream of [...open]) stream.end();
    },
    openCount: () => open.size,
  };
}

interface OpenStream {
  readonly owner: string;
  readonly person: string;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  end(): void;
}

function openStream(
  request: StreamRequest,
  deps: EventStreamsDeps & { onEnd: (stream: OpenStream) => void },
): OpenStream {
  const capOctets = deps.maxBufferedOctets ?? MAX_BUFFERED_OCTETS;
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  let stopProducing = () => {};
  let stopTimer = () => {};

  const release = (): typeof controller => {
    const held = controller;
    controller = null;
    if (held === null) return null;
    stopTimer();
    stopProducing();
    deps.onEnd(stream);
    return held;
  };
  const send = (chunk: Uint8Array<ArrayBuffer>): void => {
    if (controller === null) return;
    // An error frees the queue; closing would keep it until the reader has read it.
    if ((controller.desiredSize ?? 0) < chunk.length) release()?.error(new Error("the reader is too slow"));
    else controller.enqueue(chunk);
  };
  const beat = async (): Promise<void> => {
    const allowed = await request.isStillAllowed().catch(() => false);
    if (controller === null) return;
    send(allowed ? HEARTBEAT : SIGNED_OUT);
    if (allowed) stopTimer = deps.clock.after(HEARTBEAT_MS, beat);
    else release()?.close();
  };

  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(opened) {
      controller = opened;
      send(encoder.encode(`retry: ${RETRY_MS}\n\n`));
    },
    cancel() {
      release();
    },
  }, new ByteLengthQueuingStrategy({ highWaterMark: capOctets }));
  const { owner, person = owner } = request;
  const stream: OpenStream = { owner, person, body, end: () => release()?.close() };
  stopTimer = deps.clock.after(HEARTBEAT_MS, beat);
  stopProducing = request.start({ send });
  return stream;
}
