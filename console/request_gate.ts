// Checks each request before any route sees it: a known method, a Host of this server (RFC 9112 §3.2), and a path as the
// target.

import type { MiddlewareHandler } from "hono";
import type { SocketAddress } from "../platform/config/config.ts";
import type { HttpEnv } from "./api/hono_env.ts";
import { Refusal } from "./api/errors.ts";
import { createRequestBodies, type RequestBodyDeps } from "./request_body.ts";

/** Where the listener is and what it is called from outside. */
export interface HttpSettings {
  /** The address listened on; a wildcard (`0.0.0.0`, `::`) is reached by any number address. */
  readonly listen: SocketAddress;
  /** The address that people and phones use, for example `https://gate.example.org`. */
  readonly publicUrl: string;
}

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_TARGET_CHARACTERS = 8192;
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARDS = new Set(["0.0.0.0", "::", "[::]", ""]);

export interface RequestGateDeps extends RequestBodyDeps {
  readonly settings: HttpSettings;
}

/** Refuses requests that no route may see, and gives the others a limited body. */
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
      // Hono's error handlers take Errors only, and have taken those.
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
  const url = URL.parse(`${protocol}//${host}/`);
  return url === null || url.host === "" ? null : url.host;
}
