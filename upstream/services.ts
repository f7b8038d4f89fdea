// The second-factor and the telephony service that the settings name: a client of an external service by URL, else the
// embedded service. Both can change while requests are in progress. Settings can be tested before they are saved.

import type { Config } from "../platform/config/config.ts";
import { type Fetch, fetchWithDeadline, openHttpClient } from "../platform/fetch_with_deadline.ts";
import type { Log } from "../platform/log.ts";
import type { Fault, SecondFactorService, TelephonyService } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import type { FindUserRecord } from "../platform/user_record.ts";
import type { EmbeddedSecondFactorSettings, Totp } from "./embedded/second_factor/context.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "./embedded/second_factor/second_factor.ts";
import { openPushNetwork, type PushNetwork } from "./embedded/push/push_exchange.ts";
import { createPushSettings } from "./embedded/push/push_notifications.ts";
import { TelephonyOutbox } from "./embedded/telephony/outbox.ts";
import { createHttpCaller } from "./http/service_caller.ts";
import { createSecondFactorClient } from "./second_factor.ts";
import { createReachabilityProbe, createTelephonyClient, type Reachability } from "./telephony.ts";
import { NO_CHANGE } from "../platform/write_batch.ts";

export interface Services {
  readonly secondFactor: SecondFactorService;
  readonly telephony: TelephonyService;
  /** `null` while an external service is configured. */
  readonly embedded: EmbeddedSecondFactor | null;
  readonly outbox: TelephonyOutbox | null;
  /** The embedded service, also while an external one is configured. */
  readonly embeddedService: EmbeddedSecondFactor;
  /** Tests whether the external telephony service answers; `null` for the embedded outbox. */
  readonly probeTelephony: (() => Promise<Reachability>) | null;
  /** Tests settings that are not saved. Sends no message without `to`. */
  readonly trial: ServiceTrial;
  /** Applies changed settings of `deps.config`. Calls in progress end at the service that they were sent to. */
  applySettings(): void;
  /** Waits for the calls in progress. */
  close(): Promise<void>;
}

export interface ServiceDeps {
  /** Can change; see {@link Services.applySettings}. */
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly totp: Totp;
  /** Finds the directory record of a user name. */
  readonly findUserRecord: FindUserRecord;
  readonly userAgent: string;
  readonly onBug: (fault: unknown) => void;
  readonly log?: Pick<Log, "info" | "warn">;
  /** The network for push messages. Default: that of the host. */
  readonly pushNetwork?: PushNetwork | undefined;
}

type ServiceConfig = Pick<Config, "secondFactor" | "telephony">;

interface ExternalTelephony {
  readonly service: TelephonyService;
  readonly probe: () => Promise<Reachability>;
  close(): Promise<void>;
}

/** Creates both services. The embedded ones read their records from the store, and wait while external ones are configured. */
export async function createServices(deps: ServiceDeps): Promise<Services> {
  const { config } = deps;
  const pool = openHttpClient();
  const network = openPushNetwork();
  const embedded = createEmbeddedSecondFactor({
    ...deps,
    settings: embeddedSettings(config),
    push: {
      network: deps.pushNetwork ?? network,
      settings: createPushSettings(config),
      userAgent: deps.userAgent,
      log: deps.log,
    },
  });
  const outbox = new TelephonyOutbox({ ...deps, lifetimeMs: () => config.factors.passcode.lifetimeMs });
  await Promise.all([embedded.load(), outbox.load()]);
  const second = new SwitchableSecondFactor(embedded);
  let external: ExternalTelephony | null = null;
  let usedSettings = "";
  const retired = new RetiredServices(deps);
  const applySettings = (): void => {
    const wanted = settingsText(config);
    if (wanted === usedSettings) return;
    usedSettings = wanted;
    retired.add(second.use(openSecondFactor(deps, config, pool.fetch)));
    retired.add(external);
    external = openTelephony(deps, config, pool.fetch);
  };
  applySettings();
  const telephony = (): TelephonyService => external?.service ?? outbox.service;
  return {
    secondFactor: second.service,
    telephony: {
      get embedded() {
        return telephony().embedded;
      },
      text: (message) => telephony().text(message),
      call: (call) => telephony().call(call),
    },
    get embedded() {
      return second.isEmbedded ? embedded : null;
    },
    get outbox() {
      return external === null ? outbox : null;
    },
    embeddedService: embedded,
    get probeTelephony() {
      return external?.probe ?? null;
    },
    trial: createServiceTrial({
      ...deps,
      fetch: pool.fetch,
      openSecondFactor: (config) => openSecondFactor(deps, config, pool.fetch),
      openTelephony: (config) => openTelephony(deps, config, pool.fetch),
    }),
    applySettings,
    async close() {
      retired.add(second.use(null));
      retired.add(external);
      await Promise.all([embedded.close(), outbox.close(), retired.close()]);
      pool.close();
      network.close();
    },
  };
}

interface Closable {
  close(): Promise<void>;
}

const MAX_RETIRED = 8;

/** Services of earlier settings. They answer for the requests that were sent to them until these expire. */
class RetiredServices {
  readonly #deps: Pick<ServiceDeps, "clock" | "config" | "onBug">;
  readonly #services = new Map<Closable, () => void>();
  readonly #closing = new Set<Promise<void>>();

  constructor(deps: Pick<ServiceDeps, "clock" | "config" | "onBug">) {
    this.#deps = deps;
  }

  add(service: Closable | null): void {
    if (service === null) return;
    const { clock, config } = this.#deps;
    const [oldest] = this.#services.keys();
    if (this.#services.size >= MAX_RETIRED && oldest !== undefined) this.#end(oldest);
    this.#services.set(service, clock.after(config.radius.conversationTtlMs, () => this.#end(service)));
  }

  async close(): Promise<void> {
    for (const service of [...this.#services.keys()]) this.#end(service);
    await Promise.all(this.#closing);
  }

  #end(service: Closable): void {
    this.#services.get(service)?.();
    this.#services.delete(service);
    const closing = service.close().catch(this.#deps.onBug);
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}

/** The settings that need new clients, with secrets, for comparison only. */
function settingsText({ secondFactor, telephony }: ServiceConfig): string {
  return JSON.stringify([Object.entries(secondFactor), Object.entries(telephony)]);
}

function embeddedSettings({ factors, radius, helpDesk }: Config): EmbeddedSecondFactorSettings {
  return {
    get requesterName() {
      return factors.requesterName;
    },
    get numberMatching() {
      return factors.device.numberMatching;
    },
    get requestTtlMs() {
      return radius.conversationTtlMs;
    },
    get verificationsPerHour() {
      return helpDesk.verificationsPerHour;
    },
  };
}

/** A client of the external second-factor service; `null`: the settings have none. */
function openSecondFactor(
  { clock, random, userAgent }: ServiceDeps,
  { secondFactor, telephony: { connectionsPerRoute, connectionsTotal } }: ServiceConfig,
  fetch: Fetch,
): ExternalSecondFactor | null {
  if (secondFactor.url === "") return null;
  // The total bounds the connections of both services together.
  const connections = Math.max(1, connectionsTotal - connectionsPerRoute);
  const caller = createHttpCaller({ fetch, clock, random, connections });
  const settings = { ...secondFactor };
  const service = createSecondFactorClient({ caller, settings, clock, random, userAgent });
  return { service, close: () => caller.close() };
}

/** A client of the external telephony service; `null`: the settings have none. */
function openTelephony(
  { clock, random, userAgent }: ServiceDeps,
  { telephony }: ServiceConfig,
  fetch: Fetch,
): ExternalTelephony | null {
  if (telephony.url === "") return null;
  const settings = { ...telephony };
  const caller = createHttpCaller({ fetch, clock, random, connections: settings.connectionsPerRoute });
  return {
    service: createTelephonyClient({ caller, settings, userAgent }),
    probe: createReachabilityProbe(settings, { fetch, clock }),
    close: () => caller.close(),
  };
}

/** A client of an external service. */
interface ExternalSecondFactor {
  readonly service: SecondFactorService;
  close(): Promise<void>;
}

/** Requests whose service is remembered. The oldest are forgotten first; the service of the settings then answers. */
const MAX_REQUESTS = 20_000;

class SwitchableSecondFactor {
  readonly service: SecondFactorService;
  readonly #embedded: EmbeddedSecondFactor;
  readonly #sentTo = new Map<string, SecondFactorService>();
  #external: ExternalSecondFactor | null = null;

  constructor(embedded: EmbeddedSecondFactor) {
    this.#embedded = embedded;
    this.service = this.#createService();
  }

  get isEmbedded(): boolean {
    return this.#external === null;
  }

  /** Sends new requests to `external`; `null`: to the embedded service. Returns the external service before. */
  use(external: ExternalSecondFactor | null): ExternalSecondFactor | null {
    const before = this.#external;
    this.#external = external;
    return before;
  }

  get #current(): SecondFactorService {
    return this.#external?.service ?? this.#embedded.service;
  }

  #serviceOf(requestId: string): SecondFactorService {
    const known = this.#sentTo.get(requestId);
    if (known !== undefined) return known;
    return this.#embedded.admin.request(requestId) === null ? this.#current : this.#embedded.service;
  }

  #remember(requestId: string, service: SecondFactorService): void {
    // The embedded service knows its requests.
    if (service.embedded) return;
    const [oldest] = this.#sentTo.keys();
    if (this.#sentTo.size >= MAX_REQUESTS && oldest !== undefined) this.#sentTo.delete(oldest);
    this.#sentTo.set(requestId, service);
  }

  #createService(): SecondFactorService {
    const current = (): SecondFactorService => this.#current;
    const serviceOf = (requestId: string): SecondFactorService => this.#serviceOf(requestId);
    return {
      get embedded() {
        return current().embedded;
      },
      initiate: async (request) => {
        const service = current();
        const answer = await service.initiate(request);
        if (answer.ok) this.#remember(answer.value.id, service);
        return answer;
      },
      status: (requestId) => serviceOf(requestId).status(requestId),
      otpAuth: (requestId, otp, also) => serviceOf(requestId).otpAuth(requestId, otp, also),
      createPairing: (pairing) => current().createPairing(pairing),
      pairing: (pairingId) => current().pairing(pairingId),
      cancel: (requestId) => serviceOf(requestId).cancel(requestId),
      onDecision: (requestId, notify) => serviceOf(requestId).onDecision(requestId, notify),
      denialOnExpiry: (requestId) => serviceOf(requestId).denialOnExpiry?.(requestId),
      onDenied: (notify) => this.#embedded.service.onDenied?.(notify) ?? (() => undefined),
      findDenied: (id) => this.#embedded.service.findDenied?.(id),
      hasOpenInvitation: (user) => current().hasOpenInvitation?.(user) ?? false,
      prepareInvitationEnds: (user) => current().prepareInvitationEnds?.(user) ?? NO_CHANGE,
    };
  }
}

export type TrialCode =
  /** There is nothing to test: the embedded service is used. */
  | "embedded"
  /** The service answered, and accepted the credentials. */
  | "accepted"
  /** The service answered, and said nothing about the credentials. */
  | "answered"
  | "sent"
  | "credentials_refused"
  | "refused"
  | "unreachable"
  /** Of mail: there is nothing to test, or TLS failed. */
  | "no_mail"
  | "no_tls";

/** `detail`: what the service said, in its language, or "". */
export interface TrialResult {
  readonly ok: boolean;
  readonly code: TrialCode;
  readonly detail: string;
}

export interface ServiceTrial {
  secondFactor(config: ServiceConfig): Promise<TrialResult>;
  /** @param options.to a number that receives a text. */
  telephony(config: ServiceConfig, options: { to: string | null }): Promise<TrialResult>;
}

interface ServiceTrialDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly openSecondFactor: (config: ServiceConfig) => ExternalSecondFactor | null;
  readonly openTelephony: (
    config: ServiceConfig,
  ) => { readonly service: TelephonyService; close(): Promise<void> } | null;
}

/** An id that no request has. */
const NO_REQUEST = "countersign-connection-test";
const TRIAL_TEXT = "This is a test message of Countersign.";
const EMBEDDED: TrialResult = { ok: true, code: "embedded", detail: "" };

function createServiceTrial(deps: ServiceTrialDeps): ServiceTrial {
  return {
    async secondFactor(config) {
      const external = deps.openSecondFactor(config);
      if (external === null) return EMBEDDED;
      try {
        const outcome = await external.service.status(NO_REQUEST);
        // A service checks the signature before it looks up the request.
        const isAccepted = outcome.ok || outcome.fault.kind === "unknown";
        return isAccepted ? { ok: true, code: "accepted", detail: "" } : toResult(outcome.fault);
      } finally {
        await external.close();
      }
    },
    async telephony(config, { to }) {
      const external = deps.openTelephony(config);
      if (external === null) return EMBEDDED;
      try {
        if (to === null) return await askAccount(deps, config);
        const outcome = await external.service.text({ to, body: TRIAL_TEXT, validitySeconds: 300 });
        return outcome.ok ? { ok: true, code: "sent", detail: "" } : toResult(outcome.fault);
      } finally {
        await external.close();
      }
    },
  };
}

function toResult(fault: Fault): TrialResult {
  const { detail } = fault;
  if (fault.kind === "refused") {
    const isAboutCredentials = fault.status === 401 || fault.status === 403;
    return { ok: false, code: isAboutCredentials ? "credentials_refused" : "refused", detail };
  }
  return { ok: false, code: fault.kind === "nonsense" ? "refused" : "unreachable", detail };
}

/** Reads the account: the only call of the telephony interface without an effect. */
async function askAccount(
  { fetch, clock }: ServiceTrialDeps,
  { telephony: { url, accountId, authToken, timeoutMs } }: ServiceConfig,
): Promise<TrialResult> {
  const credentials = new TextEncoder().encode(`${accountId}:${authToken}`).toBase64();
  const answer = await fetchWithDeadline({
    method: "GET",
    url: `${url.replace(/\/$/, "")}/2010-04-01/Accounts/${encodeURIComponent(accountId)}.json`,
    headers: { accept: "application/json", authorization: `Basic ${credentials}` },
  }, { fetch, clock, deadlineMs: clock.nowMs() + timeoutMs, maxOctets: 64 * 1024 });
  if (!answer.ok) return { ok: false, code: "unreachable", detail: "" };
  const detail = `HTTP ${answer.status}`;
  if (answer.status === 401 || answer.status === 403) {
    return { ok: false, code: "credentials_refused", detail };
  }
  if (answer.status >= 500) return { ok: false, code: "unreachable", detail };
  return { ok: true, code: answer.status < 300 ? "accepted" : "answered", detail };
}
