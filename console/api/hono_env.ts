// The environment of every handler, and what routes share: body and query validation, the caller, cookies, and the same-origin check.

import type { Context, MiddlewareHandler } from "hono";
import type { RequestBody } from "../../platform/http_error.ts";
import { parseBoundedJson } from "../../platform/safe_json.ts";
import type { Actor } from "../../scim/ports.ts";
import { Refusal } from "./errors.ts";
import type { Session } from "./auth/admin_records.ts";
import * as v from "valibot";
import { proposePhoneName } from "../../platform/device_label.ts";

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
    /** Whether the request would still be allowed now. Open streams check it at each heartbeat. */
    isStillAllowed: () => Promise<boolean>;
    /**
     * Requires the same as `recentFactor` of a permission, for routes where only some requests give a person a way to sign in.
     *
     * @throws Refusal `step_up`, or `not_for_tokens` for an API token.
     */
    requireRecentFactor: () => void;
  };
}

/** Levels of a body unless a route allows more. */
const MAX_JSON_DEPTH = 16;

/** Refuses state changes that another site's page could have caused. SameSite cookies are the first line of defence. */
export function requireSameOrigin(c: Context<HttpEnv>): void {
  if (c.req.method !== "GET" && c.req.method !== "HEAD" && !isSameOrigin(c.req.raw, c.env)) {
    throw new Refusal("not_same_origin");
  }
}

export const sameOrigin: MiddlewareHandler<HttpEnv> = async (c, next) => {
  requireSameOrigin(c);
  await next();
};

/** The site's own origin, as the browser knows it. */
export function ownOrigin(c: Context<HttpEnv>): string {
  return `${c.env.secure ? "https" : "http"}://${new URL(c.req.url).host}`;
}

/** Who makes a change, and from where, for the audit log. */
export interface Caller {
  readonly actor: string;
  readonly source: string;
}

export function callerOf(c: Context<HttpEnv>): Caller {
  return { actor: c.var.session.admin.name, source: c.env.remoteAddress };
}

/** The caller, for the audit log of the directory. */
export function actorOf(c: Context<HttpEnv>): Actor {
  const { name } = c.var.session.admin;
  return { name: c.env.viaControlSocket ? name : `console:${name}`, source: c.env.remoteAddress };
}

/** Address and browser of a request, for the list of sessions. */
export function clientInfo(c: Context<HttpEnv>): { source: string; agent: string } {
  return { source: c.env.remoteAddress, agent: c.req.header("user-agent") ?? "" };
}

/** Browsers send Origin with every state change; a request without both headers is not from our pages. */
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

/** A text of at most `max` characters. */
export const textUpTo = (max: number) => v.pipe(v.string(), v.maxLength(max));
/** A body without members. */
export const EMPTY = v.strictObject({});
/** One of several words, or "" for no filter. */
export const optionalChoice = <const T extends readonly string[]>(values: T) =>
  v.optional(v.picklist(["", ...values] as ["", ...T]), "");
/** Milliseconds since the epoch, in a query. */
export const time = v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number)));

/** Validates a JSON body. @throws Refusal `not_json`, `malformed`. */
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

/** A cookie's name. Over https it has the `__Host-` prefix, with which browsers bind it to this host. */
export function cookieName(c: Context<HttpEnv>, name: string): string {
  return c.env.secure ? `__Host-${name}` : name;
}

/** The attributes of every cookie. Without `maxAgeS` a cookie ends with the browser. */
export function cookieOptions(c: Context<HttpEnv>, { maxAgeS }: { maxAgeS?: number } = {}) {
  return {
    path: "/",
    httpOnly: true,
    sameSite: "Strict",
    secure: c.env.secure,
    ...(maxAgeS === undefined ? {} : { maxAge: maxAgeS }),
  } as const;
}

type QueryTypes<S extends v.GenericSchema> = {
  in: { query: v.InferInput<S> };
  out: { query: v.InferOutput<S> };
};

/** Validates the query by a schema over texts. Of a repeated name, one value counts. @throws Refusal `bad_query`. */
export function queryValues<S extends v.GenericSchema, P extends string>(
  schema: S,
): MiddlewareHandler<HttpEnv, P, QueryTypes<S>> {
  return async (c, next) => {
    const parsed = v.safeParse(schema, c.req.query());
    if (!parsed.success) throw new Refusal("bad_query");
    c.req.addValidatedData("query", parsed.output as object);
    await next();
  };
}

/** A whole number between two bounds; absent gives `otherwise`. */
export function wholeNumber({ least, most, otherwise }: { least: number; most: number; otherwise: number }) {
  return v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number), v.minValue(least), v.maxValue(most)),
    String(otherwise),
  );
}

const MAX_AGENT_CHARACTERS = 512;

/** The User-Agent header, shortened; "" without one. */
export function agentOf(c: Pick<Context, "req">): string {
  return (c.req.header("user-agent") ?? "").slice(0, MAX_AGENT_CHARACTERS);
}

/** The browser and device of a request for the audit log: "Firefox on Windows"; "" for an unknown program. */
export function browserLabel(c: Pick<Context, "req">): string {
  return proposePhoneName({ userAgent: agentOf(c) });
}
