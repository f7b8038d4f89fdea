// The SCIM interface over HTTP (RFC 7644), below /idm/scim: authentication, the target, and the routes of the table
// SCIM_ROUTES.

import { type Context, type ErrorHandler, Hono } from "hono";
import { matchedRoutes } from "hono/route";
import type { Log } from "../../platform/log.ts";
import { HttpError, type RequestBody } from "../../platform/http_error.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { BASIC_CHALLENGE, readBasic, ScimRefusal, waitForStore } from "./refusals.ts";
import {
  allowedMethods,
  errorResponse,
  faultResponse,
  type RouteRow,
  SCIM_PREFIX,
  SCIM_ROUTES,
} from "./routes.ts";
import type { Target, Targets } from "../ports.ts";
import type { TargetSchemas } from "../v2/schema/target_schemas.ts";
import type { Credential, Credentials } from "./credentials.ts";
import { HANDLERS } from "./handlers.ts";

export interface ScimAppDeps {
  readonly targets: Targets;
  readonly credentials: Credentials;
  /** Its URL has no trailing slash. Locations begin with it. It can change. */
  readonly http: { readonly publicUrl: string };
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly schemasOf: (target: string) => TargetSchemas;
  /** Absent: only this process uses the store. */
  readonly store?: Pick<Store, "catchUp">;
}

/** Hono's environment: the HTTP server sets the address and the body, the checks below set the rest. */
export interface ScimEnv {
  Bindings: { readonly remoteAddress: string };
  Variables: { body: RequestBody; credential: Credential; target: Target };
}

/** A part of the HTTP application with its own error format (RFC 7644 §3.12). */
export interface ScimApp {
  /** Every path below it belongs to this interface. */
  readonly prefix: string;
  readonly routes: Hono<ScimEnv>;
  /** Also renders the refusals of the HTTP server, such as a body that is too large. */
  readonly onError: ErrorHandler<ScimEnv>;
}

export function createScimApp(deps: ScimAppDeps): ScimApp {
  return {
    prefix: SCIM_PREFIX,
    routes: createRoutes(deps),
    onError: (fault, c) =>
      fault instanceof HttpError && fault.status === 405 && !(fault instanceof ScimRefusal)
        ? unknownMethod(fault, c, deps)
        : faultResponse(fault, deps),
  };
}

function createRoutes(deps: ScimAppDeps): Hono<ScimEnv> {
  const check = createRequestCheck(deps);
  const app = new Hono<ScimEnv>()
    .use(async (c, next) => {
      await check(c.req.raw);
      c.set("credential", await authenticate(c, deps));
      await next();
    })
    .use("/:target/*", async (c, next) => {
      c.set("target", findTarget(c, deps));
      c.var.body.allowLarge();
      if (isUnsupportedAnywhere(c)) throw new ScimRefusal("unsupported");
      await next();
    });
  for (const [path, rows] of ROWS_BY_PATH) {
    for (const row of rows) {
      // The body distinguishes a search from a creation, so its row has no route.
      if (rows.some((one) => one !== row && one.method === row.method && one.supported)) continue;
      app.on(row.method === "any" ? "ALL" : row.method, path, (c) => run(row, c, deps));
    }
    app.all(path, () => {
      throw new ScimRefusal("method", { headers: { allow: allowOf(rows) } });
    });
  }
  return app.all("*", () => {
    throw new ScimRefusal("no_such_path");
  });
}

async function authenticate(
  c: Context<ScimEnv>,
  { credentials }: Pick<ScimAppDeps, "credentials">,
): Promise<Credential> {
  const given = readBasic(c.req.header("authorization") ?? null);
  const credential = given === null ? null : await credentials.check(given, c.env.remoteAddress);
  if (credential === null) {
    throw new ScimRefusal("unauthorized", { headers: { "www-authenticate": BASIC_CHALLENGE } });
  }
  return credential;
}

function findTarget(c: Context<ScimEnv>, { targets }: Pick<ScimAppDeps, "targets">): Target {
  const target = targets.get(c.req.param("target") ?? "");
  if (target === null) throw new ScimRefusal("unknown_target");
  if (!c.var.credential.targets.includes(target.name)) {
    throw new ScimRefusal("forbidden", { detail: "This credential is for other targets." });
  }
  return target;
}

/** Runs the operation of a row if the credential allows it. */
function run(row: RouteRow, c: Context<ScimEnv>, deps: ScimAppDeps): Promise<Response> {
  const { credential, target, body } = c.var;
  if (row.kind === null || !row.supported) throw new ScimRefusal("unsupported");
  if (row.access === "write" && credential.access === "read") {
    throw new ScimRefusal("forbidden", { detail: "This credential has read access only." });
  }
  const actor = { name: `scim:${credential.name}`, source: c.env.remoteAddress };
  const { raw: { url: text, headers } } = c.req;
  const url = new URL(text);
  const segment = url.pathname.slice(url.pathname.lastIndexOf("/") + 1);
  const { types } = deps.schemasOf(target.name);
  const call = { headers, body, url, row, kind: row.kind, target, types, actor, segment };
  return HANDLERS[row.handler](call, deps);
}

/** The HTTP server refuses an unknown method. The response lists the methods of the path. */
function unknownMethod(
  { status, message: detail, headers }: HttpError,
  c: Context<ScimEnv>,
  deps: ScimAppDeps,
): Response {
  const rows = rowsAt(c);
  if (rows.length === 0) return faultResponse(new ScimRefusal("no_such_path"), deps);
  if (!rows.some(({ supported }) => supported)) return faultResponse(new ScimRefusal("unsupported"), deps);
  return errorResponse({ status, detail, headers: { ...headers, allow: allowOf(rows) } });
}

const ANY_PREFIX = "[prefix]";
const ROWS_ANYWHERE: readonly RouteRow[] = SCIM_ROUTES.filter(({ path }) => path.startsWith(ANY_PREFIX));

/** The other rows by their path, as Hono writes it. */
const ROWS_BY_PATH: ReadonlyMap<string, readonly RouteRow[]> = Map.groupBy(
  SCIM_ROUTES.filter((row: RouteRow) => !ROWS_ANYWHERE.includes(row)),
  ({ path }) => `/:target${path.replace(/<\w+>/, ":name")}`,
);

/** Rows for any path; none of them is supported. */
function isUnsupportedAnywhere(c: Context<ScimEnv>): boolean {
  const { pathname } = new URL(c.req.url);
  return ROWS_ANYWHERE.some(({ path }) => pathname.endsWith(path.slice(ANY_PREFIX.length)));
}

/** The rows of the request's path. Empty for an unknown path. */
function rowsAt(c: Context<ScimEnv>): readonly RouteRow[] {
  if (isUnsupportedAnywhere(c)) return ROWS_ANYWHERE;
  const paths = new Set(matchedRoutes(c).map(({ path }) => path.slice(SCIM_PREFIX.length)));
  return [...paths].flatMap((path) => ROWS_BY_PATH.get(path) ?? []);
}

/** The methods that a path supports. */
const allowOf = (rows: readonly RouteRow[]) => allowedMethods(rows.filter(({ supported }) => supported));

/** The check of each request before its authentication: its origin, and whether memory contains the writes of other nodes. */
export function createRequestCheck(
  deps: Pick<ScimAppDeps, "http" | "store" | "clock" | "log">,
): (request: Request) => Promise<void> {
  const refuseCrossSite = createCrossSiteCheck(deps);
  return async (request) => {
    refuseCrossSite(request);
    const caughtUp = deps.store?.catchUp() ?? null;
    if (caughtUp !== null) await waitForStore(caughtUp, deps);
  };
}

/** Content types that an HTML form can send. curl -d and fetch() send them too, so only browsers are refused. */
const FORM_TYPES = new Set(["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]);

/**
 * @param deps.http its URL is the address that browsers use. Behind a proxy, the request's URL may have another scheme.
 * @returns a check that throws the refusal `cross_site`, `media_type` or `content_encoding`.
 */
function createCrossSiteCheck(
  { http }: { http: { readonly publicUrl: string } },
): (request: Request) => void {
  return (request) => {
    const site = request.headers.get("sec-fetch-site");
    if (site === "cross-site" || site === "same-site") throw new ScimRefusal("cross_site");
    const origin = request.headers.get("origin");
    if (
      origin !== null && origin !== new URL(http.publicUrl).origin && origin !== new URL(request.url).origin
    ) {
      throw new ScimRefusal("cross_site");
    }
    const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
    if (encoding !== "" && encoding !== "identity") {
      throw new ScimRefusal("content_encoding", { headers: { "accept-encoding": "identity" } });
    }
    if (request.body === null || !isBrowser(request)) return;
    const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (FORM_TYPES.has(type)) throw new ScimRefusal("media_type");
  };
}

/** The User-Agent of every browser begins with Mozilla. Current browsers also send Origin or Sec-Fetch-Site with a form. */
function isBrowser({ headers }: Request): boolean {
  return headers.has("origin") || headers.has("sec-fetch-site") ||
    headers.get("user-agent")?.startsWith("Mozilla/") === true;
}
