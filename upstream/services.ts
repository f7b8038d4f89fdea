// Creates the second-factor and the telephony service that the settings name: a client of an external service by URL,
// else the embedded service.

import type { Config } from "../platform/config/config.ts";
import { type Fetch, openHttpClient } from "../platform/fetch_with_deadline.ts";
import type { SecondFactorService, TelephonyService } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import type { FindUserRecord } from "../platform/user_record.ts";
import type { Totp } from "./embedded/second_factor/context.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "./embedded/second_factor/second_factor.ts";
import { TelephonyOutbox } from "./embedded/telephony/outbox.ts";
import { createHttpCaller } from "./http/service_caller.ts";
import { createSecondFactorClient } from "./second_factor.ts";
import { createReachabilityProbe, createTelephonyClient, type Reachability } from "./telephony.ts";

export interface Services {
  readonly secondFactor: SecondFactorService;
  readonly telephony: TelephonyService;
  /** `null` where an external service is configured. */
  readonly embedded: EmbeddedSecondFactor | null;
  readonly outbox: TelephonyOutbox | null;
  /** Whether the external telephony service answers; `null` for the embedded outbox. */
  readonly probeTelephony: (() => Promise<Reachability>) | null;
  /** Waits for the calls in progress. */
  close(): Promise<void>;
}

interface ServiceDeps {
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
}

/** Creates both services. An embedded one reads its records from the store. */
export async function createServices(deps: ServiceDeps): Promise<Services> {
  const pool = openHttpClient();
  const second = await createSecondFactor(deps, { fetch: pool.fetch });
  const phone = await createTelephony(deps, { fetch: pool.fetch });
  return {
    secondFactor: second.service,
    telephony: phone.service,
    embedded: second.embedded,
    outbox: phone.outbox,
    probeTelephony: phone.probe,
    async close() {
      await Promise.all([second.close(), phone.close()]);
      pool.close();
    },
  };
}

interface SecondFactorParts {
  readonly service: SecondFactorService;
  readonly embedded: EmbeddedSecondFactor | null;
  close(): Promise<void>;
}

interface TelephonyParts {
  readonly service: TelephonyService;
  readonly outbox: TelephonyOutbox | null;
  readonly probe: Services["probeTelephony"];
  close(): Promise<void>;
}

async function createSecondFactor(
  deps: ServiceDeps,
  { fetch }: { fetch: Fetch },
): Promise<SecondFactorParts> {
  const { config, clock, random, userAgent } = deps;
  if (config.secondFactor.url !== "") {
    const { connectionsPerRoute, connectionsTotal } = config.telephony;
    // The total bounds the connections of both services together.
    const connections = Math.max(1, connectionsTotal - connectionsPerRoute);
    const caller = createHttpCaller({ fetch, clock, random, connections });
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
  { fetch }: { fetch: Fetch },
): Promise<TelephonyParts> {
  const { config, clock, random, userAgent } = deps;
  if (config.telephony.url !== "") {
    const connections = config.telephony.connectionsPerRoute;
    const caller = createHttpCaller({ fetch, clock, random, connections });
    return {
      service: createTelephonyClient({ caller, settings: config.telephony, userAgent }),
      outbox: null,
      probe: createReachabilityProbe(config.telephony, { fetch, clock }),
      close: () => caller.close(),
    };
  }
  const outbox = new TelephonyOutbox({ ...deps, lifetimeMs: config.factors.passcode.lifetimeMs });
  await outbox.load();
  return { service: outbox.service, outbox, probe: null, close: () => outbox.close() };
}
