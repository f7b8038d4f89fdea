// What the gateway reads from the store before it serves, and then from memory. What it stores for users is that of the login target.

import { ConversationStore, followConversations } from "./conversation/conversation_store.ts";
import { type Conversation, createOrderedIds, createStateTokens } from "./conversation/conversation.ts";
import { placeOfTuple, SharedTuples } from "./conversation/tuple.ts";
import { PacketsInProgress } from "./conversation/run.ts";
import { LIMIT_ALARMS } from "./factors/lockout.ts";
import { Limits } from "./factors/limits.ts";
import { EnrolmentMarks, FactorMarks, recordIdIn } from "./factors/own_factors.ts";
import { SentPasscodes } from "./factors/sent_passcodes.ts";
import { PolicyRegistry } from "./policy/policy_registry.ts";
import type { LoginDirectory, PeerNodes, SecondFactorService } from "./ports.ts";
import type { Config } from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { NO_CHANGE, type UnversionedChange } from "../platform/write_batch.ts";
import { SessionTable } from "./accounting/session_table.ts";
import { SigningClients } from "./server/unsigned_requests.ts";
import {
  type Moment,
  Offboarding,
  type OffboardingDeps,
  type OnPhoneRevoked,
} from "./factors/offboarding.ts";
import { BypassCodeStore } from "./factors/bypass_codes.ts";
import { Pairings } from "./factors/pairings.ts";
import { RecoveryCodeStore } from "./factors/recovery_codes.ts";
import { RememberedDevices } from "./policy/remembered_devices.ts";
import { ShadowLearner } from "./shadow/shadow_learner.ts";
import { UsedSteps } from "./factors/used_steps.ts";
import { HardwareTokens } from "./tokens/hardware_tokens.ts";
import { tokenFactorId } from "./tokens/token.ts";

/** Conversations in memory, alive and ended together. */
const MAX_CONVERSATIONS = 100_000;

/** Tells the known tuples of a login at another node. */
function noteTuple(
  sharedTuples: SharedTuples,
  { hasToken, tuple, user, outcome, signed, moments }: Conversation,
  isNew: boolean,
): void {
  if (hasToken) return;
  const place = placeOfTuple(tuple, user);
  // Without a signature, a packet without a password proves nothing: the menu was its answer, or it was rejected.
  const hasProof = signed || (outcome !== "rejected" && moments[0]?.row !== "empty_password");
  if (isNew) sharedTuples.distinguishes({ place, user, busy: false, hasProof });
  if (outcome !== null) sharedTuples.concluded(place, user);
}

interface LoadStateDeps {
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly peers: PeerNodes;
  readonly directory: Pick<LoginDirectory, "lookUp">;
  readonly secondFactor: Pick<SecondFactorService, "prepareInvitationEnds">;
}

export type StoredState = Awaited<ReturnType<typeof loadState>>;

/** Loads everything that logins read from memory. */
export async function loadState(
  { config, store, vault, clock, random, log, peers, directory, secondFactor }: LoadStateDeps,
) {
  const tokenOf = createStateTokens(vault);
  const orderedId = createOrderedIds(clock, random);
  const hashSeed = random.bytes(4).reduce((seed, octet) => (seed << 8) | octet, 0);
  const conversations = new ConversationStore({
    ...{ store, clock, tokenOf, node: peers.node },
    clockOffsetMs: (node) => peers.clockOffsetMs(node),
    maxConversations: MAX_CONVERSATIONS,
    hashSeed,
  });
  const sharedTuples = new SharedTuples({ store, clock, log, vault, hashSeed });
  const works = new PacketsInProgress({ logins: config.radius, hashSeed });
  const listeners: ((conversation: Conversation) => void)[] = [];
  followConversations({
    ...{ store, conversations, works, peers },
    onFollowed(conversation, { isNew }) {
      noteTuple(sharedTuples, conversation, isNew);
      for (const listener of listeners) listener(conversation);
    },
  });
  const registry = new PolicyRegistry({ store });
  const usedSteps = new UsedSteps({ store, clock, log, logins: config.radius });
  const stores = new LoginDirectoryStores({
    ...{ store, vault, clock, random, usedSteps },
    remembersDevices: () => registry.current.remembersDevices,
    recordIdOf: (user) => recordIdIn(directory, user),
    endInvitations: (user) => secondFactor.prepareInvitationEnds?.(user) ?? NO_CHANGE,
  }, config.radius.directory);
  const { pairings, recoveryCodes, hardwareTokens, remembered, enrolment, bypassCodes, factorMarks } =
    stores.stores;
  usedSteps.recordOf = (id, target) => target === stores.target ? pairings.stepRecord(id) : null;
  const limits = new Limits({
    store,
    clock,
    settings: config.factors,
    onAlarm: (alarm) => log.warn(LIMIT_ALARMS[alarm.kind], { ...alarm }),
  });
  const sentPasscodes = new SentPasscodes({ store, clock, vault });
  const signingClients = new SigningClients({ store, log, clock });
  const policies = { registry, remembered };
  const shadowLearner = new ShadowLearner({ store, clock, log });
  const sessions = new SessionTable({ store, nowMs: clock.nowMs, orderedId });
  const [loaded, loadedSessions, loadedSteps] = await Promise.all([
    conversations.load(),
    sessions.load(),
    loadInTurn(usedSteps, stores),
    sharedTuples.load(),
    limits.load(),
    sentPasscodes.load(),
    signingClients.load(),
    registry.load(),
    shadowLearner.load(),
  ]);
  if (loaded.unreadable > 0) {
    log.warn("records of conversations could not be read and were skipped", { records: loaded.unreadable });
  }
  if (loadedSessions.unreadable > 0) {
    log.warn("accounting sessions could not be read and were skipped", {
      records: loadedSessions.unreadable,
    });
  }
  if (loadedSteps.unreadable > 0) {
    log.warn("used codes of authenticator apps could not be read from the journal and were skipped", {
      records: loadedSteps.unreadable,
    });
  }
  if (loaded.alive > 0) log.info("conversations of an earlier run continue", { conversations: loaded.alive });
  return {
    ...{ tokenOf, orderedId, conversations, works, sharedTuples, pairings, limits, signingClients },
    ...{ recoveryCodes, bypassCodes, sentPasscodes, usedSteps },
    ...{ sessions, policies, stores, hardwareTokens, enrolment, factorMarks, shadowLearner },
    /** Adds a listener for conversations that other nodes changed. */
    onFollowed: (listener: (conversation: Conversation) => void) => void listeners.push(listener),
  };
}

/** The pairings take over the steps of the journal when they are loaded. */
async function loadInTurn(usedSteps: UsedSteps, stores: LoginDirectoryStores): ReturnType<UsedSteps["load"]> {
  const loaded = await usedSteps.load();
  await stores.load();
  return loaded;
}

interface LoginStoreDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly usedSteps: UsedSteps;
  readonly remembersDevices: () => boolean;
  /** See {@link FactorMarks}. */
  readonly recordIdOf: (user: string) => string | null;
  readonly endInvitations: (user: string) => UnversionedChange;
}

type LeavingDeps = Omit<
  OffboardingDeps,
  | "target"
  | "pairings"
  | "recoveryCodes"
  | "hardwareTokens"
  | "enrolment"
  | "bypassCodes"
  | "remembered"
  | "endedBefore"
>;

type LoginStores = ReturnType<typeof createLoginStores>;
type SwitchableStores = { readonly [Name in keyof LoginStores]: Switchable<LoginStores[Name]> };

/** What is stored for the users of one target. */
function createLoginStores({ remembersDevices, ...given }: LoginStoreDeps, target: string) {
  const factorMarks = new FactorMarks({ ...given, target });
  const deps = { ...given, target, marks: factorMarks };
  const pairings = new Pairings(deps);
  const hardwareTokens = new HardwareTokens(deps);
  const remembered = new RememberedDevices({
    ...deps,
    // A token that is assigned, taken away or disabled changes the factors, too.
    factorIds: (user) => [
      ...pairings.of(user).map(({ id }) => id),
      ...hardwareTokens.usable(user).map(({ id }) => tokenFactorId(id)),
    ],
    isUsed: remembersDevices,
  });
  return {
    ...{ pairings, hardwareTokens, remembered, factorMarks },
    recoveryCodes: new RecoveryCodeStore(deps),
    bypassCodes: new BypassCodeStore(deps),
    enrolment: new EnrolmentMarks(deps),
  };
}

/**
 * The stores of the current login target. The objects stay the same when another target becomes the login target: everything is loaded first; then
 * one step changes all of it.
 */
export class LoginDirectoryStores {
  readonly #deps: LoginStoreDeps;
  readonly #switchables: SwitchableStores;
  readonly stores: LoginStores;
  readonly #listeners: OnPhoneRevoked[] = [];
  #offboarding: { readonly deps: LeavingDeps; readonly use: (next: Offboarding) => void } | null = null;
  #target: string;
  #followed: FollowedStore;

  constructor(deps: LoginStoreDeps, target: string) {
    this.#deps = deps;
    this.#target = target;
    this.#followed = followedThrough(deps.store);
    const first = createLoginStores({ ...deps, store: this.#followed.store }, target);
    this.#switchables = mapStores(first, createSwitchable) as SwitchableStores;
    this.stores = mapStores(this.#switchables, ({ facade }) => facade) as LoginStores;
  }

  get target(): string {
    return this.#target;
  }

  async load(): Promise<void> {
    await loadAll(this.stores);
  }

  /** Call it once. */
  async openOffboarding(deps: LeavingDeps): Promise<Offboarding> {
    const { stores, target } = this;
    const { facade, use } = createSwitchable(
      new Offboarding({ ...deps, ...stores, store: this.#followed.store, target }),
    );
    this.#offboarding = { deps, use };
    await facade.load();
    return facade;
  }

  /** Listens for device pairings that end with their user. */
  onRevoked(offboarding: Offboarding, notify: OnPhoneRevoked): () => void {
    this.#listeners.push(notify);
    const stop = offboarding.onRevoked(notify);
    return () => {
      stop();
      this.#listeners.splice(this.#listeners.indexOf(notify), 1);
    };
  }

  /** Loads what is stored for `target`. The returned function makes it the login target; logins in progress end. */
  async prepare(target: string): Promise<() => void> {
    const followed = followedThrough(this.#deps.store);
    const { store } = followed;
    const stores = createLoginStores({ ...this.#deps, store }, target);
    await loadAll(stores);
    const { deps = null } = this.#offboarding ?? {};
    let ended: Moment | null = null;
    const endedBefore = () => ended;
    const offboarding = deps && new Offboarding({ ...deps, ...stores, store, target, endedBefore });
    await offboarding?.load();
    return () => {
      if (deps !== null) ended = { id: deps.orderedId(), atMs: this.#deps.clock.nowMs() };
      this.#target = target;
      mapStores(this.#switchables, ({ use }, name) => use(stores[name] as never));
      for (const notify of this.#listeners) offboarding?.onRevoked(notify);
      if (offboarding !== null) this.#offboarding?.use(offboarding);
      // The stores before are no longer used.
      this.#followed.endFollows();
      this.#followed = followed;
    };
  }
}

function mapStores<T extends object, U>(stores: T, map: (store: T[keyof T], name: keyof T) => U) {
  return Object.fromEntries(
    Object.entries(stores).map(([name, store]) => [name, map(store, name as keyof T)]),
  );
}

async function loadAll(stores: LoginStores): Promise<void> {
  await Promise.all(Object.values(stores).map((store) => store.load()));
}

interface FollowedStore {
  readonly store: Store;
  /** Ends all that was followed through `store`. */
  readonly endFollows: () => void;
}

function followedThrough(store: Store): FollowedStore {
  const ends: (() => void)[] = [];
  const follow: Store["follow"] = (...of) => {
    const end = store.follow(...of);
    ends.push(end);
    return end;
  };
  return { store: { ...store, follow }, endFollows: () => ends.forEach((end) => end()) };
}

// One object that stands for another, which can be replaced at run time. Its holders need not know.

interface Switchable<T extends object> {
  /** Has the members of the object that is used now. */
  readonly facade: T;
  /** Replaces the object from the next call on. */
  use(next: T): void;
}

type Method = (...given: unknown[]) => unknown;

/** Makes a facade for `first`: a method is called, a value is read, on the object that is used at that moment. */
export function createSwitchable<T extends object>(first: T): Switchable<T> {
  let current = first;
  const facade = {};
  const methods = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(first) as T);
  const members = { ...Object.getOwnPropertyDescriptors(first), ...methods };
  for (const [name, { value }] of Object.entries(members) as [keyof T & string, PropertyDescriptor][]) {
    if (name === "constructor") continue;
    const member = typeof value === "function"
      ? { value: (...given: unknown[]) => Reflect.apply(current[name] as Method, current, given) }
      : { get: () => current[name] };
    Object.defineProperty(facade, name, { enumerable: true, ...member });
  }
  return {
    facade: facade as T,
    use(next) {
      current = next;
    },
  };
}
