// Creates the second-factor and the telephony service that the settings name: a client of an external service by URL,
// else the embedded service.

import type { Config } from "../config.ts";
import type { SecondFactorService, TelephonyService } from "../radius/doing/ports.ts";
import type { Clock, Random } from "../runtime.ts";
import type { Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import type { FindUserRecord } from "../user_record.ts";
import type { Totp } from "./embedded/second_factor/context.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "./embedded/second_factor/second_factor.ts";
import { TelephonyOutbox } from "./embedded/telephony/outbox.ts";
import { createHttpCaller } from "./http.ts";
import { openHttpClient } from "./http_client.ts";
import { createSecondFactorClient } from "./second_factor.ts";
import { createTelephonyClient } from "./telephony.ts";

export interface Services {
  readonly secondFactor: SecondFactorService;
  readonly telephony: TelephonyService;
  /** `null` where an external service is configured. */
  readonly embedded: EmbeddedSecondFactor | null;
  readonly outbox: TelephonyOutbox | null;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

interface ServiceDeps {
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly totp: Totp;
  /** Which record of the directory a user name belongs to. */
  readonly findUserRecord: FindUserRecord;
  readonly userAgent: string;
  readonly onBug: (fault: unknown) => void;
}

/** Makes both services and reads what the embedded ones have in the store. */
export async function createServices(deps: ServiceDeps): Promise<Services> {
  const { telephony: { connectionsPerRoute, connectionsTotal } } = deps.config;
  const pool = openHttpClient();
  const second = await createSecondFactor(deps, {
    fetch: pool.fetch,
    // The document bounds connections to the telephony service per route, and all of them together.
    most: Math.max(1, connectionsTotal - connectionsPerRoute),
  });
  const phone = await createTelephony(deps, { fetch: pool.fetch });
  return {
    secondFactor: second.service,
    telephony: phone.service,
    embedded: second.embedded,
    outbox: phone.outbox,
    async close() {
      await Promise.all([second.close(), phone.close()]);
      pool.close();
    },
  };
}

interface Outward {
  readonly fetch: ReturnType<typeof openHttpClient>["fetch"];
}

async function createSecondFactor(
  deps: ServiceDeps,
  { fetch, most }: Outward & { most: number },
): Promise<
  { service: SecondFactorService; embedded: EmbeddedSecondFactor | null; close: () => Promise<void> }
> {
  const { config, clock, random, userAgent } = deps;
  if (config.secondFactor.url !== "") {
    const caller = createHttpCaller({ fetch, clock, random, connections: { perRoute: most, total: most } });
    const service = createSecondFactorClient({
      caller,
      settings: config.secondFactor,
      clock,
      random,
      userAgent,
    });
    return { service, embedded: null, close: () => caller.close() };
  }
  const embedded = createEmbeddedSecondFactor({
    ...deps,
    settings: {
      requesterName: config.factors.requesterName,
      numberMatching: config.factors.device.numberMatching,
      requestTtlMs: config.radius.conversationTtlMs,
    },
  });
  await embedded.load();
  return { service: embedded.service, embedded, close: () => embedded.close() };
}

async function createTelephony(
  deps: ServiceDeps,
  { fetch }: Outward,
): Promise<{ service: TelephonyService; outbox: TelephonyOutbox | null; close: () => Promise<void> }> {
  const { config, clock, random, userAgent } = deps;
  if (config.telephony.url !== "") {
    const { connectionsPerRoute, connectionsTotal } = config.telephony;
    const connections = { perRoute: connectionsPerRoute, total: connectionsTotal };
    const caller = createHttpCaller({ fetch, clock, random, connections });
    return {
      service: createTelephonyClient({ caller, settings: config.telephony, userAgent }),
      outbox: null,
      close: () => caller.close(),
    };
  }
  const outbox = new TelephonyOutbox({ ...deps, lifetimeMs: config.factors.passcode.lifetimeMs });
  await outbox.load();
  return { service: outbox.service, outbox, close: () => Promise.resolve() };
}
