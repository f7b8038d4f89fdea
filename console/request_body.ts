// The bodies of requests: limited in size and in time, more strictly until the sender is authenticated, and counted
// together so that they do not fill the memory.

import { readBoundedBody } from "../platform/bounded_body.ts";
import type { RequestBody } from "../platform/http_error.ts";
import type { Clock } from "../platform/runtime.ts";
import { Refusal } from "./api/errors.ts";
import type { RequestLimit } from "./request_limit.ts";

/** A body whose memory is counted until its request is answered. */
export interface CountedBody extends RequestBody {
  /** Gives the memory back; called when the response exists. */
  release(): void;
}

export interface RequestBodies {
  /** @param address who sent it: each source may have a few bodies that are waited for before it is authenticated. */
  open(request: Request, address: string): CountedBody;
}

export interface RequestBodyDeps {
  readonly clock: Clock;
  /** How long a body may take to arrive; 10 s unless given, and 3 s before the sender is authenticated. */
  readonly bodyDeadlineMs?: number | undefined;
  /** The limit of all bodies together; 64 MiB unless given. */
  readonly maxBufferedOctets?: number;
  /** Limits the bodies of unauthenticated senders that are waited for. */
  readonly bodyWaits?: RequestLimit;
}

export const MAX_BODY_OCTETS = 1024 * 1024;
/** Before the sender is authenticated. */
export const MAX_ANONYMOUS_BODY_OCTETS = 64 * 1024;
/** Bodies of all requests in progress together. */
const MAX_BUFFERED_OCTETS = 64 * 1024 * 1024;
const BODY_DEADLINE_MS = 10_000;
/** Before the sender is authenticated: these bodies are small. */
const ANONYMOUS_BODY_DEADLINE_MS = 3000;
const CLOSE = { connection: "close" };
const RETRY = { "retry-after": "1" };

const NO_BODY: CountedBody = {
  allowLarge: () => undefined,
  read: () => Promise.resolve(new Uint8Array()),
  release: () => undefined,
};

export function createRequestBodies(deps: RequestBodyDeps): RequestBodies {
  const { maxBufferedOctets = MAX_BUFFERED_OCTETS } = deps;
  let buffered = 0;
  const count = (octets: number) => {
    if (buffered + octets > maxBufferedOctets) throw new Refusal("overloaded", RETRY);
    buffered += octets;
  };
  return {
    open({ body, headers }, address) {
      if (body === null) return NO_BODY;
      let isAuthenticated = false;
      let counted = 0;
      let octets: Promise<Uint8Array> | null = null;
      return {
        allowLarge: () => void (isAuthenticated = true),
        read: () =>
          octets ??= readLimited(body, {
            ...deps,
            address,
            isAuthenticated,
            announced: Number(headers.get("content-length") ?? 0),
            onChunk(length) {
              count(length);
              counted += length;
            },
          }),
        release() {
          buffered -= counted;
          counted = 0;
        },
      };
    },
  };
}

interface Reading extends RequestBodyDeps {
  readonly address: string;
  readonly isAuthenticated: boolean;
  /** The Content-Length that the sender announced; 0: unknown. */
  readonly announced: number;
  readonly onChunk: (octets: number) => void;
}

async function readLimited(body: ReadableStream<Uint8Array>, reading: Reading): Promise<Uint8Array> {
  const { clock, isAuthenticated, announced, onChunk, bodyDeadlineMs } = reading;
  const maxOctets = isAuthenticated ? MAX_BODY_OCTETS : MAX_ANONYMOUS_BODY_OCTETS;
  if (announced > maxOctets) {
    // The listener drops the rest, so that the sender can read the response.
    body.cancel().catch(() => undefined);
    throw new Refusal("body_too_large", CLOSE);
  }
  const endWait = isAuthenticated ? null : beginWait(reading);
  const late = Promise.withResolvers<"out_of_time">();
  const deadlineMs = bodyDeadlineMs ?? (isAuthenticated ? BODY_DEADLINE_MS : ANONYMOUS_BODY_DEADLINE_MS);
  const stopTimer = clock.after(deadlineMs, () => late.resolve("out_of_time"));
  try {
    const read = await readBoundedBody(body, { maxOctets, outOfTime: late.promise, onChunk });
    if (typeof read !== "string") return read;
    if (read === "broke_off") throw new Refusal("body_broken");
    throw new Refusal(read === "too_long" ? "body_too_large" : "body_too_slow", CLOSE);
  } finally {
    stopTimer();
    endWait?.();
  }
}

function beginWait({ bodyWaits, address }: Reading): (() => void) | null {
  if (bodyWaits === undefined) return null;
  const end = bodyWaits.begin(address);
  if (end === null) throw new Refusal("overloaded", { ...RETRY, ...CLOSE });
  return end;
}
