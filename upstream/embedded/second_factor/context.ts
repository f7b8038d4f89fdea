// The shared context of the embedded second-factor service: store, vault, clock, randomness, the tables, and events.

import type { Clock, Random } from "../../../platform/runtime.ts";
import type { DeniedRequest } from "../../../radius/ports.ts";
import type { Store } from "../../../platform/store.ts";
import type { FindUserRecord } from "../../../platform/user_record.ts";
import type { Vault } from "../../../platform/vault.ts";
import {
  type CommitAdditions,
  commitChanges,
  type ForeignChange,
  Table,
  type TableChange,
} from "../../../platform/table.ts";
import {
  type ApprovalRecord,
  CAPS,
  deniedPairing,
  INVITATIONS,
  type PairingRecord,
  PAIRINGS,
  PHONE_DEVICES,
  PHONES,
  PHRASES,
  PUSH_SUBSCRIPTIONS,
  type PushSubscriptionRecord,
  REQUESTS,
} from "./records.ts";

/** RFC 6238. It is a dependency, because this folder imports no code of the gateway. */
export interface Totp {
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
  /** Called after any node recorded that a request or a pairing was denied. DecidedLogins of radius/ listens: `onDenied`. */
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

type SecondFactorTables = ReturnType<typeof createTables>;

function createTables(
  { store, clock }: { store: Store; clock: Clock },
  { phoneEvents, foreignRequests, denials }: Pick<
    SecondFactorContext,
    "phoneEvents" | "foreignRequests" | "denials"
  >,
) {
  const deps = { store, nowMs: () => clock.nowMs() };
  const tellPhone = ({ before, after }: ForeignChange<{ readonly phone: string }>): void => {
    const phone = (after ?? before)?.phone;
    if (phone !== undefined) phoneEvents.emit(phone);
  };
  const onForeignPairing = (change: ForeignChange<PairingRecord>): void => {
    tellPhone(change);
    const { before, after } = change;
    if (before?.state !== after?.state) announceDenial({ denials }, after && deniedPairing(after));
  };
  const onForeignRequest = (change: ForeignChange<ApprovalRecord>): void =>
    foreignRequests.forEach((notify) => notify(change));
  const tables = {
    pairings: new Table({ ...deps, onForeignChange: onForeignPairing }, PAIRINGS),
    requests: new Table({ ...deps, onForeignChange: onForeignRequest }, REQUESTS),
    phones: new Table(deps, PHONES),
    phrases: new Table({ ...deps, onForeignChange: tellPhone }, PHRASES),
    invitations: new Table(deps, INVITATIONS),
    devices: new Table(deps, PHONE_DEVICES),
    subscriptions: new Table(deps, PUSH_SUBSCRIPTIONS),
  };
  return {
    ...tables,
    /** Commits all changes together with the additions, or none; `false` if another writer committed first. */
    commit: (changes: readonly TableChange[], additions?: CommitAdditions): Promise<boolean> =>
      commitChanges(store, changes, additions),
    async load(): Promise<void> {
      for (const table of Object.values(tables)) await table.load();
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

// Callbacks by topic, for the pages and the logins that wait for the embedded services.

/** Callbacks by topic. They must not throw. */
export class EventEmitter {
  readonly #maxPerTopic: number;
  readonly #topics = new Map<string, Set<() => void>>();

  constructor({ maxPerTopic }: { maxPerTopic: number }) {
    this.#maxPerTopic = maxPerTopic;
  }

  /** Returns a function that removes the callback. If the topic has its maximum, the callback is not added. */
  on(topic: string, notify: () => void): () => void {
    const known = this.#topics.get(topic) ?? new Set();
    // One function may be added twice. A wrapper tells the registrations apart.
    const own = () => notify();
    if (known.size < this.#maxPerTopic) this.#topics.set(topic, known.add(own));
    return () => this.#remove(topic, own);
  }

  emit(topic: string): void {
    for (const notify of [...this.#topics.get(topic) ?? []]) notify();
  }

  /** Like `emit`, and removes the callbacks of the topic. */
  emitLast(topic: string): void {
    const known = this.#topics.get(topic) ?? [];
    this.#topics.delete(topic);
    for (const notify of known) notify();
  }

  #remove(topic: string, notify: () => void): void {
    const known = this.#topics.get(topic);
    known?.delete(notify);
    if (known?.size === 0) this.#topics.delete(topic);
  }
}
