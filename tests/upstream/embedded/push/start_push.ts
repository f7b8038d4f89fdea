// An embedded second-factor service with push, its own clock, and a push service. Ada's phone is paired and subscribed.

import type { ApprovalRequest } from "../../../../radius/ports.ts";
import { matchTotp, totpAt } from "../../../../radius/factors/totp.ts";
import type { PhonePages } from "../../../../upstream/embedded/push/phone_pages.ts";
import type { PushHostStatus } from "../../../../upstream/embedded/push/push_sender.ts";
import type { PushSettings } from "../../../../upstream/embedded/push/push_notifications.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "../../../../upstream/embedded/second_factor/second_factor.ts";
import {
  type BrowserSubscription,
  type FakePushService,
  startPushService,
} from "../../../fakes/push_service.ts";
import { createManualClock, eventually, type ManualClock } from "../../manual_clock.ts";
import { CONTEXT, openServiceDeps, right, type ServiceDeps, USER_AGENT } from "../../start_services.ts";

export const TTL_MS = 60_000;
export const FCM = "https://fcm.googleapis.com";
/** An address that is public. */
export const PUBLIC_ADDRESS = "142.250.74.10";

export interface PushSetup extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly ground: ServiceDeps;
  readonly service: FakePushService;
  readonly settings: { -readonly [Name in keyof PushSettings]: PushSettings[Name] };
  readonly embedded: EmbeddedSecondFactor;
  readonly pages: PhonePages;
  /** Ada's phone. */
  readonly token: string;
  readonly pairingId: string;
  readonly subscription: BrowserSubscription;
  /** The addresses of each host; a host that is not in it has {@link PUBLIC_ADDRESS}. */
  readonly addresses: Map<string, readonly string[]>;
  /** Errors of messages. */
  readonly bugs: unknown[];
  readonly logged: unknown[];
  ask(options?: { pairingId?: string; place?: string }): Promise<ApprovalRequest>;
  /** Waits until this many messages were delivered. The clock does not move. */
  delivered(count: number): Promise<void>;
  /** Another node on the same store, or the next start. */
  restart(): Promise<EmbeddedSecondFactor>;
}

export async function startPush({ origin = FCM, subscribes = true } = {}): Promise<PushSetup> {
  const clock = createManualClock();
  const ground = await openServiceDeps(clock);
  const service = startPushService({ nowMs: clock.nowMs });
  const settings = {
    enabled: true,
    hosts: ["fcm.googleapis.com", "*.push.example"],
    contact: "mailto:it@example.com",
  };
  const addresses = new Map<string, readonly string[]>();
  const bugs: unknown[] = [];
  const logged: unknown[] = [];
  const log = {
    info: (...line: unknown[]) => void logged.push(line),
    warn: (...line: unknown[]) => void logged.push(line),
  };
  const started: EmbeddedSecondFactor[] = [];
  const network = {
    fetch: service.fetch,
    lookUp: (name: string) => Promise.resolve(addresses.get(name) ?? [PUBLIC_ADDRESS]),
  };
  const start = async (): Promise<EmbeddedSecondFactor> => {
    const embedded = createEmbeddedSecondFactor({
      ...ground,
      totp: { at: totpAt, match: matchTotp },
      findUserRecord: ground.userRecords.find,
      settings: { requesterName: "Example VPN", numberMatching: true, requestTtlMs: TTL_MS },
      push: { network, settings, userAgent: USER_AGENT, log },
      onBug: (fault) => void bugs.push(fault),
    });
    await embedded.load();
    started.push(embedded);
    return embedded;
  };
  const embedded = await start();
  const pages = pagesOf(embedded);
  const { invitation } = await embedded.admin.invite("ada");
  const accepted = await embedded.phone.acceptInvitation(invitation, { token: null, source: "192.0.2.1" });
  const { token, pairingId } = right(accepted);
  const serverKey = pages.pushView(token)?.publicKey ?? null;
  const subscription = service.subscribe({ origin, serverKey });
  if (subscribes) await pages.subscribe(token, subscription);
  return {
    ...{
      clock,
      ground,
      service,
      settings,
      embedded,
      pages,
      token,
      pairingId,
      subscription,
      addresses,
      bugs,
      logged,
    },
    async ask({ pairingId: asked = pairingId, place = CONTEXT.place } = {}) {
      const context = { ...CONTEXT, place };
      const request = right(
        await embedded.service.initiate({ pairingId: asked, terminalName: "VPN", context }),
      );
      clock.advance(0);
      return request;
    },
    delivered: (count) => eventually(`${count} messages`, () => service.delivered.length >= count),
    restart: start,
    async [Symbol.asyncDispose]() {
      service.release();
      for (const one of started) await one.close();
      await service[Symbol.asyncDispose]();
      await ground.store.close();
    },
  };
}

/** @throws if the service has no push. */
export function pagesOf({ pages }: EmbeddedSecondFactor): PhonePages {
  if (pages === null) throw new Error("The service was started without push");
  return pages;
}

/** The first push service that was called. */
export function hostOf({ pages }: PushSetup): PushHostStatus | undefined {
  return pages.status().hosts[0];
}
