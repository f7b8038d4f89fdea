// Checks each request before any route sees it: a known method, a Host of this server, and a path as the target. The
// body is limited in size and time while a route reads it.

import type { Clock } from "../platform/runtime.ts";
import type { SocketAddress } from "../platform/config/config.ts";
import { Refusal } from "./api/errors.ts";
import type { RequestLimit } from "./request_limit.ts";

/** Where the listener is and what it is called from outside. */
export interface HttpSettings {
  /** The address listened on; a wildcard (`0.0.0.0`, `::`) is reached by any number address. */
  readonly listen: SocketAddress;
  /** The address that people and phones use, for example `https://gate.example.org`. */
  readonly publicUrl: string;
}

/** Lets requests through, or throws a {@link Refusal}. */
export interface RequestGate {
  /**
   * @param address who sent it: each source may have a few bodies that are waited for before it proves who it is.
   * @param options.viaControlSocket the control socket has no name, so `Host` is not checked.
   */
  admit(request: Request, address?: string, options?: { viaControlSocket?: boolean }): AdmittedRequest;
}

/** A request whose body is limited while it is read; routes read it only after their own checks. */
export interface AdmittedRequest {
  readonly request: Request;
  /** The sender proved who they are: from now on the body may have {@link MAX_BODY_OCTETS}. */
  allowLargeBody(): void;
  /** Gives the memory of the body back; called when the response exists. */
  release(): void;
}

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export const MAX_BODY_OCTETS = 1024 * 1024;
/** Of a sender who has not proved who they are. */
export const MAX_ANONYMOUS_BODY_OCTETS = 64 * 1024;
/** Bodies of all requests in progress together. */
const MAX_BUFFERED_OCTETS = 64 * 1024 * 1024;
const MAX_TARGET_CHARACTERS = 8192;
const BODY_DEADLINE_MS = 10_000;
/** Of a sender who has not proved who they are: these bodies are small. */
const ANONYMOUS_BODY_DEADLINE_MS = 3000;
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARDS = new Set(["0.0.0.0", "::", "[::]", ""]);

export interface RequestGateDeps {
  readonly settings: HttpSettings;
  readonly clock: Clock;
  /** How long a body may take to arrive; 10 s unless given, and 3 s of a sender who has not proved who they are. */
  readonly bodyDeadlineMs?: number;
  /** The limit of all bodies together; 64 MiB unless given. */
  readonly maxBufferedOctets?: number;
  /** Limits the bodies of unknown senders that are waited for. */
  readonly bodyWaits?: RequestLimit;
}

export function createRequestGate(deps: RequestGateDeps): RequestGate {
  const isOurs = createHostCheck(deps.settings);
  const longDeadlineMs = deps.bodyDeadlineMs ?? BODY_DEADLINE_MS;
  const shortDeadlineMs = deps.bodyDeadlineMs ?? ANONYMOUS_BODY_DEADLINE_MS;
  const maxBuffered = deps.maxBufferedOctets ?? MAX_BUFFERED_OCTETS;
  let buffered = 0;
  return {
    admit(request, address = "", { viaControlSocket = false } = {}) {
      if (!METHODS.some((method) => method === request.method)) {
        throw new Refusal("method", { allow: METHODS.join(", ") });
      }
      if (request.url.length > MAX_TARGET_CHARACTERS) throw new Refusal("target_too_long");
      if (!viaControlSocket) checkHost(request, isOurs);
      if (request.body === null) {
        return {
          request,
          allowLargeBody: () => undefined,
          release: () => undefined,
        };
      }
      let maxOctets = MAX_ANONYMOUS_BODY_OCTETS;
      let held = 0;
      const isKnown = () => maxOctets === MAX_BODY_OCTETS;
      const body = limitBody(request.body, {
        clock: deps.clock,
        deadlineMs: () => isKnown() ? longDeadlineMs : shortDeadlineMs,
        beginWait() {
          if (isKnown() || deps.bodyWaits === undefined) return () => undefined;
          const end = deps.bodyWaits.begin(address);
          if (end === null) throw new Refusal("overloaded", { "retry-after": "1", connection: "close" });
          return end;
        },
        announced: Number(request.headers.get("content-length") ?? 0),
        maxOctets: () => maxOctets,
        take(octets) {
          if (buffered + octets > maxBuffered) throw new Refusal("overloaded", { "retry-after": "1" });
          buffered += octets;
          held += octets;
        },
      });
      return {
        request: new Request(request.url, { method: request.method, headers: request.headers, body }),
        allowLargeBody: () => maxOctets = MAX_BODY_OCTETS,
        release() {
          buffered -= held;
          held = 0;
        },
      };
    },
  };
}

function checkHost(request: Request, isOurs: (host: string) => boolean): void {
  const url = parseUrl(request.url);
  if (url === null || url.username !== "" || url.password !== "") throw new Refusal("bad_host");
  const given = request.headers.get("host");
  // HTTP/2 has no Host field; there the URL is made from :authority. It is spoken only over TLS here, so without TLS
  // a missing Host is what RFC 9112 §3.2 wants answered with 400.
  if (given === null && url.protocol !== "https:") throw new Refusal("bad_host");
  const host = given === null ? url.host : hostOf(given, url.protocol);
  if (host === null) throw new Refusal("bad_host");
  // RFC 9112 §3.2.2: an absolute-form target overrides Host, so the two would disagree about who is asked.
  if (host !== url.host) throw new Refusal("bad_target");
  if (!isOurs(host)) throw new Refusal("foreign_host");
}

/**
 * A test for hosts (`name:port`, as a URL writes them) by which this server may be called. The port is left out of
 * it: a forwarded port is common, and what must be kept out (DNS rebinding) needs a name of its own.
 */
export function createHostCheck({ listen, publicUrl }: HttpSettings): (host: string) => boolean {
  const names = new Set<string>([new URL(publicUrl).hostname, ...LOOPBACK_NAMES]);
  const wildcard = WILDCARDS.has(listen.hostname);
  if (!wildcard) {
    const own = hostOf(bracketed(listen.hostname), "http:");
    if (own !== null) names.add(own);
  }
  return (host) => {
    const name = host.replace(/:\d{1,5}$/, "");
    // DNS rebinding cannot change a numeric address, so on a wildcard listener every numeric address is one of ours.
    return names.has(name) || (wildcard && isNumberAddress(name));
  };
}

function bracketed(address: string): string {
  return address.includes(":") && !address.startsWith("[") ? `[${address}]` : address;
}

function isNumberAddress(name: string): boolean {
  return name.startsWith("[") || /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** `host` as a URL writes it (lower case, no default port), or `null` when it is not one. */
function hostOf(host: string, protocol: string): string | null {
  if (/[\s/?#@\\]/.test(host)) return null;
  const url = parseUrl(`${protocol}//${host}/`);
  return url === null || url.host === "" ? null : url.host;
}

function parseUrl(text: string): URL | null {
  return URL.parse(text);
}

export interface BodyLimits {
  readonly clock: Clock;
  /** From the first read to the end of the body. Asked at the first read, when the sender may be known. */
  readonly deadlineMs: () => number;
  /** The Content-Length that the sender announced; 0: unknown. */
  readonly announced?: number;
  /** Asked at each chunk, because the limit grows once the sender is known. */
  readonly maxOctets: () => number;
  /** Called at the first read; what it returns is called at the end of the body. Throws when too many bodies are waited for. */
  readonly beginWait?: () => () => void;
  /** Counts octets among those of all requests; throws when there are too many. */
  readonly take?: (octets: number) => void;
}

/** The same body, which fails with a {@link Refusal} when it is too large or too slow. Reads nothing before it is read. */
export function limitBody(body: ReadableStream<Uint8Array>, limits: BodyLimits): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const late = Promise.withResolvers<"late">();
  let stopTimer: (() => void) | null = null;
  let endWait: (() => void) | null = null;
  let total = 0;
  const close = { connection: "close" };
  const stop = () => {
    stopTimer?.();
    endWait?.();
  };
  const next = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if ((limits.announced ?? 0) > limits.maxOctets()) throw new Refusal("body_too_large", close);
    endWait ??= limits.beginWait?.() ?? (() => undefined);
    stopTimer ??= limits.clock.after(limits.deadlineMs(), () => late.resolve("late"));
    const step = await Promise.race([reader.read(), late.promise]);
    if (step === "late") throw new Refusal("body_too_slow", close);
    if (step.done) {
      stop();
      return controller.close();
    }
    total += step.value.length;
    if (total > limits.maxOctets()) throw new Refusal("body_too_large", close);
    limits.take?.(step.value.length);
    controller.enqueue(step.value);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        await next(controller);
      } catch (fault) {
        stop();
        controller.error(fault instanceof Refusal ? fault : new Refusal("body_broken"));
        // Cancelling may reject when the peer is gone; the refusal above reports that.
        await reader.cancel().catch(() => undefined);
      }
    },
    async cancel() {
      stop();
      await reader.cancel().catch(() => undefined);
    },
  }, { highWaterMark: 0 });
}
