// The HTTP application: one Hono application with the identity interface, the console, the pages of users, their APIs
// and monitoring. Every response passes the same checks and has the security headers, errors included.

import { Hono, type MiddlewareHandler } from "hono";
import type { Log } from "../platform/log.ts";
import type { SessionList } from "../radius/accounting/session_table.ts";
import type { GatewayWatch } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { ScimApp, ScimEnv } from "../scim/http/app.ts";
import type { Store } from "../platform/store.ts";
import type { DeviceService, SecondFactorAdmin } from "../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxMessages } from "../upstream/embedded/telephony/outbox.ts";
import type { Vault } from "../platform/vault.ts";
import type { Admins } from "./api/auth/admin_store.ts";
import { type AccessServiceDeps, createAccessServices } from "./api/auth/auth_services.ts";
import { createChartStore } from "./api/charts/chart_store.ts";
import { CONSOLE_API_PATH, createConsoleApi } from "./api/console_api.ts";
import { createDeviceApi } from "./api/devices/device_api.ts";
import { phoneNoticesOf } from "./api/account/user_notices.ts";
import { createEventStreams, type EventStreams } from "./api/conversations/event_stream.ts";
import type { GroupRouteDeps } from "./api/groups/group_routes.ts";
import type { HttpEnv } from "./api/hono_env.ts";
import { createFirstSteps } from "./api/onboarding/onboarding.ts";
import { createLiveFeed } from "./api/conversations/event_feed.ts";
import type { Connect } from "./api/clients/client_deps.ts";
import type { People } from "./api/users/user_deps.ts";
import { createLazyDoor, createMeApi } from "./api/account/account_api.ts";
import { createMonitoringRoutes, type Readiness } from "./api/health/metrics.ts";
import { Refusal, type RefusalBody, type RefusalCode, refusalResponse, REFUSALS } from "./api/errors.ts";
import type { Installation } from "./api/settings/setting_types.ts";
import type { Transfer } from "./api/imports/import_export.ts";
import { assetResponse, type Dist } from "./assets.ts";
import { clientAddress } from "./client_address.ts";
import { pageResponse } from "./pages.ts";
import { consolePreload, messagePreload } from "./preload.ts";
import { PLACES } from "./web/places.ts";
import { createRequestLimit } from "./request_limit.ts";
import { createRequestGate, type HttpSettings } from "./request_gate.ts";
import { createApproveRoutes } from "./me_pages/approve_routes.ts";
import { securityHeaders } from "./security_headers.ts";

export interface HttpAppDeps {
  readonly http: HttpSettings;
  readonly console: AccessServiceDeps["console"];
  /** How the sign-in provider is called; the platform's own unless given. */
  readonly fetch?: AccessServiceDeps["fetch"];
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly vault: Vault;
  readonly store: Store;
  readonly admins: Admins;
  readonly watch: GatewayWatch;
  /** Who is connected, by accounting; absent where the console runs without a gateway. */
  readonly vpnSessions?: SessionList;
  /** `null` where an external service is used. */
  readonly phone: DeviceService | null;
  readonly desk: SecondFactorAdmin | null;
  readonly outbox: OutboxMessages | null;
  /** The directory's users with their factors; absent where the console runs without a directory. */
  readonly people?: People;
  /** What the pages of clients, targets, credentials and health look at; absent where the console runs without. */
  readonly connect?: Connect;
  /** Reads and writes files of people. */
  readonly transfer?: Transfer;
  /** What the settings give members of groups at a login. */
  readonly replies?: GroupRouteDeps["replies"];
  /** For the pages of settings. */
  readonly installation: Installation;
  readonly ready: () => Readiness;
  readonly dist: Dist;
  /** The identity interface; absent where the console runs without. */
  readonly scim?: ScimApp;
  /** The OpenAPI description of the identity interface, as JSON; served at /openapi.json without authentication. */
  readonly openApi?: () => string;
  readonly residentOctets?: () => number;
  readonly bodyDeadlineMs?: number;
  /** Whether an address is a reverse proxy whose X-Forwarded-For is trusted; none unless given. */
  readonly isProxy?: (address: string) => boolean;
}

/** What is known of a request besides itself. */
export interface PeerInfo {
  readonly remoteAddress: string;
}

/** Answers requests. */
export interface HttpApp {
  (request: Request, info: PeerInfo): Promise<Response>;
  /** Answers a request of the control socket: only the console's API, for the operator of this machine. */
  answerOperator(request: Request): Promise<Response>;
  /** Ends the event streams, so that the listener can stop. */
  close(): void;
}

/** Addresses that are pages of the console; the page itself reads which one it is. */
const CONSOLE_PAGES = ["/", ...Object.values(PLACES).map(({ pattern }) => pattern)];
const JSON_TYPE = { "content-type": "application/json" };
/** Requests whose response is being made; open streams do not count. */
const MAX_IN_PROGRESS = 512;
/** Bodies that are waited for before their sender proved who they are. They leave half of the requests in progress to others. */
const BODY_WAITS = { maxRequests: 256, maxPerSource: 32 };
const MAX_STREAMS = { console: 64, phones: 2000, unpaired: 200 };
/** For each administrator, for each paired phone, and for each source of phones that are not paired yet. */
const MAX_STREAMS_EACH = { console: 12, phones: 6, unpaired: 20 };

export function createHttpApp(deps: HttpAppDeps): HttpApp {
  const isProxy = deps.isProxy ?? (() => false);
  const publicUrl = new URL(deps.http.publicUrl);
  const streams = createStreams(deps.clock);
  const charts = createChartStore({
    ...deps,
    target: deps.connect?.config.radius.directory,
    longestLoginMs: deps.connect?.config.radius.conversationTtlMs,
  });
  charts.start();
  const consoleApi = createConsoleApi({
    ...deps,
    ...createAccessServices(deps),
    streams: streams.console,
    feed: createLiveFeed(deps),
    firstSteps: createFirstSteps(deps),
    charts,
    features: {
      approvals: deps.desk !== null,
      outbox: deps.outbox !== null,
      phone: deps.phone !== null,
    },
  });
  const checks: Checks = {
    limit: createConcurrencyLimit(),
    gate: createRequestGate({
      ...deps,
      settings: deps.http,
      bodyWaits: createRequestLimit({ ...BODY_WAITS, isProxy }),
    }),
  };
  const site = createSite(deps, { consoleApi, streams, checks });
  const operatorSite = createOperatorSite(deps, { consoleApi, checks });
  const app = async (request: Request, info: PeerInfo): Promise<Response> => {
    const remoteAddress = clientAddress(info.remoteAddress, {
      forwarded: request.headers.get("x-forwarded-for"),
      isProxy,
    });
    const secure = isSecure(request.url, publicUrl);
    return await site.fetch(request, { remoteAddress, secure, viaControlSocket: false });
  };
  return Object.assign(app, {
    answerOperator: async (request: Request) =>
      await operatorSite.fetch(request, { remoteAddress: "", secure: false, viaControlSocket: true }),
    close() {
      charts.stop();
      for (const one of Object.values(streams)) one.closeAll();
    },
  });
}

/** Over TLS, or by the public name behind a proxy that does TLS. */
function isSecure(url: string, publicUrl: URL): boolean {
  const asked = URL.parse(url);
  return asked !== null &&
    (asked.protocol === "https:" ||
      (publicUrl.protocol === "https:" && asked.hostname === publicUrl.hostname));
}

type Streams = Record<"console" | "phones" | "unpaired", EventStreams>;

function createStreams(clock: Clock): Streams {
  const open = (name: keyof Streams) =>
    createEventStreams({ clock, maxOpen: MAX_STREAMS[name], maxPerOwner: MAX_STREAMS_EACH[name] });
  return { console: open("console"), phones: open("phones"), unpaired: open("unpaired") };
}

/** What every request passes before its route. */
type Checks = Record<"limit" | "gate", MiddlewareHandler<HttpEnv>>;

/** Refuses requests while too many are in progress. An open stream does not count: its response exists. */
function createConcurrencyLimit(): MiddlewareHandler<HttpEnv> {
  let inProgress = 0;
  return async (_c, next) => {
    if (inProgress >= MAX_IN_PROGRESS) throw new Refusal("overloaded", { "retry-after": "1" });
    inProgress += 1;
    try {
      await next();
    } finally {
      inProgress -= 1;
    }
  };
}

type ConsoleRoutes = ReturnType<typeof createConsoleApi>;

/** The routes of the control socket: only the console's API. */
function createOperatorSite(
  deps: HttpAppDeps,
  { consoleApi, checks }: { consoleApi: ConsoleRoutes; checks: Checks },
): Hono<HttpEnv> {
  return new Hono<HttpEnv>()
    .onError((fault) => errorResponse(fault, deps))
    .notFound(() => refusalResponse(new Refusal("not_found")))
    .use(checks.gate)
    .route(CONSOLE_API_PATH, consoleApi);
}

/** The routes of the HTTP listener. */
function createSite(
  deps: HttpAppDeps,
  { consoleApi, streams, checks }: { consoleApi: ConsoleRoutes; streams: Streams; checks: Checks },
): Hono<HttpEnv> {
  const { clock, dist, phone, scim, openApi } = deps;
  const app = new Hono<HttpEnv>();
  app.onError((fault) => errorResponse(fault, deps));
  app.notFound((c) => {
    const isNavigation = c.req.method === "GET" && c.req.header("accept")?.includes("text/html") === true;
    // The console has a page that says so, with a link back.
    return isNavigation
      ? pageResponse("console", dist, { preload: messagePreload(c.req.raw), status: 404 })
      : refusalResponse(new Refusal("not_found"));
  });
  app.use(securityHeaders);
  if (scim !== undefined) {
    // The checks are below its error handler, so that their refusals have its format.
    const checked = new Hono<ScimEnv>().onError(scim.onError).use(checks.limit, checks.gate);
    app.route(scim.prefix, checked.route("/", scim.routes));
  }
  app.use(checks.gate);
  // Monitoring is answered also when too many requests are in progress. It has no body, and takes no time.
  app.route(
    "/",
    createMonitoringRoutes({
      ...deps,
      residentOctets: deps.residentOctets ?? (() => Deno.memoryUsage().rss),
      openStreams: () => Object.values(streams).reduce((sum, one) => sum + one.openCount(), 0),
    }),
  );
  app.use(checks.limit);
  app.route(CONSOLE_API_PATH, consoleApi);
  app.route(
    "/device/api",
    createDeviceApi({
      phone,
      streams: streams.phones,
      unpairedStreams: streams.unpaired,
      clock,
      notices: phoneNoticesOf(deps),
    }),
  );
  const door = createLazyDoor(deps);
  app.route("/me/approve", createApproveRoutes({ ...deps, door }));
  app.route("/me/api", createMeApi({ ...deps, door }));
  for (const path of CONSOLE_PAGES) {
    app.get(path, (c) => pageResponse("console", dist, { preload: consolePreload(c.req.raw) }));
  }
  app.get(
    "/device",
    phone === null
      ? () => sentence("no_phone_page")
      : (c) => pageResponse("device", dist, { preload: messagePreload(c.req.raw) }),
  );
  app.get("/me", (c) => pageResponse("me", dist, { preload: messagePreload(c.req.raw) }));
  if (openApi !== undefined) {
    let octets: Uint8Array<ArrayBuffer> | null = null;
    app.get("/openapi.json", (c) => c.body(octets ??= new TextEncoder().encode(openApi()), 200, JSON_TYPE));
  }
  app.get("/assets/:name", (c) => {
    const asset = dist.read(c.req.param("name"));
    if (asset === null) throw new Refusal("not_found");
    return assetResponse(asset, c.req.raw);
  });
  return app;
}

/** A refusal for a person who typed an address. */
function sentence(code: RefusalCode): Response {
  const { status, message } = REFUSALS[code];
  return new Response(`${message}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}

/** The response to an error. The cause of a failure goes to the log, under the id that the response shows. */
function errorResponse(fault: Error, { log, random }: { log: Log; random: Random }): Response {
  if (fault instanceof Refusal) return refusalResponse(fault);
  const id = random.bytes(4).toHex();
  log.error("an HTTP request failed", { id, error: fault.message, stack: fault.stack });
  const { status, message } = REFUSALS.internal;
  return Response.json({ error: { code: "internal", message, id } } satisfies RefusalBody, { status });
}
