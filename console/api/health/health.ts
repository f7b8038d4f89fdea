// Health of the gateway's parts: listeners, certificate, store, backends and services. Some parts can be tested on request.

import { X509Certificate } from "node:crypto";
import { DAY_MS } from "../../../platform/durations.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { AlertService } from "../../../platform/alerts/alerts.ts";
import type { LogExport } from "../../../platform/log_export/log_export.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import type { Store } from "../../../platform/store.ts";
import { type Connect, type People, requireGateway } from "../deps.ts";
import type { HealthPart, HealthReport } from "../targets/target_types.ts";
import { isBackendFailing, targetSummary } from "../targets/target_routes.ts";
import { nodeParts, type NodeRouteDeps } from "../nodes/node_routes.ts";
import type { AdminCommands } from "../auth/admin_commands.ts";
import {
  administratorParts,
  alertParts,
  firstFactorParts,
  hourlyCounts,
  logExportParts,
  mailPart,
  outerIdentityParts,
  passwordPart,
  PLAIN_PART,
  policyParts,
  pushParts,
  serverPart,
  servicePart,
  shadowParts,
  type TestResult,
} from "./health_parts.ts";
import type { ShadowSource } from "../shadow/shadow_report.ts";
import { effectiveRules } from "../clients/client_routes.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface HealthDeps extends Pick<NodeRouteDeps, "cluster"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly mail?: MailService;
  /** Absent where the console runs without a directory. */
  readonly people?: Pick<People, "limits" | "factors" | "policies"> | undefined;
  readonly administrators?: Pick<AdminCommands, "list">;
  readonly isSecondFactorRequired?: () => boolean;
  /** Absent where the console runs without a gateway. */
  readonly logExport?: Pick<LogExport, "list"> | undefined;
  readonly alerts?: Pick<AlertService, "listReceivers"> | undefined;
  readonly shadow?: Pick<ShadowSource, "clients">;
}

const MAX_UNSIGNED = 50;
/** Later than the alert (END_WARNING_DAYS), because this warning stays on the page. */
const CERTIFICATE_WARNING_DAYS = 21;
const SLOW_STORE_MS = 250;
const STORE_DEADLINE_MS = 3000;
/** No request has this id. A service that says so is reachable and accepts the credentials. */
const NO_REQUEST = "00000000-0000-4000-8000-000000000000";

export class Health {
  readonly #deps: HealthDeps;
  readonly #port: Connect;
  /** Results of tests, by part and address: a result does not apply to another server. */
  readonly #asked = new Map<string, TestResult>();

  constructor(deps: HealthDeps, port: Connect) {
    this.#deps = deps;
    this.#port = port;
  }

  async parts(): Promise<HealthPart[]> {
    const { listening } = this.#port;
    const { people } = this.#deps;
    return [
      ...listening.radius.map((name) => this.#listener(`radius:${name}`, { kind: "radius", name })),
      this.#listener("http", { kind: "http", name: listening.http }),
      ...this.#certificates(),
      await this.#storePart(),
      ...nodeParts(this.#deps.cluster),
      ...this.#backends(),
      ...this.#outboxes(),
      ...firstFactorParts(this.#port.firstFactorServers.status()),
      this.#service("second_factor"),
      ...this.#push(),
      this.#service("telephony"),
      ...await logExportParts(this.#deps.logExport),
      ...await alertParts(this.#deps.alerts),
      ...this.#mail(),
      passwordPart(this.#port),
      ...await this.#administrators(),
      ...this.#unsigned(),
      ...shadowParts(this.#deps.shadow?.clients() ?? []),
      ...(people === undefined ? [] : policyParts(people.policies.registry.list.policies, this.#clients())),
      ...outerIdentityParts(this.#clients()),
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

  /** Tests all parts of some kinds, at the same time. */
  async testAll(kinds: ReadonlySet<HealthPart["kind"]>): Promise<void> {
    const parts = (await this.parts()).filter(({ kind, testable }) => testable && kinds.has(kind));
    await Promise.all(parts.map(({ id }) => this.#test(id)));
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
    } else if (id === "push" || id.startsWith("push:")) {
      await this.#port.pushPages?.()?.probe();
    } else if (id === "mail") {
      await this.#testMail();
    } else if (id.startsWith("first_factor:")) {
      await this.#port.firstFactorServers.test(id.slice("first_factor:".length));
    } else if (id.startsWith("backend:")) {
      const [target = "", backend = ""] = id.slice("backend:".length).split("/");
      await this.#port.probe(target, backend);
    }
  }

  async #administrators(): Promise<HealthPart[]> {
    const { administrators, isSecondFactorRequired = () => false } = this.#deps;
    if (administrators === undefined) return [];
    const { items } = await administrators.list();
    return administratorParts(items, { isSecondFactorRequired: isSecondFactorRequired() });
  }

  #mail(): HealthPart[] {
    const { mail, clock } = this.#deps;
    if (mail === undefined) return [];
    const part = mailPart(mail, clock.nowMs());
    const { lastGoodMs = null, problem = null } = this.#asked.get(this.#testKey(part.id)) ?? {};
    if (!part.testable || (lastGoodMs === null && problem === null)) return [part];
    // What the queue says counts more than an earlier test.
    if (part.state === "bad" || part.state === "warning") return [part];
    const state = problem === null ? "ok" : "bad";
    return [{
      ...part,
      state,
      detail: problem ?? "",
      lastGoodMs: Math.max(lastGoodMs ?? 0, part.lastGoodMs ?? 0) || null,
    }];
  }

  async #testMail(): Promise<void> {
    const { mail } = this.#deps;
    if (mail === undefined) return;
    const outcome = await mail.try(mail.config, null);
    this.#note("mail", outcome.ok ? null : outcome.detail === "" ? outcome.code : outcome.detail);
    if (outcome.ok) mail.resume();
  }

  #note(id: string, problem: string | null): void {
    const key = this.#testKey(id);
    const lastGoodMs = problem === null ? this.#deps.clock.nowMs() : this.#asked.get(key)?.lastGoodMs ?? null;
    this.#asked.set(key, { lastGoodMs, problem });
  }

  #testKey(id: string): string {
    const { secondFactor, telephony } = this.#port.config;
    const addresses: Readonly<Record<string, string>> = {
      second_factor: secondFactor.url,
      telephony: telephony.url,
      mail: this.#deps.mail?.config.mail.host ?? "",
    };
    return `${id} ${addresses[id] ?? ""}`;
  }

  /** A listener that serves this request is up. */
  #listener(id: string, { kind, name }: Pick<HealthPart, "kind" | "name">): HealthPart {
    return { ...PLAIN_PART, id, kind, name, state: "ok", lastGoodMs: this.#deps.clock.nowMs() };
  }

  /** The certificates of the HTTP listener, and of RADIUS over TLS. */
  #certificates(): HealthPart[] {
    const { config: { http }, radsec } = this.#port;
    const all = { certificate: http.tls?.certPem ?? "", "certificate:radius": radsec?.certPem ?? "" };
    return Object.entries(all).filter(([, pem]) => pem !== "").map(([id, pem]) => {
      const { validTo, subject } = new X509Certificate(pem);
      const days = Math.floor((Date.parse(validTo) - this.#deps.clock.nowMs()) / DAY_MS);
      const state = days < 0 ? "bad" : days < CERTIFICATE_WARNING_DAYS ? "warning" : "ok";
      return { ...PLAIN_PART, id, kind: "certificate", name: subject, state, figure: days };
    });
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
      ...PLAIN_PART,
      id: "store",
      kind: "store",
      name: "Deno KV",
      state,
      figure,
      lastGoodMs,
      testable: true,
    };
  }

  #targets(): ReturnType<typeof targetSummary>[] {
    const { targets } = this.#port;
    return targets.names.flatMap((name) => {
      const found = targets.get(name);
      return found === null ? [] : [targetSummary(this.#port, found)];
    });
  }

  #backends(): HealthPart[] {
    return this.#targets().flatMap(({ name: target, backends }) =>
      backends.filter(({ kind }) => kind !== "store").flatMap((backend): HealthPart[] => {
        const { lastGoodMs, lastFault, servers = [] } = backend;
        const isBad = isBackendFailing({ lastGoodMs, lastFault });
        const part = { id: `backend:${target}/${backend.name}`, kind: "backend" } as const;
        const name = `${target} / ${backend.name}`;
        return [
          {
            ...{ ...PLAIN_PART, ...part, name, lastGoodMs, testable: true },
            state: isBad ? "bad" : lastGoodMs === null ? "unknown" : "ok",
            detail: isBad ? lastFault?.detail ?? "" : "",
          },
          ...servers.map((status) =>
            serverPart(status, {
              ...{ ...part, id: `${part.id}/${status.server}`, name: `${name}: ${status.server}` },
            })
          ),
        ];
      })
    );
  }

  #outboxes(): HealthPart[] {
    return this.#targets().filter(({ backends }) => backends.some(({ kind }) => kind !== "store"))
      .map(({ name, backends }) => {
        const dead = backends.reduce((sum, row) => sum + row.dead, 0);
        const pending = backends.reduce((sum, row) => sum + row.owed, 0);
        const state = dead > 0 ? "bad" : pending > 0 ? "warning" : "ok";
        return { ...PLAIN_PART, id: `outbox:${name}`, kind: "outbox", name, state, figure: pending + dead };
      });
  }

  /** The clients, with the first factor that applies: their own or the global one. */
  #clients() {
    const { anyClient } = this.#port.config.radius;
    return this.#port.register.list().map((client) => ({
      ...client,
      firstFactor: effectiveRules(this.#port, client).firstFactor,
      eapOuterIdentity: (client.firstFactor === "settings" ? anyClient : client).eapOuterIdentity,
    }));
  }

  /** Clients whose unsigned requests are accepted now: anyone who can send from their address can forge requests. */
  #unsigned(): HealthPart[] {
    return this.#port.register.unsigned().slice(0, MAX_UNSIGNED).map((
      { name, lastMs, isAlways },
    ): HealthPart => ({
      ...PLAIN_PART,
      id: `unsigned:${name}`,
      kind: "unsigned",
      name,
      state: "warning",
      detail: isAlways ? "always" : lastMs > 0 ? "seen" : "possible",
    }));
  }

  #service(id: "second_factor" | "telephony"): HealthPart {
    const { secondFactor, telephony, http: { publicUrl } } = this.#port.config;
    const { url } = id === "telephony" ? telephony : secondFactor;
    const tested = this.#asked.get(this.#testKey(id)) ?? null;
    return servicePart(id, { url, publicUrl, tested, nowMs: this.#deps.clock.nowMs() });
  }

  #push(): HealthPart[] {
    const pages = this.#port.pushPages?.() ?? null;
    return pages === null ? [] : pushParts(pages.status(), this.#port.config.http.publicUrl);
  }
}

export interface HealthRouteDeps extends HealthDeps {
  readonly connect?: Connect;
}

/** `null` where the console runs without a gateway. */
export function openHealth({ connect, ...deps }: HealthRouteDeps): Health | null {
  return connect === undefined ? null : new Health(deps, connect);
}

const TEST = v.strictObject({ id: v.pipe(v.string(), v.maxLength(200)) });

/** @param health see {@link openHealth} */
export function createHealthRoutes({ connect, clock }: HealthRouteDeps, health: Health | null) {
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
