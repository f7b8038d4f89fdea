// A console that listens on a port of its own, over fakes and a store in memory.

import type { AdminSettings } from "../../platform/config/config.ts";
import { createAdmins } from "../../console/api/auth/admin_store.ts";
import { createPasswordHasher } from "../../console/api/auth/passwords.ts";
import type { Dist } from "../../console/assets.ts";
import { createHttpApp, type HttpApp, type HttpAppDeps } from "../../console/http.ts";
import { serveHttp } from "../../console/listener.ts";
import { createLog } from "../../platform/log.ts";
import { type Clock, createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { createFakeDesk, createFakeOutbox, createFakeWatch } from "./console_gateway.ts";
import { createFakePhone } from "./console_phone.ts";

export const PASSWORD = "correct horse battery";
/** One administrator of each role, named like it. */
export const ADMINS: readonly AdminSettings[] = (["owner", "user_manager", "operator", "viewer"] as const)
  .map((role) => ({ name: role, password: PASSWORD, role }));

/** Pages without their files: enough for what is no browser. */
export const EMPTY_DIST: Dist = {
  manifest: {
    inputs: "",
    icon: "icon.svg",
    sprite: "sprite.svg",
    catalogues: { me: { en: "messages-me-en.json", de: "messages-me-de.json" } },
    late: {},
    pages: { web: { scripts: ["web.js"], styles: ["web.css"], preloads: [] } },
  },
  read: (name) =>
    name === "web.js"
      ? { body: new TextEncoder().encode("export {};"), type: "text/javascript; charset=utf-8", etag: '"e1"' }
      : null,
};

/** A clock that tests move; timers run when their time comes. */
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
  /** One that others write to as well, who also close it; its own unless given. */
  readonly store?: Store;
  readonly port?: number;
  readonly sessionMs?: number;
  readonly idleMs?: number;
  readonly change?: (deps: HttpAppDeps) => HttpAppDeps;
}

export type TestConsole = Awaited<ReturnType<typeof startConsole>>;

export async function startConsole(options: ConsoleOptions = {}) {
  const clock = options.clock ?? systemClock;
  const random = createSystemRandom();
  const lines: string[] = [];
  const log = createLog({
    format: "text",
    level: "debug",
    clock: systemClock,
    write: (octets) => void lines.push(new TextDecoder().decode(octets)),
  });
  const store = options.store ?? createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  let usedStore = store;
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const watch = createFakeWatch();
  const desk = createFakeDesk((mutations) => usedStore.commit({ mutations }));
  const outbox = createFakeOutbox();
  const phone = createFakePhone(clock.nowMs);
  let app: HttpApp | null = null;
  const late: HttpApp = Object.assign(
    (request: Request, info: { remoteAddress: string }) =>
      app === null ? Promise.resolve(new Response(null, { status: 503 })) : app(request, info),
    {
      answerOperator: (request: Request) =>
        app?.answerOperator(request) ?? Promise.resolve(new Response(null, { status: 503 })),
      close: () => app?.close(),
    },
  );
  // The application must know its address, which is known once it listens.
  const listener = await serveHttp({
    listen: { hostname: "127.0.0.1", port: options.port ?? 0 },
    tls: null,
    app: late,
    log,
    clock: systemClock,
  });
  const origin = `http://127.0.0.1:${listener.address.port}`;
  const admins = createAdmins({
    store,
    vault,
    clock,
    random,
    log,
    publicUrl: origin,
    configAdmins: options.admins ?? ADMINS,
    hasher: createPasswordHasher({ random, cost: { costLog2: 4 } }),
  });
  const deps: HttpAppDeps = {
    http: { listen: listener.address, publicUrl: origin },
    console: {
      sessionMs: options.sessionMs ?? 12 * 3_600_000,
      idleMs: options.idleMs ?? 15 * 60_000,
      admins: options.admins ?? ADMINS,
    },
    log,
    clock,
    random,
    vault,
    store,
    admins,
    watch,
    phone,
    desk,
    outbox,
    installation: { version: "0.0.0", runtime: "0.0.0", startedMs: clock.nowMs(), file: null, settings: [] },
    ready: () => ({ ok: true, parts: { store: "ok" } }),
    dist: options.dist ?? EMPTY_DIST,
  };
  const changed = options.change?.(deps) ?? deps;
  usedStore = changed.store;
  app = createHttpApp(changed);

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
    origin,
    app,
    admins,
    store,
    watch,
    desk,
    outbox,
    phone,
    log,
    lines,
    call,
    /** Signs in; returns the cookie to send. */
    async signIn(name: string): Promise<string> {
      const response = await call("/console/api/session", {
        method: "POST",
        json: { name, password: PASSWORD },
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`Cannot sign in as ${name}: ${response.status}`);
      return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    },
    async [Symbol.asyncDispose]() {
      await listener.stop({ deadlineMs: 500 });
      if (options.store === undefined) await store.close();
      await log.flush();
    },
  };
}

export interface CallOptions {
  readonly method?: string;
  readonly json?: unknown;
  readonly cookie?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
