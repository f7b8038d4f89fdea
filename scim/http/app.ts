// The identity interface over HTTP, below /idm/scim: who asks, for which target, and which row of the table it is. The routes are the table.

import { Hono } from "hono";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import { ScimRefusal } from "./refusals.ts";
import { type RouteRow, SCIM_PREFIX, SCIM_ROUTES } from "./routes.ts";
import type { Target, Targets } from "../ports.ts";
import { errorAnswer, faultAnswer } from "./responses.ts";
import { BASIC_CHALLENGE, readBasic } from "./basic_auth.ts";
import type { Credential, Credentials } from "./credentials.ts";
import { refuseCrossSite } from "./cross_site.ts";
import { DEEDS } from "./handlers.ts";

export interface ScimAppDeps {
  readonly targets: Targets;
  readonly credentials: Credentials;
  /** Without a trailing slash; locations begin with it. */
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** What the listener refused before the interface saw the request. */
export interface ListenerRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is known of a request besides itself. */
export interface CallerInfo {
  readonly remoteAddress: string;
  /** Called once the credential was checked; before, a body may have 64 KiB only. */
  readonly allowLargeBody?: () => void;
  /** A fault of the listener, such as a body that is too large; `null` for any other fault. */
  readonly listenerRefusal?: (fault: unknown) => ListenerRefusal | null;
}

export interface ScimApp {
  /** Everything below it is this application's. */
  readonly prefix: string;
  /** Answers a request; never rejects. */
  handle(request: Request, info: CallerInfo): Promise<Response>;
  /** Answers a refusal of the listener in this interface's form (RFC 7644 §3.12). @param url what was asked for. */
  refuse(refused: ListenerRefusal, url?: string): Response;
}

/** A request that is allowed to go on to the routes. */
interface Admitted extends Pick<CallerInfo, "listenerRefusal"> {
  readonly url: URL;
  readonly target: Target;
  readonly credential: Credential;
  readonly source: string;
}

/** The fixed path segments of an address: "", "idm", "scim", target, collection, name. */
const TARGET_SEGMENT = 3;
const NAME_SEGMENT = 5;

export function createScimApp(deps: ScimAppDeps): ScimApp {
  const { targets, credentials } = deps;
  const routes = createRoutes(deps);

  const authenticate = async (request: Request, source: string): Promise<Credential> => {
    const given = readBasic(request.headers.get("authorization"));
    const credential = given === null ? null : await credentials.check(given, source);
    if (credential === null) {
      throw new ScimRefusal("unauthorized", { headers: { "www-authenticate": BASIC_CHALLENGE } });
    }
    return credential;
  };

  const admit = async (request: Request, source: string): Promise<Omit<Admitted, "listenerRefusal">> => {
    const credential = await authenticate(request, source);
    const url = new URL(request.url);
    const name = decoded(url.pathname.split("/")[TARGET_SEGMENT] ?? "");
    if (name === "") throw new ScimRefusal("no_such_path");
    const target = name === null ? null : targets.get(name);
    if (target === null) throw new ScimRefusal("unknown_target");
    if (!credential.targets.includes(target.name)) {
      throw new ScimRefusal("forbidden", { detail: "This credential is for other targets." });
    }
    return { url, target, credential, source };
  };

  return {
    prefix: SCIM_PREFIX,
    async handle(request, { remoteAddress, allowLargeBody, listenerRefusal }) {
      try {
        refuseCrossSite(request, deps);
        const admitted = await admit(request, remoteAddress);
        allowLargeBody?.();
        refuseUnderAnyPath(admitted.url.pathname);
        return await routes.fetch(asGet(request), { ...admitted, listenerRefusal });
      } catch (fault) {
        return faultAnswer(fault, deps);
      }
    },
    refuse(refused, url) {
      if (refused.status !== 405 || url === undefined) return refusedAnswer(refused);
      // A method that the listener does not know: the methods of the path, or 404 where there is no such path.
      const rows = rowsAt(URL.parse(url)?.pathname ?? "");
      if (rows.length === 0) return faultAnswer(new ScimRefusal("no_such_path"), deps);
      const isSupported = rows.some(({ supported }) => supported);
      if (!isSupported) return faultAnswer(new ScimRefusal("unsupported"), deps);
      return refusedAnswer({ ...refused, headers: { ...refused.headers, allow: allowOf(rows) } });
    },
  };
}

function refusedAnswer({ status, message, headers }: ListenerRefusal): Response {
  return errorAnswer({ status, detail: message, headers });
}

/** HEAD is answered as GET; the listener leaves the body out, and says its length all the same (RFC 9110 §9.3.2). */
function asGet(request: Request): Request {
  return request.method === "HEAD"
    ? new Request(request.url, { method: "GET", headers: request.headers })
    : request;
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch (_badEscape) {
    return null;
  }
}

const ANY_PREFIX = "[prefix]";
const ANYWHERE: readonly string[] = SCIM_ROUTES.map(({ path }) => path)
  .filter((path) => path.startsWith(ANY_PREFIX)).map((path) => path.slice(ANY_PREFIX.length));

/** Rows for any path: none of them is supported. */
function refuseUnderAnyPath(pathname: string): void {
  if (ANYWHERE.some((ending) => pathname.endsWith(ending))) throw new ScimRefusal("unsupported");
}

/** Rows by their path, as Hono writes it. */
function rowsByPath(): Map<string, RouteRow[]> {
  const byPath = new Map<string, RouteRow[]>();
  for (const row of SCIM_ROUTES) {
    if (row.path.startsWith(ANY_PREFIX)) continue;
    const path = `${SCIM_PREFIX}/:target${row.path.replace(/<\w+>/, ":name")}`;
    byPath.set(path, [...byPath.get(path) ?? [], row]);
  }
  return byPath;
}

/** The rows of a path; none where the interface has nothing. */
function rowsAt(pathname: string): readonly RouteRow[] {
  const segments = pathname.split("/").slice(TARGET_SEGMENT + 1);
  if (ANYWHERE.some((ending) => pathname.endsWith(ending))) {
    return SCIM_ROUTES.filter(({ path }) => path.startsWith(ANY_PREFIX));
  }
  return SCIM_ROUTES.filter(({ path }) => {
    const wanted = path.split("/").slice(1);
    return wanted.length === segments.length &&
      wanted.every((part, at) => part.startsWith("<") ? segments[at] !== "" : part === segments[at]);
  });
}

function createRoutes(deps: ScimAppDeps): Hono<{ Bindings: Admitted }> {
  const app = new Hono<{ Bindings: Admitted }>();
  app.onError((fault, { env }) => {
    const refused = env.listenerRefusal?.(fault) ?? null;
    return refused === null ? faultAnswer(fault, deps) : refusedAnswer(refused);
  });
  app.notFound(() => faultAnswer(new ScimRefusal("no_such_path"), deps));
  for (const [path, rows] of rowsByPath()) {
    for (const row of rows) {
      // A search is told from a creation by its body, so its row has no route of its own.
      if (rows.some((one) => one !== row && one.method === row.method && one.supported)) continue;
      const handle = ({ req, env }: { req: { raw: Request }; env: Admitted }) =>
        run({ row, request: req.raw, ...env }, deps);
      if (row.method === "any") app.all(path, handle);
      else app.on(row.method, path, handle);
    }
    const allow = allowOf(rows);
    app.all(path, () => {
      throw new ScimRefusal("method", { headers: { allow } });
    });
  }
  return app;
}

/** Does what a row says, for a credential that may. */
function run(
  { row, request, url, target, credential, source }: Admitted & { row: RouteRow; request: Request },
  deps: ScimAppDeps,
): Promise<Response> {
  if (row.kind === null || !row.supported) throw new ScimRefusal("unsupported");
  if (row.access === "write" && credential.access === "read") {
    throw new ScimRefusal("forbidden", { detail: "This credential may only read." });
  }
  const actor = { name: `scim:${credential.name}`, source };
  const segment = url.pathname.split("/")[NAME_SEGMENT] ?? "";
  return DEEDS[row.does]({ request, url, row, kind: row.kind, target, actor, segment }, deps);
}

/** The methods that a path supports. */
function allowOf(rows: readonly RouteRow[]): string {
  const methods = rows.filter(({ supported }) => supported).flatMap(({ method }) =>
    method === "GET" ? ["GET", "HEAD"] : [method]
  );
  return [...new Set(methods)].join(", ");
}
