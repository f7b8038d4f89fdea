// The HTTP listener's application: checks, then the console, the phone page, their APIs and monitoring, then the
// security headers. One door for every answer, errors included.

import { Hono } from "hono";
import type { Log } from "../platform/log.ts";
import type { SessionList } from "../radius/accounting/session_table.ts";
import type { GatewayWatch } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { DeviceService, SecondFactorAdmin } from "../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxMessages } from "../upstream/embedded/telephony/outbox.ts";
import type { Vault } from "../platform/vault.ts";
import type { Admins } from "./api/auth/admin_store.ts";
import { type AccessServiceDeps, createAccessServices } from "./api/auth/auth_services.ts";
import { type ChartStore, createChartStore } from "./api/charts/chart_store.ts";
import { CONSOLE_API_PATH, createConsoleApi } from "./api/console_api.ts";
import { createDeviceApi } from "./api/devices/device_api.ts";
import { phoneNoticesOf } from "./api/account/user_notices.ts";
import { createEventStreams } from "./api/conversations/event_stream.ts";
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
import { type Mount, mountOf, type PeerInfo, refusalOf } from "./mount.ts";
import { createRequestLimit } from "./request_limit.ts";
import { type AdmittedRequest, createRequestGate, type HttpSettings } from "./request_gate.ts";
import { createApproveRoutes } from "./me_pages/approve_routes.ts";
import { withSecurityHeaders } from "./security_headers.ts";

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
  readonly mounts?: readonly Mount[];
  /** The OpenAPI description of what is mounted, as JSON; served at /openapi.json to anybody. */
  readonly openApi?: () => string;
  readonly residentOctets?: () => number;
  readonly bodyDeadlineMs?: number;
  /** Whether an address is a reverse proxy whose X-Forwarded-For is trusted; none unless given. */
  readonly isProxy?: (address: string) => boolean;
}

/** Answers requests; never rejects. */
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
/** Answered also when there are too many requests. They have no body, and take no time. */
const UNLIMITED_PATHS = new Set(["/healthz", "/readyz", "/metrics"]);
const MAX_STREAMS = { console: 64, phones: 2000, unpaired: 200 };
/** For each administrator, for each paired phone, and for each source of phones that are not paired yet. */
const MAX_STREAMS_EACH = { console: 12, phones: 6, unpaired: 20 };

export function createHttpApp(deps: HttpAppDeps): HttpApp {
  const { clock, log, http } = deps;
  const bodyWaits = createRequestLimit({ ...BODY_WAITS, isProxy: deps.isProxy ?? (() => false) });
  const gate = createRequestGate({ settings: http, clock, bodyDeadlineMs: deps.bodyDeadlineMs, bodyWaits });
  const publicUrl = new URL(http.publicUrl);
  const streams = {
    console: createEventStreams({
      clock,
      maxOpen: MAX_STREAMS.console,
      maxPerOwner: MAX_STREAMS_EACH.console,
    }),
    phones: createEventStreams({ clock, maxOpen: MAX_STREAMS.phones, maxPerOwner: MAX_STREAMS_EACH.phones }),
    unpaired: createEventStreams({
      clock,
      maxOpen: MAX_STREAMS.unpaired,
      maxPerOwner: MAX_STREAMS_EACH.unpaired,
    }),
  };
  const charts = createChartStore({
    ...deps,
    target: deps.connect?.config.radius.directory,
    longestLoginMs: deps.connect?.config.radius.conversationTtlMs,
  });
  charts.start();
  const routes = createRoutes(deps, { streams, charts });

  let inProgress = 0;
  type Known = Pick<HttpEnv["Bindings"], "remoteAddress" | "secure" | "viaControlSocket">;
  const answer = async (request: Request, info: Known): Promise<Response> => {
    const path = URL.parse(request.url)?.pathname ?? "";
    const mount = info.viaControlSocket ? undefined : mountOf(path, deps.mounts ?? []);
    let admitted: AdmittedRequest | null = null;
    const isUnlimited = info.viaControlSocket || UNLIMITED_PATHS.has(path);
    inProgress += 1;
    try {
      if (inProgress > MAX_IN_PROGRESS && !isUnlimited) {
        throw new Refusal("overloaded", { "retry-after": "1" });
      }
      if (info.viaControlSocket && !path.startsWith(`${CONSOLE_API_PATH}/`)) throw new Refusal("not_found");
      admitted = gate.admit(request, info.remoteAddress, info);
      const { allowLargeBody } = admitted;
      const known = { ...info, allowLargeBody, listenerRefusal: (fault: unknown) => refusalOf(fault) };
      return await (mount?.handle(admitted.request, known) ?? routes.fetch(admitted.request, known));
    } catch (fault) {
      const refused = refusalOf(fault);
      if (refused !== null && mount?.refuse !== undefined) return mount.refuse(refused, request.url);
      return faultResponse(fault, { log, random: deps.random });
    } finally {
      inProgress -= 1;
      admitted?.release();
    }
  };
  const app = async (request: Request, info: PeerInfo): Promise<Response> => {
    const secure = isSecure(request.url, publicUrl);
    const remoteAddress = clientAddress(info.remoteAddress, {
      forwarded: request.headers.get("x-forwarded-for"),
      isProxy: deps.isProxy ?? (() => false),
    });
    const known = { remoteAddress, secure, viaControlSocket: false };
    return withSecurityHeaders(await answer(request, known), { secure });
  };
  return Object.assign(app, {
    answerOperator: (request: Request) =>
      answer(request, { remoteAddress: "", secure: false, viaControlSocket: true }),
    close() {
      charts.stop();
      streams.console.closeAll();
      streams.phones.closeAll();
      streams.unpaired.closeAll();
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

type Streams = Record<"console" | "phones" | "unpaired", ReturnType<typeof createEventStreams>>;

function createRoutes(deps: HttpAppDeps, { streams, charts }: { streams: Streams; charts: ChartStore }) {
  const { clock, log, dist, phone } = deps;
  const consoleApi = createConsoleApi({
    ...deps,
    ...createAccessServices(deps),
    streams: streams.console,
    feed: createLiveFeed(deps),
    firstSteps: createFirstSteps(deps),
    charts,
    features: { approvals: deps.desk !== null, outbox: deps.outbox !== null, phone: phone !== null },
  });
  const monitoring = createMonitoringRoutes({
    ...deps,
    residentOctets: deps.residentOctets ?? (() => Deno.memoryUsage().rss),
    openStreams: () =>
      streams.console.openCount() + streams.phones.openCount() + streams.unpaired.openCount(),
  });
  const app = new Hono<HttpEnv>();
  app.onError((fault) => faultResponse(fault, { log, random: deps.random }));
  app.notFound((c) => {
    const isNavigation = c.req.method === "GET" && c.req.header("accept")?.includes("text/html") === true;
    // The console has a page that says so, with a link back.
    return isNavigation
      ? pageResponse("console", dist, { preload: messagePreload(c.req.raw), status: 404 })
      : refusalResponse(new Refusal("not_found"));
  });
  app.route("/", monitoring);
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
  const { openApi } = deps;
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

/** The one place that turns what was thrown into an answer; the cause goes to the log, an id to both. */
function faultResponse(fault: unknown, { log, random }: { log: Log; random: Random }): Response {
  if (fault instanceof Refusal) return refusalResponse(fault);
  const id = random.bytes(4).toHex();
  const error = fault instanceof Error ? fault : new Error(String(fault));
  log.error("an HTTP request failed", { id, error: error.message, stack: error.stack });
  const { status, message } = REFUSALS.internal;
  return Response.json({ error: { code: "internal", message, id } } satisfies RefusalBody, { status });
}
