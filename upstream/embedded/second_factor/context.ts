// The shared context of the embedded second-factor service: store, vault, clock, randomness, the tables, and events.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { DeniedRequest } from "../../../radius/ports.ts";
import type { Store } from "../../../platform/store.ts";
import type { FindUserRecord } from "../../../platform/user_record.ts";
import type { Vault } from "../../../platform/vault.ts";
import {
  type CommitAdditions,
  commitChanges,
  EventEmitter,
  type ForeignChange,
  MirroredTable,
  type TableChange,
} from "../table.ts";
import { deniedPairing } from "./port_views.ts";
import {
  type ApprovalRecord,
  CAPS,
  isVerification,
  LIFETIMES,
  pairingExpiresMs,
  type PairingInvitation,
  type PairingRecord,
  type PhoneDeviceRecord,
  type PhoneRecord,
  type PhraseRecord,
  type PushSubscriptionRecord,
  requestExpiresMs,
} from "./records.ts";

/** RFC 6238. It is a dependency, because this folder imports no code of the gateway. */
export interface Totp {
  /** The passcode of a time step. */
  at(seed: Uint8Array, stepNumber: number, digits: number): string;
  /** The time step of a typed passcode, above `lastStep`, or `null`. */
  match(
    attempt: {
      seed: Uint8Array;
      code: string;
      nowMs: number;
      digits: number;
      lastStep: number;
      toleranceSteps: number;
    },
  ): number | null;
}

export interface EmbeddedSecondFactorSettings {
  readonly requesterName: string;
  /** Whether an approval requires the two digits of the login prompt, if there is a prompt. */
  readonly numberMatching: boolean;
  /** How long a request can be decided. */
  readonly requestTtlMs: number;
  /** How often the help desk may verify one user in an hour; default 5. */
  readonly verificationsPerHour?: number;
  /** How many phrases one source may request in a minute; default 5. */
  readonly phrasesPerMinute?: number;
}

export interface SecondFactorDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly totp: Totp;
  readonly settings: EmbeddedSecondFactorSettings;
  /** Finds the directory record of a user name. */
  readonly findUserRecord: FindUserRecord;
}

export interface SecondFactorContext extends SecondFactorDeps {
  readonly tables: SecondFactorTables;
  /** The topics are phones, by digest. An event means that the view of the phone may have changed. */
  readonly phoneEvents: EventEmitter;
  /** Called after another node added or changed a request. */
  readonly foreignRequests: Set<ForeignRequest>;
  /** Called after any node recorded that a request or a pairing was denied. */
  readonly denials: Set<(denied: DeniedRequest) => void>;
  /** Called after this node committed something that a closed page should show. Must not throw, and returns at once. */
  readonly phoneNews: Set<(news: PhoneNews) => void>;
}

/** What a phone should show, also if its page is closed. */
export type PhoneNews =
  | { readonly kind: "request"; readonly request: ApprovalRecord }
  | {
    readonly kind: "ended";
    readonly request: ApprovalRecord;
    /** The phone itself decided, and had shown a notification of the request. */
    readonly isNotified?: boolean | undefined;
    /** The subscription that ended in the same commit. */
    readonly subscription?: PushSubscriptionRecord | undefined;
  }
  | { readonly kind: "pairing"; readonly pairing: PairingRecord };

type ForeignRequest = (change: ForeignChange<ApprovalRecord>) => void;

export function createContext(deps: SecondFactorDeps): SecondFactorContext {
  const events = {
    phoneEvents: new EventEmitter({ maxPerTopic: CAPS.watchersPerPhone }),
    foreignRequests: new Set<ForeignRequest>(),
    denials: new Set<(denied: DeniedRequest) => void>(),
    phoneNews: new Set<(news: PhoneNews) => void>(),
  };
  return { ...deps, ...events, tables: createTables(deps, events) };
}

/** Index keys of pending requests, of those among them that verify a caller, of phones without a pairing, and of open invitations. */
export const WAITING = "waiting";
export const VERIFYING = "verifying";
export const UNPAIRED = "unpaired";
export const OPEN = "open";
/** Index keys of push subscriptions. */
export const SUBSCRIBED = "subscribed";
export const SUBSCRIPTION_ENDED = "ended";

export type SecondFactorTables = ReturnType<typeof createTables>;

const SWEEP_EVERY_MS = 60_000;
type TableEvents = Pick<SecondFactorContext, "phoneEvents" | "foreignRequests" | "denials">;

function createTables(
  { store, clock }: { store: Store; clock: Clock },
  { phoneEvents, foreignRequests, denials }: TableEvents,
) {
  const nowMs = () => clock.nowMs();
  const deps = { store, nowMs };
  const tellPhone = ({ before, after }: ForeignChange<{ readonly phone: string }>): void => {
    const phone = (after ?? before)?.phone;
    if (phone !== undefined) phoneEvents.emit(phone);
  };
  const tables = {
    pairings: new MirroredTable<PairingRecord>(deps, {
      name: "pairing",
      expiresMs: pairingExpiresMs,
      index: (record) => [byPhone(record.phone), byUser(canonicalName(record.userName))],
      onForeignChange: (change) => {
        tellPhone(change);
        const { before, after } = change;
        if (before?.state !== after?.state) announceDenial({ denials }, after && deniedPairing(after));
      },
    }),
    requests: new MirroredTable<ApprovalRecord>(deps, {
      name: "request",
      expiresMs: requestExpiresMs,
      index: (record) =>
        record.decision !== null
          ? isVerification(record) && record.decision === "approved"
            ? [byVerified(canonicalName(record.userName))]
            : []
          : [WAITING, byPairing(record.pairingId), ...isVerification(record) ? [VERIFYING] : []],
      onForeignChange: (change) => foreignRequests.forEach((notify) => notify(change)),
    }),
    phones: new MirroredTable<PhoneRecord>(deps, {
      name: "phone",
      expiresMs: (record) => record.deadlineMs,
      index: (record) => record.deadlineMs === null ? [] : [UNPAIRED],
    }),
    phrases: new MirroredTable<PhraseRecord>(deps, {
      name: "phrase",
      expiresMs: (record) => record.deadlineMs,
      index: (record) => [byPhone(record.phone)],
      onForeignChange: tellPhone,
    }),
    invitations: new MirroredTable<PairingInvitation>(deps, {
      name: "invitation",
      expiresMs: (record) => record.deadlineMs,
      index: (record) => record.usedMs === null ? [OPEN, byUser(canonicalName(record.userName))] : [],
    }),
    devices: new MirroredTable<PhoneDeviceRecord>(deps, {
      name: "device",
      expiresMs: (record) => record.seenMs + LIFETIMES.phoneDeviceMs,
      index: () => [],
    }),
    subscriptions: new MirroredTable<PushSubscriptionRecord>(deps, {
      name: "push_subscription",
      expiresMs: () => null,
      index: ({ sealed }) => [sealed === null ? SUBSCRIPTION_ENDED : SUBSCRIBED],
    }),
  };
  const all = Object.values(tables);
  let sweptMs = nowMs();

  return {
    ...tables,
    /** Commits all changes together with `also`, or none; `false` if another writer committed first. */
    commit(
      changes: readonly TableChange[],
      options?: CommitAdditions,
    ): Promise<boolean> {
      if (nowMs() - sweptMs >= SWEEP_EVERY_MS) {
        sweptMs = nowMs();
        for (const table of all) table.sweep(sweptMs);
      }
      return commitChanges(store, changes, options);
    },
    async load(): Promise<void> {
      for (const table of all) await table.load(nowMs());
    },
  };
}

/** Reports that a request or a pairing was denied. */
export function announceDenial(
  { denials }: Pick<SecondFactorContext, "denials">,
  denied: DeniedRequest | undefined,
): void {
  if (denied === undefined) return;
  for (const notify of denials) notify(denied);
}

/** Index key of the records of a phone. */
export function byPhone(phone: string): string {
  return `phone ${phone}`;
}

/** Index key of the verifications of a user that succeeded. */
export function byVerified(canonical: string): string {
  return `verified ${canonical}`;
}

/** Index key of the pairings of a user. @param canonical the canonical name */
export function byUser(canonical: string): string {
  return `user ${canonical}`;
}

/** Index key of the pending requests of a pairing. */
export function byPairing(pairingId: string): string {
  return `pairing ${pairingId}`;
}
