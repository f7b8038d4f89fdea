// The HTTP application: one Hono application with SCIM, the console, the pages of users, their APIs
// and monitoring. Every response passes the same checks and has the security headers, errors included.

import { type Handler, Hono, type MiddlewareHandler } from "hono";
import type { Log } from "../platform/log.ts";
import type { GeoIp } from "../platform/geoip/geoip.ts";
import type { SessionAdministration } from "../radius/dynamic_authorization/disconnects.ts";
import type { Cluster } from "../platform/cluster/cluster.ts";
import type { GatewayMonitor } from "../radius/ports.ts";
import type { LogExport } from "../platform/log_export/log_export.ts";
import { type Clock, type Random, withTimeout } from "../platform/runtime.ts";
import type { ScimApp, ScimEnv } from "../scim/http/app.ts";
import type { Store } from "../platform/store.ts";
import type { DeviceService, SecondFactorAdmin } from "../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxMessages } from "../upstream/embedded/telephony/outbox.ts";
import type { ServiceTrial } from "../upstream/services.ts";
import type { Vault } from "../platform/vault.ts";
import type { AdminStore } from "./api/auth/admin_store.ts";
import { type Sessions, sessionToken } from "./api/auth/sessions.ts";
import { type AuthServiceDeps, createAuthServices } from "./api/auth/auth_services.ts";
import { ChartStore } from "./api/charts/chart_store.ts";
import { phoneReportOf } from "./api/account/account_logins.ts";
import { createDeviceApi, type DeviceApiDeps, phoneNamesOf } from "./api/devices/device_api.ts";
import { CONSOLE_API_PATH, type ConsoleApiDeps, createConsoleApi } from "./api/console_api.ts";
import { callerReportOf, phoneNoticesOf } from "./api/notices/notices.ts";
import { createEventStreams, type EventStreams } from "./api/conversations/event_stream.ts";
import { createInvitedApp } from "./api/enrolment/invited_app.ts";
import type { EnrolmentService } from "./api/enrolment/enrolment_service.ts";
import type { GroupRouteDeps } from "./api/groups/group_routes.ts";
import type { HttpEnv } from "./api/hono_env.ts";
import { createOnboarding } from "./api/onboarding/onboarding.ts";
import { LiveFeed } from "./api/conversations/event_feed.ts";
import type { Connect, People, Transfer } from "./api/deps.ts";
import { createTargetRefreshes } from "./api/targets/target_routes.ts";
import { createAccountApi, createLazyAccountAuth } from "./api/account/account_api.ts";
import { openHealth } from "./api/health/health.ts";
import { createMonitoringRoutes } from "./api/health/metrics.ts";
import type { Readiness } from "./api/health/readiness.ts";
import { ERROR_CODES } from "./api/error_codes.ts";
import { Refusal, type RefusalBody, refusalResponse } from "./api/errors.ts";
import type { LiveSettings } from "../platform/config/live_settings.ts";
import type { Installation } from "./api/settings/setting_routes.ts";
import { acceptedEncodings, assetResponse, type Dist } from "./assets.ts";
import {
  clientAddress,
  createRequestGate,
  createRequestLimit,
  type HttpSettings,
  securityHeaders,
  WORKER_POLICY,
} from "./request_gate.ts";
import { consoleResponse, messagePreload, pageResponse } from "./html_shell.ts";
import { HOME_PATH, PAGE_ROUTES, REDIRECT_PATTERNS, redirectedPath, startPath } from "./web/app/routes.ts";
import { createApproveRoutes } from "./approval/approve_routes.ts";
import type { HttpApp, PeerInfo } from "../platform/http/http_server.ts";
import { NotUpgraded } from "../platform/upgrade/store_format.ts";

export interface HttpAppDeps extends Pick<ConsoleApiDeps, "mail" | "shadow"> {
  readonly http: HttpSettings;
  readonly settings: LiveSettings;
  /** Tests settings of services before they are saved. Absent: the console runs without services. */
  readonly serviceTrial?: ServiceTrial;
  readonly console: AuthServiceDeps["console"];
  /** Calls the sign-in provider. Default: the global `fetch`. */
  readonly fetch?: AuthServiceDeps["fetch"];
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly vault: Vault;
  readonly store: Store;
  /** The nodes that share the store. Absent: this process uses it alone. */
  readonly cluster?: Pick<Cluster, "isShared" | "list" | "openLease" | "figures"> | undefined;
  readonly admins: AdminStore;
  readonly watch: GatewayMonitor;
  /** Country and network of addresses. Absent: no GeoIP database. */
  readonly geoIp?: Pick<GeoIp, "isConfigured" | "locate" | "files"> | undefined;
  /** VPN sessions from accounting. Absent: the console runs without a gateway. */
  /** These return `null` while an external service is used. */
  readonly vpnSessions?: SessionAdministration;
  /** These three return `null` while an external service is used. */
  readonly phone: () => DeviceService | null;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly phonePages?: DeviceApiDeps["pages"];
  readonly outbox: () => OutboxMessages | null;
  /** Users of the directory with their factors. Absent: the console runs without a directory. */
  readonly people?: People;
  /** Services for clients, targets, credentials and health. Absent: the console runs without a gateway. */
  readonly connect?: Connect;
  /** Campaigns and reminders. Absent: the console runs without a directory. */
  readonly enrolment?: EnrolmentService | undefined;
  /** Imports and exports users and groups. */
  readonly transfer?: Transfer;
  /** Sends records to other systems. */
  readonly logExport?: LogExport;
  readonly alerts?: ConsoleApiDeps["alerts"];
  /** Reply attributes of groups. */
  readonly replies?: GroupRouteDeps["replies"];
  /** Reply attributes of single users. */
  readonly userReplies?: ConsoleApiDeps["userReplies"];
  /** For the Settings page. */
  readonly installation: Installation;
  readonly secretSettings?: ConsoleApiDeps["secretSettings"];
  readonly ready: () => Readiness;
  readonly dist: Dist;
  /** The SCIM interfaces. Absent: the console runs without them. */
  readonly scim?: readonly ScimApp[];
  /** The OpenAPI description of SCIM, as JSON in UTF-8; served at /openapi.json without authentication. */
  readonly openApi?: () => Promise<Uint8Array<ArrayBuffer>>;
  readonly residentOctets?: () => number;
  readonly bodyDeadlineMs?: number;
  /** Whether an address is a reverse proxy whose X-Forwarded-For is trusted. Default: no address is. */
  readonly isProxy?: (address: string) => boolean;
}

/** All pages of the console have the same HTML. The script reads the address. */
const CONSOLE_PAGES = Object.values(PAGE_ROUTES).map(({ pattern }) => pattern);
const JSON_TYPE = { "content-type": "application/json" };
/** Requests in progress. Open streams do not count. */
const MAX_IN_PROGRESS = 512;
/** Pending bodies of unauthenticated senders. Half of the requests in progress remain for others. */
const BODY_WAITS = { maxRequests: 256, maxPerSource: 32 };
/** Anonymous requests that wait for another service, such as the sign-in provider. */
const SERVICE_WAITS = { maxRequests: 32, maxPerSource: 16 };
const MAX_STREAMS = { console: 64, phones: 2000, unpaired: 200 };
/** For each administrator, for each paired phone, and for each source of phones that are not paired yet. */
const MAX_STREAMS_EACH = { console: 12, phones: 6, unpaired: 20 };
/** For all phones of one user, so that a stolen phone takes no place from the others. */
const MAX_STREAMS_PER_PERSON = { console: 12, phones: 24, unpaired: 20 };
/** The last places for owners: administrators with few rights cannot hide what happens from them. */
const RESERVED_STREAMS = { console: 16, phones: 0, unpaired: 0 };

export function createHttpApp(deps: HttpAppDeps): HttpApp {
  const isProxy = deps.isProxy ?? (() => false);
  const streams = createStreams(deps.clock);
  const charts = new ChartStore({
    ...deps,
    target: () => deps.connect?.config.radius.directory,
  });
  charts.start();
  const feed = new LiveFeed(deps);
  deps.settings.onChange(() => feed.followServices());
  const auth = createAuthServices(deps);
  const health = openHealth({ ...deps, ...auth });
  const monitoring = createMonitoringRoutes({
    ...{ ...deps, health },
    residentOctets: deps.residentOctets ?? (() => Deno.memoryUsage().rss),
    openStreams: () => Object.values(streams).reduce((sum, one) => sum + one.openCount(), 0),
  });
  const consoleApi = createConsoleApi({
    ...{ ...deps, ...auth, health },
    streams: streams.console,
    serviceWaits: createRequestLimit({ ...SERVICE_WAITS, isProxy }),
    feed,
    firstSteps: createOnboarding(deps),
    refreshes: createTargetRefreshes(deps),
    charts,
    features: () => ({
      approvals: deps.secondFactorAdmin() !== null,
      outbox: deps.outbox() !== null,
      phone: deps.phone() !== null,
    }),
  });
  const checks: Checks = {
    limit: createConcurrencyLimit(),
    gate: createRequestGate({
      ...deps,
      settings: deps.http,
      bodyWaits: createRequestLimit({ ...BODY_WAITS, isProxy }),
    }),
    catchUp: createStoreCatchUp(deps),
  };
  const site = createSite(deps, { consoleApi, monitoring, streams, checks, sessions: auth.sessions });
  const operatorSite = createOperatorSite(deps, { consoleApi, monitoring, checks });
  const app = async (request: Request, info: PeerInfo): Promise<Response> => {
    const remoteAddress = clientAddress(info.remoteAddress, {
      forwarded: request.headers.get("x-forwarded-for"),
      isProxy,
    });
    const secure = isSecure(request.url, new URL(deps.http.publicUrl));
    return await site.fetch(request, { remoteAddress, secure, viaControlSocket: false });
  };
  return Object.assign(app, {
    answerControlSocket: async (request: Request) =>
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
    createEventStreams({
      clock,
      maxOpen: MAX_STREAMS[name],
      maxPerOwner: MAX_STREAMS_EACH[name],
      maxPerPerson: MAX_STREAMS_PER_PERSON[name],
      reserved: RESERVED_STREAMS[name],
    });
  return { console: open("console"), phones: open("phones"), unpaired: open("unpaired") };
}

/** The checks before every route. */
type Checks = Record<"limit" | "gate" | "catchUp", MiddlewareHandler<HttpEnv>>;

/** The routes that read what other nodes write. Static files and monitoring do not wait. */
const STATE_PATHS = [CONSOLE_API_PATH, "/device/api", "/me/approve", "/me/api"];

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

interface SiteParts {
  readonly consoleApi: ConsoleRoutes;
  readonly monitoring: ReturnType<typeof createMonitoringRoutes>;
  readonly streams: Streams;
  readonly checks: Checks;
  readonly sessions: Sessions;
}

/** The routes of the control socket: the console's API, and monitoring. */
function createOperatorSite(
  deps: HttpAppDeps,
  { consoleApi, monitoring, checks }: Pick<SiteParts, "consoleApi" | "monitoring" | "checks">,
): Hono<HttpEnv> {
  return new Hono<HttpEnv>()
    .onError((fault) => errorResponse(fault, deps))
    .notFound(() => refusalResponse(new Refusal("not_found")))
    .use(checks.gate)
    .route("/", monitoring)
    .use(checks.catchUp)
    .route(CONSOLE_API_PATH, consoleApi);
}

/** The routes of the HTTP listener. */
function createSite(
  deps: HttpAppDeps,
  { consoleApi, monitoring, streams, checks, sessions }: SiteParts,
): Hono<HttpEnv> {
  const { clock, dist, phone, scim = [], openApi } = deps;
  const app = new Hono<HttpEnv>();
  app.onError((fault) => errorResponse(fault, deps));
  app.notFound((c) => {
    const isNavigation = c.req.method === "GET" && c.req.header("accept")?.includes("text/html") === true;
    // The console shows a page for unknown addresses.
    return isNavigation
      ? pageResponse("console", dist, { preload: messagePreload(c.req.raw), status: 404 })
      : refusalResponse(new Refusal("not_found"));
  });
  app.use(securityHeaders);
  for (const { prefix, routes, onError } of scim) {
    // The checks are below its error handler, so that their refusals have its format.
    const checked = new Hono<ScimEnv>().onError(onError).use(checks.limit, checks.gate);
    app.route(prefix, checked.route("/", routes));
  }
  app.use(checks.gate);
  // Monitoring has no limit: its requests have no body and are fast.
  app.route("/", monitoring);
  app.use(checks.limit);
  for (const path of STATE_PATHS) app.use(`${path}/*`, checks.catchUp);
  app.use(`${CONSOLE_API_PATH}/*`, compressAnswers);
  app.route(CONSOLE_API_PATH, consoleApi);
  const accountAuth = createLazyAccountAuth(deps);
  app.route(
    "/device/api",
    createDeviceApi({
      phone,
      pages: deps.phonePages ?? (() => null),
      ...{ store: deps.store, vault: deps.vault },
      ...{ clock, streams: streams.phones, unpairedStreams: streams.unpaired },
      names: phoneNamesOf(deps),
      invitedApp: createInvitedApp(deps),
      notices: phoneNoticesOf(deps),
      callerReport: callerReportOf(deps),
      report: phoneReportOf({ ...deps, accountAuth }),
    }),
  );
  app.route("/me/approve", createApproveRoutes({ ...deps, accountAuth }));
  app.route("/me/api", createAccountApi({ ...deps, accountAuth }));
  app.get("/", openStartPage(sessions));
  for (const path of REDIRECT_PATTERNS) {
    app.get(path, (c) => {
      const { pathname, search } = new URL(c.req.url);
      return c.redirect((redirectedPath(pathname) ?? HOME_PATH) + search);
    });
  }
  for (const path of CONSOLE_PAGES) {
    app.get(path, compressAnswers, (c) => consoleResponse(c.req.raw, dist));
  }
  app.route("/", createPhonePageRoutes({ phone, dist }));
  app.get("/me", (c) => pageResponse("me", dist, { preload: messagePreload(c.req.raw) }));
  if (openApi !== undefined) {
    app.get("/openapi.json", async (c) => c.body(await openApi(), 200, JSON_TYPE));
  }
  app.get("/assets/:name", (c) => {
    const asset = dist.read(c.req.param("name"));
    if (asset === null) throw new Refusal("not_found");
    return assetResponse(asset, c.req.raw);
  });
  return app;
}

/** Redirects to the page of the role. */
function openStartPage(sessions: Sessions): Handler<HttpEnv> {
  return async (c) => {
    // Without the store, the page says what is wrong.
    const session = await sessions.resume(sessionToken(c), { countsAsUse: false }).catch(() => null);
    return c.redirect(startPath(session?.admin.role) + new URL(c.req.url).search);
  };
}

/** The response to an error. The cause of a failure goes to the log, under the id that the response shows. */
function errorResponse(fault: Error, { log, random }: { log: Log; random: Random }): Response {
  if (fault instanceof Refusal) return refusalResponse(fault);
  if (fault instanceof NotUpgraded) return refusalResponse(new Refusal("mixed_versions"));
  const id = random.bytes(4).toHex();
  log.error("an HTTP request failed", { id, error: fault.message, stack: fault.stack });
  const { status, message } = ERROR_CODES.internal;
  return Response.json({ error: { code: "internal", message, id } } satisfies RefusalBody, { status });
}

// Compresses pages and the answers of the console's API. Files of the build are compressed already, see assets.ts.
//
// Only answers to GET requests: they contain no secret. The length of a compressed answer tells whether a guess that the
// answer repeats is right, so an answer with a secret must not be compressed.

/** Compressing less saves no packet. */
const MIN_OCTETS = 1024;
const COMPRESSIBLE = /^(?:application\/json|text\/html)\b/;

export const compressAnswers: MiddlewareHandler = async (c, next) => {
  await next();
  const { headers, body } = c.res;
  // An export is a download, and too large to be held in memory.
  if (c.req.method !== "GET" || body === null || headers.has("content-disposition")) return;
  if (!COMPRESSIBLE.test(headers.get("content-type") ?? "")) return;
  headers.append("vary", "accept-encoding");
  if (!acceptedEncodings(c.req.raw).includes("gzip")) return;
  const octets = await c.res.bytes();
  const isLarge = octets.length >= MIN_OCTETS;
  c.res = new Response(isLarge ? await gzip(octets) : octets, c.res);
  c.res.headers.delete("content-length");
  if (isLarge) c.res.headers.set("content-encoding", "gzip");
};

function gzip(octets: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Response(new Blob([octets]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
}

// The addresses of the phone page: the page, its web app manifest and its service worker. They are below /device/, which is the
// scope of the installed app, so that the worker never controls the console.

interface PhonePageDeps {
  /** `null` while an external service is used: there is no phone page. */
  readonly phone: () => DeviceService | null;
  readonly dist: Dist;
}

const PERMANENT_REDIRECT = 308;
/** Browsers ask for these files at each visit. */
const REVALIDATED = { "cache-control": "no-cache" };

function createPhonePageRoutes({ phone, dist }: PhonePageDeps) {
  const file = (name: string, request: Request, headers: Readonly<Record<string, string>>): Response => {
    const asset = dist.read(name);
    if (asset === null) throw new Refusal("not_found");
    return assetResponse(asset, request, { ...REVALIDATED, ...headers });
  };
  const { phoneApp } = dist.manifest;
  return new Hono<HttpEnv>()
    // The browser keeps the fragment with an invitation (RFC 9110 §10.2.2).
    .get("/device", (c) => c.redirect(`/device/${new URL(c.req.url).search}`, PERMANENT_REDIRECT))
    .get(
      "/device/",
      (c) =>
        phone() === null
          ? noPhonePage()
          : pageResponse("device", dist, { preload: messagePreload(c.req.raw) }),
    )
    .get("/device/manifest.webmanifest", (c) => file(phoneApp.manifest, c.req.raw, {}))
    .get(
      "/device/sw.js",
      (c) => file(phoneApp.worker, c.req.raw, { "content-security-policy": WORKER_POLICY }),
    );
}

/** A refusal for a person who typed the address. */
function noPhonePage(): Response {
  const { status, message } = ERROR_CODES.no_phone_page;
  return new Response(`${message}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}

// With several nodes on one store, a request first waits until this node has what other nodes changed before it.

const DEADLINE_MS = 3000;

/** @throws Refusal `store_silent` if the store does not answer in time. Costs nothing if only this node uses the store. */
function createStoreCatchUp(
  { store, clock }: { store: Pick<Store, "catchUp">; clock: Clock },
): MiddlewareHandler<HttpEnv> {
  return async (_c, next) => {
    const catchingUp = store.catchUp();
    if (catchingUp !== null) {
      const reading = catchingUp.then(() => true, () => false);
      const caughtUp = await withTimeout(reading, { clock, timeoutMs: DEADLINE_MS });
      if (!caughtUp.inTime || !caughtUp.value) throw new Refusal("store_silent", { "retry-after": "1" });
    }
    await next();
  };
}
