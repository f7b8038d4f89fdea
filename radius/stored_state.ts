// What the gateway reads from the store before it serves, and then from memory. What it stores for users is that of the login target.

import { ConversationStore, followConversations } from "./conversation/conversation_store.ts";
import { type Conversation, createOrderedIds, createStateTokens } from "./conversation/conversation.ts";
import { placeOfTuple, SharedTuples } from "./conversation/tuple.ts";
import { PacketsInProgress } from "./conversation/run.ts";
import { LIMIT_ALARMS } from "./factors/hourly_limits.ts";
import { Limits } from "./factors/limits.ts";
import { FactorMarks, recordIdIn } from "./factors/factor_marks.ts";
import { SentPasscodes } from "./factors/sent_passcodes.ts";
import { PolicyRegistry } from "./policy/policy_registry.ts";
import type { LoginDirectory, SecondFactorService } from "./ports.ts";
import type { PeerNodes } from "./conversation/peers.ts";
import type { Config } from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { NO_CHANGE, type UnversionedChange } from "../platform/write_batch.ts";
import { SessionTable } from "./accounting/session_table.ts";
import { SigningClients } from "./server/unsigned_requests.ts";
import { EnrolmentMarks } from "./factors/enrolment_marks.ts";
import { Offboarding, type OffboardingDeps, type OnPhoneRevoked } from "./factors/offboarding.ts";
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
  const { pairings, recoveryCodes, hardwareTokens, remembered, enrolment, bypassCodes, factorMarks } = stores;
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
  "target" | "pairings" | "recoveryCodes" | "hardwareTokens" | "enrolment" | "bypassCodes" | "endedBeforeMs"
>;

const PAIRINGS: PublicMembers<Pairings> = {
  size: "value",
  userCount: "value",
  of: "method",
  all: "method",
  names: "method",
  usable: "method",
  isConfirmed: "method",
  wasAddedBy: "method",
  originOf: "method",
  ownerOf: "method",
  preferred: "method",
  exclusive: "method",
  prepare: "method",
  adopt: "method",
  versionOf: "method",
  addDevice: "method",
  confirm: "method",
  rename: "method",
  revoke: "method",
  prepareRevoke: "method",
  prepareUsedStep: "method",
  stepRecord: "method",
  prepareChange: "method",
  seedOf: "method",
  preparePreference: "method",
  adoptPreference: "method",
  removeUser: "method",
  load: "method",
  keyOf: "method",
};
const RECOVERY_CODES: PublicMembers<RecoveryCodeStore> = {
  status: "method",
  find: "method",
  prepareUse: "method",
  confirm: "method",
  create: "method",
  removeUser: "method",
  prepareRename: "method",
  load: "method",
};
const HARDWARE_TOKENS: PublicMembers<HardwareTokens> = {
  size: "value",
  userCount: "value",
  isUsable: "method",
  all: "method",
  get: "method",
  of: "method",
  usable: "method",
  open: "method",
  findCode: "method",
  prepareUse: "method",
  prepareChange: "method",
  prepareRemove: "method",
  maxNew: "value",
  prepareNew: "method",
  prepareRelease: "method",
  prepareRename: "method",
  load: "method",
};
const BYPASS_CODES: PublicMembers<BypassCodeStore> = {
  status: "method",
  isFull: "method",
  matches: "method",
  create: "method",
  prepareUse: "method",
  removeUser: "method",
  prepareRename: "method",
  load: "method",
};
const REMEMBERED_DEVICES: PublicMembers<RememberedDevices> = {
  load: "method",
  isRemembered: "method",
  count: "method",
  prepareRemember: "method",
  prepareForget: "method",
  prepareRename: "method",
};
const ENROLMENT_MARKS: PublicMembers<EnrolmentMarks> = {
  load: "method",
  of: "method",
  all: "method",
  isOverdue: "method",
  read: "method",
  prepare: "method",
  prepareRemoval: "method",
  prepareRename: "method",
};
const FACTOR_MARKS: PublicMembers<FactorMarks> = {
  load: "method",
  has: "method",
  prepare: "method",
  prepareRename: "method",
};
const OFFBOARDING: PublicMembers<Offboarding> = {
  load: "method",
  departureChecks: "method",
  hasLeft: "method",
  mayRecord: "method",
  prepare: "method",
  prepareRename: "method",
  onRevoked: "method",
};

/**
 * The stores of the current login target. The objects stay the same when another target becomes the login target: everything is loaded first; then
 * one step changes all of it.
 */
export class LoginDirectoryStores {
  readonly #deps: LoginStoreDeps;
  readonly #pairings;
  readonly #recoveryCodes;
  readonly #hardwareTokens;
  readonly #bypassCodes;
  readonly #remembered;
  readonly #enrolment;
  readonly #factorMarks;
  readonly #listeners: OnPhoneRevoked[] = [];
  #offboarding: { readonly deps: LeavingDeps; readonly use: (next: Offboarding) => void } | null = null;
  #target: string;
  #followed: FollowedStore;

  constructor(given: LoginStoreDeps, target: string) {
    this.#followed = followedThrough(given.store);
    const deps = { ...given, store: this.#followed.store };
    this.#deps = given;
    this.#target = target;
    this.#factorMarks = createSwitchable(new FactorMarks({ ...deps, target }), FACTOR_MARKS);
    const factorDeps = { ...deps, target, marks: this.factorMarks };
    this.#pairings = createSwitchable(new Pairings(factorDeps), PAIRINGS);
    this.#recoveryCodes = createSwitchable(new RecoveryCodeStore(factorDeps), RECOVERY_CODES);
    this.#hardwareTokens = createSwitchable(new HardwareTokens(factorDeps), HARDWARE_TOKENS);
    this.#enrolment = createSwitchable(new EnrolmentMarks({ ...deps, target }), ENROLMENT_MARKS);
    this.#bypassCodes = createSwitchable(new BypassCodeStore(factorDeps), BYPASS_CODES);
    this.#remembered = createSwitchable(
      openRemembered(deps, { pairings: this.pairings, hardwareTokens: this.hardwareTokens, target }),
      REMEMBERED_DEVICES,
    );
  }

  get target(): string {
    return this.#target;
  }

  get pairings(): Pairings {
    return this.#pairings.facade;
  }

  get recoveryCodes(): RecoveryCodeStore {
    return this.#recoveryCodes.facade;
  }

  get hardwareTokens(): HardwareTokens {
    return this.#hardwareTokens.facade;
  }

  get bypassCodes(): BypassCodeStore {
    return this.#bypassCodes.facade;
  }

  get remembered(): RememberedDevices {
    return this.#remembered.facade;
  }

  get enrolment(): EnrolmentMarks {
    return this.#enrolment.facade;
  }

  get factorMarks(): FactorMarks {
    return this.#factorMarks.facade;
  }

  async load(): Promise<void> {
    const { pairings, recoveryCodes, hardwareTokens, bypassCodes, remembered, enrolment, factorMarks } = this;
    const stores = [pairings, recoveryCodes, hardwareTokens, bypassCodes, remembered, enrolment, factorMarks];
    await Promise.all(stores.map((store) => store.load()));
  }

  /** Call it once. */
  async openOffboarding(deps: LeavingDeps): Promise<Offboarding> {
    const { pairings, recoveryCodes, hardwareTokens, enrolment, bypassCodes, target } = this;
    const stores = { pairings, recoveryCodes, hardwareTokens, enrolment, bypassCodes };
    const offboarding = createSwitchable(
      new Offboarding({ ...deps, ...stores, store: this.#followed.store, target }),
      OFFBOARDING,
    );
    this.#offboarding = { deps, use: offboarding.use };
    await offboarding.facade.load();
    return offboarding.facade;
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
    const storeDeps = { ...this.#deps, store: followed.store };
    const marks = new FactorMarks({ ...storeDeps, target });
    const factorDeps = { ...storeDeps, target, marks };
    const pairings = new Pairings(factorDeps);
    const recoveryCodes = new RecoveryCodeStore(factorDeps);
    const hardwareTokens = new HardwareTokens(factorDeps);
    const bypassCodes = new BypassCodeStore(factorDeps);
    const remembered = openRemembered(storeDeps, { pairings, hardwareTokens, target });
    const enrolment = new EnrolmentMarks({ ...storeDeps, target });
    await Promise.all([
      pairings.load(),
      recoveryCodes.load(),
      hardwareTokens.load(),
      bypassCodes.load(),
      remembered.load(),
      enrolment.load(),
      marks.load(),
    ]);
    const { deps = null } = this.#offboarding ?? {};
    const endedBeforeMs = { value: Number.POSITIVE_INFINITY };
    const offboarding = deps === null ? null : new Offboarding({
      ...deps,
      store: followed.store,
      pairings,
      recoveryCodes,
      hardwareTokens,
      enrolment,
      bypassCodes,
      target,
      endedBeforeMs: () => endedBeforeMs.value,
    });
    await offboarding?.load();
    return () => {
      endedBeforeMs.value = this.#deps.clock.nowMs();
      this.#target = target;
      this.#pairings.use(pairings);
      this.#recoveryCodes.use(recoveryCodes);
      this.#hardwareTokens.use(hardwareTokens);
      this.#bypassCodes.use(bypassCodes);
      this.#remembered.use(remembered);
      this.#enrolment.use(enrolment);
      this.#factorMarks.use(marks);
      for (const notify of this.#listeners) offboarding?.onRevoked(notify);
      if (offboarding !== null) this.#offboarding?.use(offboarding);
      // The stores before are no longer used.
      this.#followed.endFollows();
      this.#followed = followed;
    };
  }
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

function openRemembered(
  { remembersDevices, ...deps }: LoginStoreDeps,
  { pairings, hardwareTokens, target }: {
    pairings: Pairings;
    hardwareTokens: HardwareTokens;
    target: string;
  },
): RememberedDevices {
  return new RememberedDevices({
    ...deps,
    target,
    // A token that is assigned, taken away or disabled changes the factors, too.
    factorIds: (user) => [
      ...pairings.of(user).map(({ id }) => id),
      ...hardwareTokens.usable(user).map(({ id }) => tokenFactorId(id)),
    ],
    isUsed: remembersDevices,
  });
}

// One object that stands for another, which can be replaced at run time. Its holders need not know. The members are named, so that
// the type checker finds a member that the object lacks.

interface Switchable<T extends object> {
  /** Has the named members of the object that is used now. */
  readonly facade: T;
  /** Replaces the object from the next call on. */
  use(next: T): void;
}

/** The public members of an object: a method is called, a value is read, on the object that is used at that moment. */
type PublicMembers<T> = {
  readonly [Name in keyof T]: T[Name] extends (...given: never[]) => unknown ? "method" : "value";
};

type Method = (...given: unknown[]) => unknown;

/** Makes a facade for `first`. */
export function createSwitchable<T extends object>(first: T, members: PublicMembers<T>): Switchable<T> {
  let current = first;
  const facade = {};
  for (const [name, kind] of Object.entries(members) as [keyof T & string, "method" | "value"][]) {
    const member = kind === "value"
      ? { get: () => current[name] }
      : { value: (...given: unknown[]) => Reflect.apply(current[name] as Method, current, given) };
    Object.defineProperty(facade, name, { enumerable: true, ...member });
  }
  return {
    facade: facade as T,
    use(next) {
      current = next;
    },
  };
}
