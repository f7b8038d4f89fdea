// Push messages and the last use of phones, for the phone page and for the lists of devices.

import type { DeviceKind } from "../../../platform/device_label.ts";
import type { SecondFactorContext } from "../second_factor/context.ts";
import { findPhone } from "../second_factor/pairing_phrases.ts";
import type { DevicePairings } from "../second_factor/pairings.ts";
import type { PhoneDevices, PhoneUse } from "../second_factor/phone_devices.ts";
import type { GivenSubscription } from "./push_endpoint.ts";
import type {
  PhonePushView,
  PushChange,
  PushNotifications,
  PushStatus,
  PushTestResult,
} from "./push_notifications.ts";
import type { PhonePushState } from "./push_subscriptions.ts";

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
