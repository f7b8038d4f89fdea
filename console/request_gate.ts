// What a request must be before any route sees it: a known method, a Host that is ours, a path as its target, and a
// body that arrives whole, in time and within 1 MiB. Deno.serve checks none of this.

import type { Clock } from "../runtime.ts";
import type { SocketAddress } from "../config.ts";
import { Refusal } from "./api/refusal.ts";

/** Where the listener is and what it is called from outside. */
export interface HttpSettings {
  /** The address listened on; a wildcard (`0.0.0.0`, `::`) is reached by any number address. */
  readonly listen: SocketAddress;
  /** The address that people and phones use, for example `https://gate.example.org`. */
  readonly publicUrl: string;
}

/** Lets requests through, or throws a {@link Refusal}. */
export interface RequestGate {
  admit(request: Request): Promise<Request>;
}

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export const MAX_BODY_OCTETS = 1024 * 1024;
const MAX_TARGET_CHARACTERS = 8192;
const BODY_DEADLINE_MS = 10_000;
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARDS = new Set(["0.0.0.0", "::", "[::]", ""]);

/** @param deps.bodyDeadlineMs how long a body may take to arrive; 10 s unless told. */
export function createRequestGate(
  deps: { settings: HttpSettings; clock: Clock; bodyDeadlineMs?: number },
): RequestGate {
  const isOurs = createHostCheck(deps.settings);
  const deadlineMs = deps.bodyDeadlineMs ?? BODY_DEADLINE_MS;
  return {
    async admit(request) {
      if (!METHODS.some((method) => method === request.method)) {
        throw new Refusal("method", { allow: METHODS.join(", ") });
      }
      if (request.url.length > MAX_TARGET_CHARACTERS) throw new Refusal("target_too_long");
      checkHost(request, isOurs);
      if (request.body === null) return request;
      const body = await readBody(request.body, { clock: deps.clock, deadlineMs });
      // GET and HEAD carry none for us; what was sent along is read (so the connection can go on) and forgotten.
      if (request.method === "GET" || request.method === "HEAD") return withoutBody(request);
      return new Request(request.url, {
        method: request.method,
        headers: request.headers,
        body,
      });
    },
  };
}

function withoutBody(request: Request): Request {
  return new Request(request.url, {
    method: request.method,
    headers: request.headers,
  });
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
    // A number cannot be rebound by somebody else's DNS, so on a wildcard any number address is one of ours.
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

/** Reads a body within the cap and the deadline. The rest of a body that is too large is not read. */
export async function readBody(
  body: ReadableStream<Uint8Array>,
  { clock, deadlineMs, maxOctets = MAX_BODY_OCTETS }: {
    clock: Clock;
    deadlineMs: number;
    maxOctets?: number;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const late = Promise.withResolvers<"late">();
  const stop = clock.after(deadlineMs, () => late.resolve("late"));
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    while (true) {
      const step = await Promise.race([reader.read(), late.promise]);
      if (step === "late") throw new Refusal("body_too_slow", { connection: "close" });
      if (step.done) return joined(chunks, total);
      total += step.value.length;
      if (total > maxOctets) throw new Refusal("body_too_large", { connection: "close" });
      chunks.push(step.value);
    }
  } catch (fault) {
    // Cancelling may reject once more when the peer is gone; the refusal below already says so.
    reader.cancel().catch(() => undefined);
    throw fault instanceof Refusal ? fault : new Refusal("body_broken");
  } finally {
    stop();
  }
}

function joined(chunks: readonly Uint8Array[], total: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
