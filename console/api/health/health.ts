// How everything stands that the gateway hangs on: read at once, and each part that can be asked asked again.

import { X509Certificate } from "node:crypto";
import { withTimeout } from "../../../platform/timeout.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { LimitAlarm } from "../../../radius/factors/hourly_limits.ts";
import type { Store } from "../../../platform/store.ts";
import type { Connect } from "../clients/client_deps.ts";
import type { HealthPart } from "../targets/target_types.ts";
import type { People } from "../users/user_deps.ts";
import { summary } from "../targets/target_routes.ts";

export interface HealthDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Absent where the console runs without a directory. */
  readonly people?: Pick<People, "limits" | "factors"> | undefined;
}

export interface Health {
  parts(): Promise<HealthPart[]>;
  /** Asks one part; resolves to it as it stands then, or `null` when it cannot be asked. */
  test(id: string): Promise<HealthPart | null>;
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
/** No service has a request with this id: a service that answers so is reachable and accepts our credentials. */
const NO_REQUEST = "00000000-0000-4000-8000-000000000000";

export function createHealth({ store, clock, people }: HealthDeps, port: Connect): Health {
  /** What tests found, by part. */
  const asked = new Map<string, Asked>();
  const note = (id: string, problem: string | null): void => {
    const lastGoodMs = problem === null ? clock.nowMs() : asked.get(id)?.lastGoodMs ?? null;
    asked.set(id, { lastGoodMs, problem });
  };

  const parts = async (): Promise<HealthPart[]> => [
    ...port.listening.radius.map((name) => listener(`radius:${name}`, { kind: "radius", name })),
    listener("http", { kind: "http", name: port.listening.http }),
    ...certificate(),
    await storePart(),
    ...backends(),
    ...outboxes(),
    service("second_factor", port.config.secondFactor.url),
    service("telephony", port.config.telephony.url),
    ...unsigned(),
    ...(people === undefined ? [] : hourlyCounts(people)),
  ];

  /** It is served by what answers here, so it listens. */
  const listener = (id: string, { kind, name }: Pick<HealthPart, "kind" | "name">): HealthPart => ({
    ...PLAIN,
    id,
    kind,
    name,
    state: "ok",
    lastGoodMs: clock.nowMs(),
  });

  const certificate = (): HealthPart[] => {
    const { tls } = port.config.http;
    if (tls === null) return [];
    const { validTo, subject } = new X509Certificate(tls.certPem);
    const days = Math.floor((Date.parse(validTo) - clock.nowMs()) / DAY_MS);
    const state = days < 0 ? "bad" : days < CERTIFICATE_WARNING_DAYS ? "warning" : "ok";
    return [{ ...PLAIN, id: "certificate", kind: "certificate", name: subject, state, figure: days }];
  };

  const storePart = async (): Promise<HealthPart> => {
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
  };

  const backends = (): HealthPart[] =>
    port.targets.names.flatMap((target) => {
      const found = port.targets.get(target);
      return found === null ? [] : summary(port, found).backends
        .filter(({ kind }) => kind !== "store")
        .map(({ name, lastGoodMs, lastFault }): HealthPart => {
          const isBad = lastFault !== null && lastFault.kind !== "refused" &&
            lastFault.atMs >= (lastGoodMs ?? 0);
          const state = isBad ? "bad" : lastGoodMs === null ? "unknown" : "ok";
          return {
            ...PLAIN,
            id: `backend:${target}/${name}`,
            kind: "backend",
            name: `${target} / ${name}`,
            state,
            lastGoodMs,
            detail: isBad ? lastFault.detail : "",
            testable: true,
          };
        });
    });

  const outboxes = (): HealthPart[] =>
    port.targets.names.flatMap((name) => {
      const found = port.targets.get(name);
      if (found === null || found.backends.every(({ kind }) => kind === "store")) return [];
      const rows = summary(port, found).backends;
      const dead = rows.reduce((sum, row) => sum + row.dead, 0);
      const owed = rows.reduce((sum, row) => sum + row.owed, 0);
      const state = dead > 0 ? "bad" : owed > 0 ? "warning" : "ok";
      return [{ ...PLAIN, id: `outbox:${name}`, kind: "outbox", name, state, figure: owed + dead } as const];
    });

  /** Whose unsigned requests are accepted; a warning once one was, or if the settings never require a signature. */
  const unsigned = (): HealthPart[] =>
    port.register.unsigned().slice(0, MAX_UNSIGNED).map(({ name, lastMs, isAlways }) => ({
      ...PLAIN,
      id: `unsigned:${name}`,
      kind: "unsigned",
      name,
      state: isAlways || lastMs > 0 ? "warning" : "ok",
      detail: "message_authenticator",
    }));

  const service = (id: "second_factor" | "telephony", url: string): HealthPart => {
    if (url === "") return embedded(id);
    const { lastGoodMs = null, problem = null } = asked.get(id) ?? {};
    const state = problem !== null ? "bad" : lastGoodMs === null ? "unknown" : "ok";
    return { ...PLAIN, id, kind: id, name: url, state, lastGoodMs, detail: problem ?? "", testable: true };
  };

  /** The embedded outbox sends nothing; the embedded second-factor service is of use where phones reach its page. */
  const embedded = (id: "second_factor" | "telephony"): HealthPart => {
    const part = { ...PLAIN, id, kind: id, name: "", state: "ok", lastGoodMs: clock.nowMs() } as const;
    if (id === "telephony") return { ...part, state: "warning", note: "not_sent" };
    const { publicUrl } = port.config.http;
    return !isLoopbackUrl(publicUrl)
      ? part
      : { ...part, state: "warning", note: "loopback_url", name: publicUrl };
  };

  const ask = async (id: string): Promise<void> => {
    if (id === "second_factor") {
      const outcome = await port.secondFactor.status(NO_REQUEST);
      const isThere = outcome.ok || outcome.fault.kind === "unknown";
      note(id, isThere ? null : outcome.fault.detail);
    } else if (id === "telephony" && port.askTelephony !== null) {
      const { ok, detail } = await port.askTelephony();
      note(id, ok ? null : detail);
    } else if (id.startsWith("backend:")) {
      const [target = "", backend = ""] = id.slice("backend:".length).split("/");
      await port.probe(target, backend);
    }
  };

  return {
    parts,
    async test(id) {
      const before = (await parts()).find((part) => part.id === id);
      if (before === undefined || !before.testable) return null;
      await ask(id);
      return (await parts()).find((part) => part.id === id) ?? null;
    },
  };
}

/** Whether only this host reaches the address. */
function isLoopbackUrl(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? "";
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** What is counted over the last hour, against its limit. At a limit of messages nothing is sent, so that is a failure. */
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
