// Checks each request before any route: a known method, a Host of this server (RFC 9112 §3.2), a path as the target, and a
// body within limits of size and time.

import type { MiddlewareHandler } from "hono";
import type { SocketAddress } from "../platform/config/config.ts";
import type { HttpEnv } from "./api/hono_env.ts";
import { Refusal } from "./api/errors.ts";
import { readBoundedBody } from "../platform/fetch_with_deadline.ts";
import type { RequestBody } from "../platform/http_error.ts";
import type { Clock } from "../platform/runtime.ts";
import type { RequestLimit } from "../platform/http/request_limit.ts";

/** The address of the listener, and its public URL. */
export interface HttpSettings {
  /** The address of the listener. A wildcard (`0.0.0.0`, `::`) accepts every numeric address as Host. */
  readonly listen: SocketAddress;
  /** The public URL, for example `https://gate.example.org`. It can change. */
  readonly publicUrl: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_TARGET_CHARACTERS = 8192;
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARDS = new Set(["0.0.0.0", "::", "[::]", ""]);

interface RequestGateDeps extends RequestBodyDeps {
  readonly settings: HttpSettings;
}

/** Refuses invalid requests, and limits the body of the others. */
export function createRequestGate(deps: RequestGateDeps): MiddlewareHandler<HttpEnv> {
  const isOurs = createHostCheck(deps.settings);
  const bodies = createRequestBodies(deps);
  return async (c, next) => {
    const { raw } = c.req;
    checkRequest(raw, { isOurs, ...c.env });
    const body = bodies.open(raw, c.env.remoteAddress);
    c.set("body", body);
    try {
      await next();
    } catch (fault) {
      // Hono's error handlers accept only instances of Error, and have handled those.
      throw new Error(String(fault), { cause: fault });
    } finally {
      body.release();
    }
  };
}

/**
 * @param options.viaControlSocket the control socket has no name, so `Host` is not checked.
 * @throws Refusal
 */
export function checkRequest(
  request: Request,
  { isOurs, viaControlSocket }: { isOurs: (host: string) => boolean; viaControlSocket: boolean },
): void {
  if (!METHODS.some((method) => method === request.method)) {
    throw new Refusal("method", { allow: METHODS.join(", ") });
  }
  if (request.url.length > MAX_TARGET_CHARACTERS) throw new Refusal("target_too_long");
  if (!viaControlSocket) checkHost(request, isOurs);
}

function checkHost(request: Request, isOurs: (host: string) => boolean): void {
  const url = URL.parse(request.url);
  if (url === null || url.username !== "" || url.password !== "") throw new Refusal("bad_host");
  const given = request.headers.get("host");
  // HTTP/2 has :authority instead of Host, and is used only over TLS. Without TLS, RFC 9112 §3.2 requires a 400 for a
  // missing Host.
  if (given === null && url.protocol !== "https:") throw new Refusal("bad_host");
  const host = given === null ? url.host : hostOf(given, url.protocol);
  if (host === null) throw new Refusal("bad_host");
  // RFC 9112 §3.2.2: an absolute-form target overrides Host, so the two must not differ.
  if (host !== url.host) throw new Refusal("bad_target");
  if (!isOurs(host)) throw new Refusal("foreign_host");
}

/**
 * Tests whether a host (`name:port`, as in a URL) belongs to this server. The port is ignored: forwarded ports are common, and
 * DNS rebinding needs another name, not another port.
 */
export function createHostCheck(settings: HttpSettings): (host: string) => boolean {
  const { listen } = settings;
  const names = new Set<string>(LOOPBACK_NAMES);
  const wildcard = WILDCARDS.has(listen.hostname);
  if (!wildcard) {
    const own = hostOf(bracketed(listen.hostname), "http:");
    if (own !== null) names.add(own);
  }
  return (host) => {
    const name = host.replace(/:\d{1,5}$/, "");
    // DNS rebinding cannot change a numeric address, so on a wildcard listener every numeric address is one of ours.
    return names.has(name) || name === new URL(settings.publicUrl).hostname ||
      (wildcard && isNumberAddress(name));
  };
}

function bracketed(address: string): string {
  return address.includes(":") && !address.startsWith("[") ? `[${address}]` : address;
}

function isNumberAddress(name: string): boolean {
  return name.startsWith("[") || /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** `host` in the form of a URL (lower case, no default port); `null` if it is invalid. */
function hostOf(host: string, protocol: string): string | null {
  if (/[\s/?#@\\]/.test(host)) return null;
  const url = URL.parse(`${protocol}//${host}/`);
  return url === null || url.host === "" ? null : url.host;
}

/** A body whose memory is counted until its request is answered. */
interface CountedBody extends RequestBody {
  /** Releases the counted memory. Called when the response exists. */
  release(): void;
}

/** Limits bodies in size and time, more strictly until the sender is authenticated, and counts the memory of all together. */
interface RequestBodies {
  /** @param address of the sender. Each unauthenticated source can have a few pending bodies. */
  open(request: Request, address: string): CountedBody;
}

export interface RequestBodyDeps {
  readonly clock: Clock;
  /** The deadline of a body. Default: 10 s, and 3 s before the sender is authenticated. */
  readonly bodyDeadlineMs?: number | undefined;
  /** The limit of all bodies together. Those above 1 MiB can use half of it. Default: 64 MiB. */
  readonly maxBufferedOctets?: number;
  /** Limits pending bodies of unauthenticated senders. */
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
  return {
    open({ body, headers }, address) {
      if (body === null) return NO_BODY;
      let largeOctets: number | null = null;
      let counted = 0;
      let octets: Promise<Uint8Array> | null = null;
      return {
        allowLarge: (maxOctets = MAX_BODY_OCTETS) => void (largeOctets = maxOctets),
        read: () =>
          octets ??= readLimited(body, {
            ...deps,
            address,
            isAuthenticated: largeOctets !== null,
            maxOctets: largeOctets ?? MAX_ANONYMOUS_BODY_OCTETS,
            announced: Number(headers.get("content-length") ?? 0),
            onChunk(length) {
              // The other half is for small bodies: a few large ones must not block every request.
              const isLarge = counted + length > MAX_BODY_OCTETS;
              const maxOctets = isLarge ? maxBufferedOctets / 2 : maxBufferedOctets;
              if (buffered + length > maxOctets) throw new Refusal("overloaded", RETRY);
              buffered += length;
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
  readonly maxOctets: number;
  /** The Content-Length that the sender announced; 0: unknown. */
  readonly announced: number;
  readonly onChunk: (octets: number) => void;
}

async function readLimited(body: ReadableStream<Uint8Array>, reading: Reading): Promise<Uint8Array> {
  const { clock, isAuthenticated, maxOctets, announced, onChunk, bodyDeadlineMs } = reading;
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
