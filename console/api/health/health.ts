// Health of the gateway's parts: listeners, certificate, store, backends and services. Some parts can be tested on request.

import { X509Certificate } from "node:crypto";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { LimitAlarm } from "../../../radius/factors/hourly_limits.ts";
import type { Store } from "../../../platform/store.ts";
import { type Connect, type People, requireGateway } from "../deps.ts";
import type { HealthPart, HealthReport } from "../targets/target_types.ts";
import { isBackendFailing } from "../targets/sync_problems.ts";
import { targetSummary } from "../targets/target_routes.ts";
import { nodeParts } from "../nodes/node_parts.ts";
import type { NodeRouteDeps } from "../nodes/node_routes.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface HealthDeps extends Pick<NodeRouteDeps, "cluster"> {
  readonly store: Store;
  readonly clock: Clock;
  /** Absent where the console runs without a directory. */
  readonly people?: Pick<People, "limits" | "factors"> | undefined;
}

interface Asked {
  readonly lastGoodMs: number | null;
  readonly problem: string | null;
}

const MAX_UNSIGNED = 50;
const DAY_MS = 24 * 3_600_000;
const CERTIFICATE_WARNING_DAYS = 21;
const SLOW_STORE_MS = 250;
const STORE_DEADLINE_MS = 3000;
/** No request has this id. A service that says so is reachable and accepts the credentials. */
const NO_REQUEST = "00000000-0000-4000-8000-000000000000";

export class Health {
  readonly #deps: HealthDeps;
  readonly #port: Connect;
  /** Results of tests, by part. */
  readonly #asked = new Map<string, Asked>();

  constructor(deps: HealthDeps, port: Connect) {
    this.#deps = deps;
    this.#port = port;
  }

  async parts(): Promise<HealthPart[]> {
    const { config, listening } = this.#port;
    const { people } = this.#deps;
    return [
      ...listening.radius.map((name) => this.#listener(`radius:${name}`, { kind: "radius", name })),
      this.#listener("http", { kind: "http", name: listening.http }),
      ...this.#certificate(),
      await this.#storePart(),
      ...nodeParts(this.#deps.cluster),
      ...this.#backends(),
      ...this.#outboxes(),
      this.#service("second_factor", config.secondFactor.url),
      this.#service("telephony", config.telephony.url),
      ...this.#unsigned(),
      ...(people === undefined ? [] : hourlyCounts(people)),
    ];
  }

  /** Tests one part. Resolves to its new state, or `null` if it cannot be tested. */
  async test(id: string): Promise<HealthPart | null> {
    const before = (await this.parts()).find((part) => part.id === id);
    if (before === undefined || !before.testable) return null;
    await this.#test(id);
    return (await this.parts()).find((part) => part.id === id) ?? null;
  }

  async #test(id: string): Promise<void> {
    const { secondFactor } = this.#port;
    if (id === "second_factor") {
      const outcome = await secondFactor.status(NO_REQUEST);
      const isReachable = outcome.ok || outcome.fault.kind === "unknown";
      this.#note(id, isReachable ? null : outcome.fault.detail);
    } else if (id === "telephony") {
      const answer = await this.#port.probeTelephony();
      if (answer !== null) this.#note(id, answer.ok ? null : answer.detail);
    } else if (id.startsWith("backend:")) {
      const [target = "", backend = ""] = id.slice("backend:".length).split("/");
      await this.#port.probe(target, backend);
    }
  }

  #note(id: string, problem: string | null): void {
    const lastGoodMs = problem === null ? this.#deps.clock.nowMs() : this.#asked.get(id)?.lastGoodMs ?? null;
    this.#asked.set(id, { lastGoodMs, problem });
  }

  /** A listener that serves this request is up. */
  #listener(id: string, { kind, name }: Pick<HealthPart, "kind" | "name">): HealthPart {
    return { ...PLAIN, id, kind, name, state: "ok", lastGoodMs: this.#deps.clock.nowMs() };
  }

  #certificate(): HealthPart[] {
    const { tls } = this.#port.config.http;
    if (tls === null) return [];
    const { validTo, subject } = new X509Certificate(tls.certPem);
    const days = Math.floor((Date.parse(validTo) - this.#deps.clock.nowMs()) / DAY_MS);
    const state = days < 0 ? "bad" : days < CERTIFICATE_WARNING_DAYS ? "warning" : "ok";
    return [{ ...PLAIN, id: "certificate", kind: "certificate", name: subject, state, figure: days }];
  }

  async #storePart(): Promise<HealthPart> {
    const { store, clock } = this.#deps;
    const startedMs = performance.now();
    const reading = store.get(["vault", "check"]).then(() => true, () => false);
    const timed = await withTimeout(reading, { clock, timeoutMs: STORE_DEADLINE_MS });
    const answers = timed.inTime && timed.value;
    const figure = Math.round(performance.now() - startedMs);
    const state = !answers ? "bad" : figure > SLOW_STORE_MS ? "warning" : "ok";
    const lastGoodMs = store.lastAnswerMs();
    return {
      ...PLAIN,
      id: "store",
      kind: "store",
      name: "Deno KV",
      state,
      figure,
      lastGoodMs,
      testable: true,
    };
  }

  /** The summaries of all targets. */
  #targets(): ReturnType<typeof targetSummary>[] {
    const { targets } = this.#port;
    return targets.names.flatMap((name) => {
      const found = targets.get(name);
      return found === null ? [] : [targetSummary(this.#port, found)];
    });
  }

  #backends(): HealthPart[] {
    return this.#targets().flatMap(({ name: target, backends }) =>
      backends.filter(({ kind }) => kind !== "store").map(({ name, lastGoodMs, lastFault }): HealthPart => {
        const isBad = isBackendFailing({ lastGoodMs, lastFault });
        return {
          ...PLAIN,
          id: `backend:${target}/${name}`,
          kind: "backend",
          name: `${target} / ${name}`,
          state: isBad ? "bad" : lastGoodMs === null ? "unknown" : "ok",
          lastGoodMs,
          detail: isBad ? lastFault?.detail ?? "" : "",
          testable: true,
        };
      })
    );
  }

  #outboxes(): HealthPart[] {
    return this.#targets().filter(({ backends }) => backends.some(({ kind }) => kind !== "store"))
      .map(({ name, backends }) => {
        const dead = backends.reduce((sum, row) => sum + row.dead, 0);
        const pending = backends.reduce((sum, row) => sum + row.owed, 0);
        const state = dead > 0 ? "bad" : pending > 0 ? "warning" : "ok";
        return { ...PLAIN, id: `outbox:${name}`, kind: "outbox", name, state, figure: pending + dead };
      });
  }

  /** Clients whose unsigned requests are accepted now: anyone who can send from their address can forge requests. */
  #unsigned(): HealthPart[] {
    return this.#port.register.unsigned().slice(0, MAX_UNSIGNED).map((
      { name, lastMs, isAlways },
    ): HealthPart => ({
      ...PLAIN,
      id: `unsigned:${name}`,
      kind: "unsigned",
      name,
      state: "warning",
      detail: isAlways ? "always" : lastMs > 0 ? "seen" : "possible",
    }));
  }

  #service(id: "second_factor" | "telephony", url: string): HealthPart {
    if (url === "") return this.#embedded(id);
    const { lastGoodMs = null, problem = null } = this.#asked.get(id) ?? {};
    const state = problem !== null ? "bad" : lastGoodMs === null ? "unknown" : "ok";
    return { ...PLAIN, id, kind: id, name: url, state, lastGoodMs, detail: problem ?? "", testable: true };
  }

  /** The embedded outbox sends nothing. The embedded second-factor service needs phones that reach its page. */
  #embedded(id: "second_factor" | "telephony"): HealthPart {
    const lastGoodMs = this.#deps.clock.nowMs();
    const part = { ...PLAIN, id, kind: id, name: "", state: "ok", lastGoodMs } as const;
    if (id === "telephony") return { ...part, state: "warning", note: "not_sent" };
    const { publicUrl } = this.#port.config.http;
    return isLoopbackUrl(publicUrl)
      ? { ...part, state: "warning", note: "loopback_url", name: publicUrl }
      : part;
  }
}

/** Whether only this host reaches the address. */
function isLoopbackUrl(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? "";
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Counts of the last hour with their limits. At the limit of messages nothing is sent, which is a failure. */
function hourlyCounts(
  { limits, factors: { sends, lockout } }: Pick<People, "limits" | "factors">,
): HealthPart[] {
  const figures = limits.figures();
  const alarms = limits.alarms();
  const isHigh = (kind: LimitAlarm["kind"]) => alarms.some((alarm) => alarm.kind === kind);
  const rows = [
    { kind: "sends", limit: sends.totalPerHour, high: "bad" },
    { kind: "failures", limit: lockout.warnFailuresPerHour, high: "warning" },
    { kind: "locks", limit: lockout.warnLocksPerHour, high: "warning" },
  ] as const;
  return [
    ...rows.map(({ kind, limit, high }): HealthPart => ({
      ...PLAIN,
      id: kind,
      kind,
      name: "",
      state: isHigh(kind) ? high : "ok",
      figure: figures[kind],
      limit,
    })),
    ...alarms.flatMap(({ kind, client = "", count, limit }): HealthPart[] =>
      kind !== "client_sends"
        ? []
        : [{ ...PLAIN, id: `${kind}:${client}`, kind, name: client, state: "bad", figure: count, limit }]
    ),
  ];
}

const PLAIN = { figure: null, lastGoodMs: null, detail: "", testable: false } as const;

export interface HealthRouteDeps extends HealthDeps {
  readonly connect?: Connect;
}

const TEST = v.strictObject({ id: v.pipe(v.string(), v.maxLength(200)) });

export function createHealthRoutes(deps: HealthRouteDeps) {
  const { connect, clock } = deps;
  const health = connect === undefined ? null : new Health(deps, connect);
  const required = () => {
    requireGateway(connect);
    if (health === null) throw new Refusal("no_directory");
    return health;
  };
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), async (c) => {
      const parts = await required().parts();
      return c.json({ nowMs: clock.nowMs(), parts } satisfies HealthReport);
    })
    .post("/test", may("operator"), jsonBody(TEST), async (c) => {
      const part = await required().test(c.req.valid("json").id);
      if (part === null) throw new Refusal("unknown_part");
      return c.json({ nowMs: clock.nowMs(), part });
    });
}
