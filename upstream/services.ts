// The second-factor and the telephony service that the settings name: a client of an external service by URL, else the
// embedded service. Both can change while requests are in progress.

import type { Config } from "../platform/config/config.ts";
import { type Fetch, openHttpClient } from "../platform/fetch_with_deadline.ts";
import type { Log } from "../platform/log.ts";
import type { SecondFactorService, TelephonyService } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import type { FindUserRecord } from "../platform/user_record.ts";
import type { EmbeddedSecondFactorSettings, Totp } from "./embedded/second_factor/context.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "./embedded/second_factor/second_factor.ts";
import { openPushNetwork } from "./embedded/push/push_network.ts";
import type { PushNetwork } from "./embedded/push/push_exchange.ts";
import { createPushSettings } from "./embedded/push/push_settings.ts";
import { TelephonyOutbox } from "./embedded/telephony/outbox.ts";
import { createHttpCaller } from "./http/service_caller.ts";
import { createSecondFactorClient } from "./second_factor.ts";
import { createServiceTrial, type ServiceTrial } from "./service_trial.ts";
import { type ExternalSecondFactor, SwitchableSecondFactor } from "./switchable_second_factor.ts";
import { createReachabilityProbe, createTelephonyClient, type Reachability } from "./telephony.ts";

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
