// Starts the services behind each port for tests: external ones as a fake over real HTTP, and embedded ones. One set of
// controls replaces the user and the phone.

import { createFakeUserRecords, type FakeUserRecords } from "../fakes/user_records.ts";
import type { SecondFactorService, TelephonyService } from "../../radius/ports.ts";
import { matchTotp, totpAt } from "../../radius/factors/totp.ts";
import { type Clock, createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { TelephonyOutbox } from "../../upstream/embedded/telephony/outbox.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "../../upstream/embedded/second_factor/second_factor.ts";
import { createHttpCaller } from "../../upstream/http/service_caller.ts";
import { openHttpClient } from "../../platform/fetch_with_deadline.ts";
import { createSecondFactorClient } from "../../upstream/second_factor.ts";
import { createTelephonyClient } from "../../upstream/telephony.ts";
import { createVault, type Vault } from "../../platform/vault.ts";
import { startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { startFakeTelephony } from "../fakes/telephony_server.ts";

export const CONTEXT = { client: "vpn-1", place: "192.0.2.7", hasPrompt: true } as const;
export const USER_AGENT = "Countersign/test";
/** The deadline of a call. No test waits for it, and a busy machine does not exceed it. */
export const CALL_MS = 30_000;
const MASTER_KEY = new Uint8Array(32).fill(7);

/** A second-factor service, and the user with the phone. */
export interface StartedSecondFactor {
  readonly service: SecondFactorService;
  /** An enabled pairing. */
  pair(userName: string): Promise<string>;
  /** A phrase that can be typed. */
  offerPhrase(): Promise<string>;
  confirmPairing(pairingId: string): Promise<void>;
  approve(requestId: string): Promise<void>;
  deny(requestId: string): Promise<void>;
  endPairing(pairingId: string): Promise<void>;
  /** The code that the device shows. */
  passcode(pairingId: string): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ServiceDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: ReturnType<typeof createSystemRandom>;
  readonly userRecords: FakeUserRecords;
}

/** A store in memory with the other dependencies of a service. */
export async function openServiceDeps(clock: Clock = systemClock): Promise<ServiceDeps> {
  const random = createSystemRandom();
  return {
    store: createStore(await Deno.openKv(":memory:"), { nowMs: () => clock.nowMs() }),
    vault: createVault(MASTER_KEY, random),
    clock,
    random,
    userRecords: createFakeUserRecords(),
  };
}

/** The embedded second-factor service with these dependencies and number matching. */
export async function loadEmbedded(
  ground: ServiceDeps,
  settings: { requestTtlMs?: number; numberMatching?: boolean; phrasesPerMinute?: number } = {},
): Promise<EmbeddedSecondFactor> {
  const embedded = createEmbeddedSecondFactor({
    ...ground,
    totp: { at: totpAt, match: matchTotp },
    findUserRecord: ground.userRecords.find,
    settings: { requesterName: "Countersign", numberMatching: true, requestTtlMs: 60_000, ...settings },
    onBug: (fault) => {
      throw fault;
    },
  });
  await embedded.load();
  return embedded;
}

/** The value of a result that must have one. */
export function right<T>(result: { ok: true; value: T } | { ok: false }): T {
  if (!result.ok) throw new Error(`Not ok: ${JSON.stringify(result)}`);
  return result.value;
}

async function startExternalSecondFactor(): Promise<StartedSecondFactor> {
  const fake = await startFakeSecondFactor({ acceptAnyPairing: false });
  const random = createSystemRandom();
  const pool = openHttpClient();
  const caller = createHttpCaller({ fetch: pool.fetch, clock: systemClock, random });
  const service = createSecondFactorClient({
    caller,
    settings: { ...fake, timeoutMs: CALL_MS },
    clock: systemClock,
    random,
    userAgent: USER_AGENT,
  });
  let phrases = 0;
  return {
    service,
    pair: (userName) => Promise.resolve(fake.pair({ userName }).id),
    offerPhrase() {
      const phrase = `maple river ${++phrases}`;
      fake.offerPhrase(phrase);
      return Promise.resolve(phrase);
    },
    confirmPairing: (id) => Promise.resolve(fake.changePairing(id, { enabled: true, pending: false })),
    approve: (id) => Promise.resolve(fake.decide(id, { granted: true })),
    deny: (id) => Promise.resolve(fake.decide(id, { granted: false, reason: "no" })),
    endPairing: (id) => Promise.resolve(fake.changePairing(id, { enabled: false, deactivated: true })),
    passcode(id) {
      fake.setOtp(id, "123456");
      return Promise.resolve("123456");
    },
    async [Symbol.asyncDispose]() {
      await caller.close();
      pool.close();
      await fake.close();
    },
  };
}

async function startEmbeddedSecondFactor(): Promise<StartedSecondFactor> {
  const ground = await openServiceDeps();
  const embedded = await loadEmbedded(ground, { phrasesPerMinute: 1000 });
  const { service } = embedded;
  const numbers = new Map<string, string>();
  const { token } = right(await embedded.phone.startWithPhrase("test"));
  return {
    service: {
      ...service,
      async initiate(request) {
        const asked = await service.initiate(request);
        if (asked.ok) numbers.set(asked.value.id, asked.value.numberToMatch ?? "");
        return asked;
      },
    },
    async pair(userName) {
      const { invitation } = await embedded.admin.invite(userName);
      return right(await embedded.phone.acceptInvitation(invitation, { token, source: "test" })).pairingId;
    },
    offerPhrase: async () => right(await embedded.phone.newPhrase(token)).phrase,
    confirmPairing: async (id) =>
      void right(await embedded.phone.decidePairing(token, id, { approve: true })),
    approve: async (id) =>
      void right(
        await embedded.phone.decide(token, id, { approve: true, number: numbers.get(id) ?? null }),
      ),
    deny: async (id) => void right(await embedded.phone.decide(token, id, { approve: false })),
    endPairing: async (id) => void right(await embedded.phone.unpair(token, id)),
    passcode: async (id) => right(await embedded.phone.passcode(token, id)).code,
    async [Symbol.asyncDispose]() {
      await embedded.close();
      await ground.store.close();
    },
  };
}

export const SECOND_FACTOR_SERVICES = {
  "an external service": startExternalSecondFactor,
  "the embedded service": startEmbeddedSecondFactor,
} as const;

/** A telephony service, and the messages that the telephone receives. */
export interface StartedTelephony {
  readonly service: TelephonyService;
  /** The passcode of the last text or call to a number. */
  received(to: string): Promise<string | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startExternalTelephony(twimlEchoUrl: string): Promise<StartedTelephony> {
  const fake = await startFakeTelephony();
  const pool = openHttpClient();
  const caller = createHttpCaller({ fetch: pool.fetch, clock: systemClock, random: createSystemRandom() });
  const settings = { ...fake, twimlEchoUrl, timeoutMs: CALL_MS };
  return {
    service: createTelephonyClient({ caller, settings, userAgent: USER_AGENT }),
    received: (to) => Promise.resolve(fake.lastPasscode(to)),
    async [Symbol.asyncDispose]() {
      await caller.close();
      pool.close();
      await fake.close();
    },
  };
}

async function startEmbeddedTelephony(): Promise<StartedTelephony> {
  const ground = await openServiceDeps();
  const outbox = new TelephonyOutbox(ground);
  await outbox.load();
  return {
    service: outbox.service,
    async received(to) {
      const last = outbox.messages.items().find((item) => item.to === to);
      const text = last === undefined ? null : await outbox.messages.reveal(last.id);
      return text?.match(/\d{4,10}/g)?.at(-1);
    },
    [Symbol.asyncDispose]: () => ground.store.close(),
  };
}

export const TELEPHONY_SERVICES = {
  "an external service with inline markup": () => startExternalTelephony(""),
  "an external service with an echo service": () => startExternalTelephony("https://echo.example/twiml"),
  "the embedded outbox": startEmbeddedTelephony,
} as const;
