// What every handler can ask of its request, and the checks that several routes share.

import type { Context, MiddlewareHandler } from "hono";
import * as v from "valibot";
import type { RequestBody } from "../../platform/http_error.ts";
import { parseBoundedJson } from "../../platform/safe_json.ts";
import type { Actor } from "../../scim/ports.ts";
import { Refusal } from "./errors.ts";
import type { Session } from "./auth/sessions.ts";

/** Hono's environment: `Bindings` come with the request, `Variables` are set by the checks. */
export interface HttpEnv {
  Bindings: {
    /** The peer's address. */
    readonly remoteAddress: string;
    /** Whether the request came through the control socket, which only the operator of this machine can open. */
    readonly viaControlSocket: boolean;
    /** Whether the browser reached us over https, so that cookies may be Secure. */
    readonly secure: boolean;
  };
  Variables: {
    body: RequestBody;
    session: Session;
    /** Whether the request would be let in now, too: what stays open asks it from time to time. */
    isStillAllowed: () => Promise<boolean>;
    /**
     * For routes where only some requests give a person a way to sign in: asks for what `stepUp` of a permission asks for.
     *
     * @throws Refusal `step_up`, or `not_for_tokens` for an API token.
     */
    requireFreshFactor: () => void;
  };
}

/** Levels of a body unless a route allows more. */
const MAX_JSON_DEPTH = 16;

/** Refuses state changes that another site's page could have caused: SameSite cookies are the first line, this the second. */
export function refuseForeignOrigin(c: Context<HttpEnv>): void {
  if (c.req.method !== "GET" && c.req.method !== "HEAD" && !isSameOrigin(c.req.raw, c.env)) {
    throw new Refusal("not_same_origin");
  }
}

/** The same, before every route of an API. */
export const sameOrigin: MiddlewareHandler<HttpEnv> = async (c, next) => {
  refuseForeignOrigin(c);
  await next();
};

/** The site's own address, as the browser that asks knows it. */
export function ownOrigin(c: Context<HttpEnv>): string {
  return `${c.env.secure ? "https" : "http"}://${new URL(c.req.url).host}`;
}

/** Who asks, for the audit log of the directory. */
export function actorOf(c: Context<HttpEnv>): Actor {
  const { name } = c.var.session.admin;
  return { name: c.env.viaControlSocket ? name : `console:${name}`, source: c.env.remoteAddress };
}

/** Where a request comes from, for the list of sessions. */
export function placeOf(c: Context<HttpEnv>): { source: string; agent: string } {
  return { source: c.env.remoteAddress, agent: c.req.header("user-agent") ?? "" };
}

/** Browsers send Origin with every state change; a request that has neither header is no page of ours. */
function isSameOrigin(request: Request, { secure }: { secure: boolean }): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  const origin = request.headers.get("origin");
  if (origin === null) return site === "same-origin";
  return origin === `${secure ? "https" : "http"}://${new URL(request.url).host}`;
}

/** The types of a JSON body, for handlers and for the typed client. */
type JsonTypes<S extends v.GenericSchema> = {
  in: { json: v.InferInput<S> };
  out: { json: v.InferOutput<S> };
};

/** Reads a JSON body of the given shape, or refuses. */
export function jsonBody<S extends v.GenericSchema, P extends string>(
  schema: S,
  { maxDepth = MAX_JSON_DEPTH }: { maxDepth?: number } = {},
): MiddlewareHandler<HttpEnv, P, JsonTypes<S>> {
  return async (c, next) => {
    const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (type !== "application/json") throw new Refusal("not_json");
    const json = parseBoundedJson(await c.var.body.read(), { maxDepth });
    const parsed = json.ok ? v.safeParse(schema, json.value) : null;
    if (parsed?.success !== true) throw new Refusal("malformed");
    c.req.addValidatedData("json", parsed.output as object);
    await next();
  };
}

/** A cookie's name: the `__Host-` prefix makes browsers hold it to this host and https, so it is used wherever there is https. */
export function cookieName(c: Context<HttpEnv>, name: string): string {
  return c.env.secure ? `__Host-${name}` : name;
}

/** How all our cookies are set. Without `maxAgeS` a cookie ends with the browser. */
export function cookieOptions(c: Context<HttpEnv>, { maxAgeS }: { maxAgeS?: number } = {}) {
  return {
    path: "/",
    httpOnly: true,
    sameSite: "Strict",
    secure: c.env.secure,
    ...(maxAgeS === undefined ? {} : { maxAge: maxAgeS }),
  } as const;
}
