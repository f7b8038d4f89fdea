// Push messages and the last use of phones, for the phone page and for the lists of devices.

import type { DeviceKind } from "../../../platform/device_label.ts";
import type { SecondFactorContext } from "../second_factor/context.ts";
import { type DevicePairings, findPhone } from "../second_factor/pairings.ts";
import type { GivenSubscription, PhonePushState } from "./push_subscriptions.ts";
import type {
  PhonePushView,
  PushChange,
  PushNotifications,
  PushStatus,
  PushTestResult,
} from "./push_notifications.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import { createRateLimit, type RateLimit } from "../../../platform/limit_table.ts";
import type { PhoneDeviceRecord } from "../second_factor/records.ts";

/** What a list of devices shows about the phone of a pairing. */
export interface PairedPhoneFacts extends PhoneUse {
  readonly push: PhonePushState;
  /** Why the phone receives no messages, by its code in docs/push.md; `null` unless `push` is `failed`. */
  readonly pushProblem: string | null;
}

/** Tokens are those of the phone page. */
export interface PhonePages {
  /** Records that a phone used its page. Never rejects. */
  seen(token: string, kind: DeviceKind | null): Promise<void>;
  /** Counts a change of the name of a phone; `false` if there were too many. */
  mayRename(token: string): Promise<boolean>;
  /** `null` for an unknown token. */
  pushView(token: string): PhonePushView | null;
  subscribe(token: string, subscription: GivenSubscription): Promise<PushChange>;
  unsubscribe(token: string): Promise<PushChange>;
  /** Sends a test message to the phone itself. */
  testOwn(token: string): Promise<PushTestResult>;
  /** Sends a test message to the phone of a pairing. @param by the administrator, by name */
  test(pairingId: string, by: string): Promise<PushTestResult>;
  /** `null` for an unknown pairing. */
  facts(pairingId: string): PairedPhoneFacts | null;
  status(): PushStatus;
  /** Calls the push services without sending a message. */
  probe(): Promise<PushStatus>;
}

export function createPhonePages(
  { context, pairings, push, devices }: {
    context: SecondFactorContext;
    pairings: DevicePairings;
    push: PushNotifications;
    devices: PhoneDevices;
  },
): PhonePages {
  return {
    async seen(token, kind) {
      const phone = findPhone(context, token);
      if (phone !== null) await devices.seen(phone, kind);
    },
    async mayRename(token) {
      const phone = findPhone(context, token);
      return phone !== null && await devices.mayRename(phone);
    },
    pushView: (token) => push.view(token),
    subscribe: (token, subscription) => push.subscribe(token, subscription),
    unsubscribe: (token) => push.unsubscribe(token),
    testOwn: (token) => push.test(findPhone(context, token)),
    test: (pairingId, by) => push.test(pairings.find(pairingId)?.phone ?? null, { by }),
    facts(pairingId) {
      const pairing = pairings.find(pairingId);
      if (pairing === undefined) return null;
      const { phone, createdMs } = pairing;
      const { subscriptions } = push;
      const state = subscriptions.state(phone);
      return {
        ...devices.use(phone, { sinceMs: Math.max(createdMs, push.sinceMs) }),
        push: state,
        pushProblem: subscriptions.find(phone)?.problem?.code ?? null,
      };
    },
    status: () => push.status(),
    probe: () => push.probe(),
  };
}

const RENAMES = { count: 10, windowMs: 60_000 } as const;
/** A phone that was not seen for longer is marked. */
const STALE_AFTER_MS = 90 * 24 * HOUR_MS;

/** The last use of a phone, as a list shows it. */
interface PhoneUse {
  readonly kind: DeviceKind | null;
  /** `null`: not since this version of the gateway records it. */
  readonly lastSeenMs: number | null;
  /** Not seen for 90 days. */
  readonly isStale: boolean;
}

export class PhoneDevices {
  readonly #context: SecondFactorContext;
  readonly #renames: RateLimit;

  constructor(context: SecondFactorContext) {
    this.#context = context;
    this.#renames = createRateLimit(context, { name: "phone_name", ...RENAMES });
  }

  /** Counts a change of the name of a phone; `false` if there were too many. Each one is in the audit log. */
  mayRename(phone: string): Promise<boolean> {
    return this.#renames.take(phone);
  }

  /**
   * Records a use of a phone. Never rejects: a failed write is made up for by the next use.
   *
   * @param kind `null`: unknown. Phones and tablets that request pages for computers call themselves computers, and not in all
   *   their requests, so `computer` replaces no other kind.
   */
  async seen(phone: string, kind: DeviceKind | null): Promise<void> {
    const { tables, clock } = this.#context;
    const nowMs = clock.nowMs();
    const owner = tables.phones.get(phone);
    const read = tables.devices.get(phone);
    const before = read?.value;
    if (owner === undefined || owner.value.deadlineMs !== null) return;
    const known = before?.kind ?? null;
    const next = kind === null || (kind === "computer" && known !== null) ? known : kind;
    const isLearnt = known !== next && (known === null || known === "computer");
    if (before !== undefined && nowMs - before.seenMs < HOUR_MS && !isLearnt) return;
    const record: PhoneDeviceRecord = { phone, kind: next, seenMs: nowMs };
    const change = read === undefined
      ? tables.devices.add(phone, record)
      : tables.devices.replace(read, record);
    await tables.commit([change], { checks: [tables.phones.unchanged(owner)] }).catch(() => undefined);
  }

  /** @param options.sinceMs the later one of the pairing and of the time since uses are recorded. */
  use(phone: string, { sinceMs }: { sinceMs: number }): PhoneUse {
    const { tables, clock } = this.#context;
    const record = tables.devices.get(phone)?.value;
    const lastMs = record?.seenMs ?? sinceMs;
    return {
      kind: record?.kind ?? null,
      lastSeenMs: record?.seenMs ?? null,
      isStale: clock.nowMs() - lastMs > STALE_AFTER_MS,
    };
  }
}
