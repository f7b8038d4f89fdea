// Checks each request before any route: a known method, a Host of this server (RFC 9112 §3.2), a path as the target, and a
// body within limits of size and time. With the limit on concurrent requests, and the security headers of all responses, errors included.

import type { MiddlewareHandler } from "hono";
import type { SocketAddress } from "../platform/config/config.ts";
import type { HttpEnv } from "./api/hono_env.ts";
import { Refusal } from "./api/errors.ts";
import { readBoundedBody } from "../platform/fetch_with_deadline.ts";
import type { RequestBody } from "../platform/http_error.ts";
import type { Clock } from "../platform/runtime.ts";
import { sourceKey } from "../platform/addresses.ts";
import { secureHeaders } from "hono/secure-headers";

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

// The address of a client behind proxies, and the limit on concurrent requests: in total and for each source address, so that one
// source cannot use up the total.

export interface RequestLimit {
  /** Counts a request until the returned function is called; `null`: the limit is reached. */
  begin(address: string): (() => void) | null;
}

interface RequestLimitDeps {
  readonly maxRequests: number;
  readonly maxPerSource: number;
  /** Addresses of reverse proxies: many users share them, so only the total limit applies. */
  readonly isProxy: (address: string) => boolean;
}

export function createRequestLimit({ maxRequests, maxPerSource, isProxy }: RequestLimitDeps): RequestLimit {
  const perSource = new Map<string, number>();
  let total = 0;
  return {
    begin(address) {
      const source = sourceKey(address);
      const count = perSource.get(source) ?? 0;
      if (total >= maxRequests || (count >= maxPerSource && !isProxy(address))) return null;
      total += 1;
      perSource.set(source, count + 1);
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        total -= 1;
        const left = (perSource.get(source) ?? 1) - 1;
        if (left === 0) perSource.delete(source);
        else perSource.set(source, left);
      };
    },
  };
}

/** Bounds the work. No real chain of trusted proxies is longer. */
const MAX_HOPS = 32;

/**
 * @param remoteAddress the peer of the connection.
 * @param forwarded the values of X-Forwarded-For, joined by commas; `null` without one.
 */
export function clientAddress(
  remoteAddress: string,
  { forwarded, isProxy }: { forwarded: string | null; isProxy: (address: string) => boolean },
): string {
  if (forwarded === null || !isProxy(remoteAddress)) return remoteAddress;
  const hops = forwarded.split(",").slice(-MAX_HOPS).map((hop) => bareAddress(hop.trim()));
  let client = remoteAddress;
  for (const hop of hops.toReversed()) {
    // A trusted proxy writes an address, so any other text comes from the client.
    if (hop === null) return client;
    client = hop;
    if (!isProxy(hop)) return hop;
  }
  return client;
}

const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const IPV6 = /^[0-9a-f:.]+$/i;

/** An address without brackets and port, as some proxies write it; `null` if it is not an address. */
function bareAddress(hop: string): string | null {
  const inBrackets = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1];
  const text = inBrackets ?? hop.replace(/^([\d.]+):\d{1,5}$/, "$1");
  if (IPV4.test(text)) return text.split(".").every((part) => Number(part) < 256) ? text : null;
  const isIpv6 = IPV6.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
  return isIpv6 ? text.toLowerCase() : null;
}

const PAGE_SOURCES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
];
const PAGE_LIMITS = [
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
];

/** For pages: only files of this server, no inline script, and no script from strings. */
export const PAGE_POLICY = [...PAGE_SOURCES, ...PAGE_LIMITS, "trusted-types 'none'"].join("; ");

/** For the phone page: also its web app manifest and its service worker, with a Trusted Types policy for the worker's script. */
export const PHONE_PAGE_POLICY = [
  ...PAGE_SOURCES,
  "manifest-src 'self'",
  "worker-src 'self'",
  ...PAGE_LIMITS,
  "trusted-types phone-worker",
].join("; ");

/** For the service worker of the phone page: it calls this server, and loads no further script. */
export const WORKER_POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** For pages without script: only styles, images and forms of this server. */
export const SCRIPTLESS_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** For other responses: no content may run. The other headers are the same for all responses. */
const OPTIONS = {
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
  },
  permissionsPolicy: {
    ...{ accelerometer: [], camera: [], displayCapture: [], geolocation: [] },
    ...{ gyroscope: [], microphone: [], payment: [], usb: [] },
  },
  xFrameOptions: "DENY",
  originAgentCluster: false,
  strictTransportSecurity: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  // A page sets its own policy.
  overwrite: false,
} satisfies Parameters<typeof secureHeaders>[0];
const ONE_YEAR_S = 31_536_000;

const plain = secureHeaders(OPTIONS);
/** Tells browsers to use https only (RFC 6797). */
const overTls = secureHeaders({ ...OPTIONS, strictTransportSecurity: `max-age=${ONE_YEAR_S}` });

/** Adds the security headers to every response, errors included. A response may be cached only if it has its own cache-control. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
  await (c.env.secure ? overTls : plain)(c, next);
  const { headers } = c.res;
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
};
