// startConsole(): the console over HTTP, with fakes and a store in memory.

import type { AdminSettings } from "../../platform/config/config.ts";
import { AdminStore, createAdminPasswordHasher } from "../../console/api/auth/admin_store.ts";
import type { Dist } from "../../console/assets.ts";
import { createHttpApp, type HttpAppDeps } from "../../console/app.ts";
import type { HttpApp } from "../../platform/http/http_server.ts";
import { serveHttp } from "../../platform/http/http_listener.ts";
import { createLog, type Log } from "../../platform/log.ts";
import { type Clock, createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { LiveSettings } from "../../platform/config/live_settings.ts";
import { settingsFileOf } from "../platform/config/samples.ts";
import { createFakeOutbox, createFakeSecondFactorAdmin, createFakeWatch } from "./console_gateway.ts";
import { FakePhone } from "./console_phone.ts";

export const PASSWORD = "correct horse battery";
/** One administrator of each role, with the role as the name. */
export const ADMINS: readonly AdminSettings[] =
  (["owner", "user_manager", "operator", "help_desk", "viewer"] as const)
    .map((role) => ({ name: role, password: PASSWORD, role }));

/** Pages without files, for tests without a browser. */
export const EMPTY_DIST: Dist = {
  manifest: {
    inputs: { hash: "", files: [] },
    icon: "icon.svg",
    sprite: "sprite.svg",
    phoneApp: { manifest: "phone.webmanifest", worker: "worker.js", icons: [], touchIcon: "touch.png" },
    messages: { me: "messages-me" },
    pageMessages: {},
    pageModules: {},
    lazy: {},
    pages: { web: { scripts: ["web.js"], styles: ["web.css"], preloads: [] } },
  },
  read: (name) =>
    ["web.js", "worker.js"].includes(name)
      ? { body: new TextEncoder().encode("export {};"), type: "text/javascript; charset=utf-8", etag: '"e1"' }
      : null,
};

/** A manual clock; timers run when their time comes. */
export function createManualClock(startMs = 1_800_000_000_000): Clock & { advance(ms: number): void } {
  let nowMs = startMs;
  let timers: { atMs: number; task: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    after(delayMs, task) {
      const timer = { atMs: nowMs + delayMs, task };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
    advance(ms) {
      const endMs = nowMs + ms;
      while (true) {
        const next = timers.toSorted((a, b) => a.atMs - b.atMs).find(({ atMs }) => atMs <= endMs);
        if (next === undefined) break;
        timers = timers.filter((one) => one !== next);
        nowMs = Math.max(nowMs, next.atMs);
        next.task();
      }
      nowMs = endMs;
    },
  };
}

interface ConsoleOptions {
  readonly admins?: readonly AdminSettings[];
  readonly dist?: Dist;
  readonly clock?: Clock;
  /** A store that others write to and close as well; the default is a store of its own. */
  readonly store?: Store;
  readonly port?: number;
  readonly sessionMs?: number;
  readonly secondFactor?: "offered" | "required";
  readonly idleMs?: number;
  readonly change?: (deps: HttpAppDeps) => HttpAppDeps;
}

/** Ports of consoles that ended: what a browser loaded from one of them, it need not load again. */
const freePorts: number[] = [];

export type TestConsole = Awaited<ReturnType<typeof startConsole>>;

/** The console's application on its own port, with fakes and a store in memory. Declare it with `await using`. */
export async function startConsole(options: ConsoleOptions = {}) {
  const { clock = systemClock, admins: configAdmins = ADMINS } = options;
  const random = createSystemRandom();
  const lines: string[] = [];
  const write = (octets: Uint8Array) => void lines.push(new TextDecoder().decode(octets));
  const log = createLog({ format: "text", level: "debug", clock: systemClock, write });
  const store = options.store ?? createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  let usedStore = store;
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const watch = createFakeWatch();
  const secondFactorAdmin = createFakeSecondFactorAdmin((mutations) => usedStore.commit({ mutations }));
  const outbox = createFakeOutbox();
  const phone = new FakePhone(clock.nowMs);
  const isForBrowser = options.dist !== undefined && options.port === undefined;
  const freePort = isForBrowser ? freePorts.pop() : undefined;
  const { listener, serve } =
    await (freePort === undefined
      ? listen(log, options.port)
      : listen(log, freePort).catch(() => listen(log)));
  const origin = `http://127.0.0.1:${listener.address.port}`;
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 4 } });
  const admins = new AdminStore({
    store,
    vault,
    clock,
    random,
    log,
    http: { publicUrl: origin },
    configAdmins,
    hasher,
  });
  const deps: HttpAppDeps = {
    http: { listen: listener.address, publicUrl: origin },
    console: {
      sessionMs: options.sessionMs ?? 12 * 3_600_000,
      idleMs: options.idleMs ?? 15 * 60_000,
      secondFactor: options.secondFactor ?? "offered",
      admins: configAdmins,
    },
    ...{ log, clock, random, vault, store, admins, watch },
    phone: () => phone,
    secondFactorAdmin: () => secondFactorAdmin,
    outbox: () => outbox,
    settings: new LiveSettings({ file: settingsFileOf(""), store, vault, clock, log }),
    installation: { version: "0.0.0", runtime: "0.0.0", startedMs: clock.nowMs(), file: null },
    ready: () => ({ ok: true, parts: { store: "ok" } }),
    dist: options.dist ?? EMPTY_DIST,
  };
  const changed = options.change?.(deps) ?? deps;
  usedStore = changed.store;
  const app = createHttpApp(changed);
  serve(app);
  return {
    ...{ origin, app, admins, store, watch, secondFactorAdmin, outbox, phone, log, lines },
    ...consoleCalls(origin),
    async [Symbol.asyncDispose]() {
      await listener.stop({ deadlineMs: 500 });
      if (isForBrowser) freePorts.push(listener.address.port);
      if (options.store === undefined) await store.close();
      await log.flush();
    },
  };
}

/** Listens before the application exists, because the application must know its address. */
async function listen(log: Log, port = 0) {
  let app: HttpApp | null = null;
  const starting = () => Promise.resolve(new Response(null, { status: 503 }));
  const forward: HttpApp = Object.assign(
    (request: Request, info: { remoteAddress: string }) => app?.(request, info) ?? starting(),
    {
      answerControlSocket: (request: Request) => app?.answerControlSocket(request) ?? starting(),
      close: () => app?.close(),
    },
  );
  const address = { hostname: "127.0.0.1", port };
  const listener = await serveHttp({ listen: address, tls: null, app: forward, log, clock: systemClock });
  return { listener, serve: (ready: HttpApp) => void (app = ready) };
}

function consoleCalls(origin: string) {
  const call = (path: string, { method = "GET", json, cookie, headers = {} }: CallOptions = {}) =>
    fetch(origin + path, {
      method,
      redirect: "manual",
      headers: {
        ...(method === "GET" || method === "HEAD" ? {} : { origin }),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(cookie === undefined ? {} : { cookie }),
        ...headers,
      },
      body: json === undefined ? undefined : JSON.stringify(json),
    });
  return {
    call,
    /** Signs in; returns the cookie. */
    async signIn(name: string): Promise<string> {
      const json = { name, password: PASSWORD };
      const response = await call("/console/api/session", { method: "POST", json });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`Cannot sign in as ${name}: ${response.status}`);
      return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    },
  };
}

export interface CallOptions {
  readonly method?: string;
  readonly json?: unknown;
  readonly cookie?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
