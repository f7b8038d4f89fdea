// Changes of users in the directory. Removal: their pairings, recovery codes and live conversations end in the same commit, and no login is accepted
// after it. Rename: their factors follow. Also what the gateway knows of users and groups by their names.

import {
  joinRenames,
  NO_CHANGE,
  type PreparedChange,
  type PreparedRename,
  type PrepareRename,
  type Rename,
} from "../../platform/write_batch.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import { RecordVersions } from "../../platform/cluster/change_log.ts";
import type { KvMutation } from "../../platform/commit_queue.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import {
  departureKey,
  departureMutation,
  departurePrefix,
  type RenamedEntry,
  renamedKey,
} from "../../platform/user_record.ts";
import { type Conversation, isOfOneProcess, orderedIdMs } from "../conversation/conversation.ts";
import type { ConversationStore } from "../conversation/conversation_store.ts";
import { MAX_ENDS, recordEndedLogins, recordMoreEnds } from "../conversation/ended_logins.ts";
import type { SecondFactorService } from "../ports.ts";
import type { Counters } from "../server/gateway_monitor.ts";
import { type Pairing, pairingDetails } from "./pairing.ts";
import { auditEntry } from "../../platform/audit.ts";
import type { RememberedDevices } from "../policy/remembered_devices.ts";
import type { HardwareTokens } from "../tokens/hardware_tokens.ts";
import type { BypassCodeStore } from "./bypass_codes.ts";
import { type AnyFactorDeps, type EnrolmentMarks, type FactorMarks, hasAnyFactor } from "./own_factors.ts";
import type { Pairings } from "./pairings.ts";
import type { RecoveryCodeStore } from "./recovery_codes.ts";
import type { Vault } from "../../platform/vault.ts";
import type { PolicyRegistry } from "../policy/policy_registry.ts";
import type { Limits } from "./limits.ts";
import type { ReplyAttributeRegistry, UserReplyRegistry } from "./reply_attribute_registry.ts";

/** Called for a device pairing that ended with its user, so that the phone is unpaired at its service. */
export type OnPhoneRevoked = (pairing: { readonly pairingId: string; readonly userName: string }) => void;

export interface OffboardingDeps extends FactorStores {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly target: string;
  readonly conversations: ConversationStore;
  readonly counters: Counters;
  readonly secondFactor: SecondFactorService;
  readonly orderedId: () => string;
  readonly changed: (conversation: Conversation) => void;
  /** Logins that began before belong to users of another directory. Absent: none do. */
  readonly endedBefore?: () => Moment | null;
  readonly logins: { readonly conversationTtlMs: number };
}

type UserConversation = Pick<Conversation, "user" | "orderedId" | "startedMs">;

/** A moment as an ordered id, and by the clock of this node. */
export interface Moment {
  readonly id: string;
  readonly atMs: number;
}

/** The last removal of a user. */
interface Departure extends Moment {
  readonly untilMs: number;
}

/** The row that ends a conversation whose user was removed. */
export const USER_LEFT = "user_left";
/** The row that ends a conversation whose user got another name. */
const USER_RENAMED = "user_renamed";

/** Stands for the id of a moment of another node: times decide. */
const NO_PROCESS = "------";
const NO_CHECKS: readonly Check[] = [];
/** Removed users whose older conversations are refused. */
const MAX_LEFT = 100_000;
/** If clocks differ by more, the check of an Access-Accept still finds the removal. */
const MAX_CLOCK_DIFFERENCE_MS = 600_000;

export class Offboarding {
  readonly #deps: OffboardingDeps;
  /** Users whose removal is in progress, with the number of its commits. */
  readonly #leaving = new Map<string, number>();
  /** Removed users. Their conversations that began before are refused. */
  readonly #left = new Map<string, Departure>();
  readonly #listeners = new Set<OnPhoneRevoked>();

  readonly #departures: RecordVersions;

  constructor(deps: OffboardingDeps) {
    this.#deps = deps;
    this.#departures = new RecordVersions(deps.store);
    deps.store.follow(departurePrefix(deps.target), ({ key, value, versionstamp }) => {
      const isKnown = versionstamp === this.#departures.known(key);
      this.#departures.apply(key, versionstamp);
      // A removal that is read again is not a later one, and one that is long ago ended all logins of its time.
      if (!isKnown && typeof value === "string" && this.#isRecent(value)) {
        this.#addLeft(String(key[2]), value);
      }
    });
    // Logins that began with the new name of a renamed user belong to another person.
    deps.store.follow(renamedKey(deps.target, { kind: "user" }), ({ key, value, versionstamp }) => {
      const isKnown = versionstamp === this.#departures.known(key);
      this.#departures.apply(key, versionstamp);
      const { to } = (value ?? {}) as Partial<RenamedEntry>;
      if (!isKnown && to !== undefined) this.#addLeft(to, NO_PROCESS);
    });
  }

  /** Reads the versions of earlier removals, so that the first Accept of a user who was created again does not race. */
  async load(): Promise<void> {
    const { store, target } = this.#deps;
    if (!store.isShared) return;
    const entries = store.list(departurePrefix(target), { limit: MAX_LEFT });
    for await (const { key, versionstamp } of entries) this.#departures.apply(key, versionstamp);
  }

  /** The check that fails if another node removes the user before an Access-Accept is recorded. */
  departureChecks(user: string): readonly Check[] {
    if (!this.#deps.store.isShared) return NO_CHECKS;
    const key = departureKey(this.#deps.target, user);
    return [{ key, versionstamp: this.#departures.known(key) }];
  }

  /** Whether the user was removed after the conversation began. */
  hasLeft(conversation: UserConversation): boolean {
    const ended = this.#deps.endedBefore?.() ?? null;
    if (ended !== null && beganBefore(conversation, ended)) return true;
    const known = this.#left.size === 0 ? undefined : this.#left.get(conversation.user);
    return known !== undefined && beganBefore(conversation, known);
  }

  /** Whether a turn of this conversation may be recorded. During the removal of its user and after it, it may not. */
  mayRecord(conversation: UserConversation): boolean {
    return (this.#leaving.size === 0 || !this.#leaving.has(conversation.user)) && !this.hasLeft(conversation);
  }

  /** Prepares the removal of a user (canonical name). From now on, logins do not find their pairings. */
  prepare(user: string): PreparedChange {
    const { conversations, counters } = this.#deps;
    this.#leaving.set(user, (this.#leaving.get(user) ?? 0) + 1);
    const removal = prepareFactorRemoval(this.#deps, { user, because: USER_LEFT });
    const ends = conversations.liveOf(user).slice(0, MAX_ENDS)
      .map((conversation) => conversations.endMutation(conversation, USER_LEFT));
    return {
      mutations: [this.#departureOf(user), ...removal.mutations, ...ends],
      done: (versionstamp) => {
        removal.done(versionstamp);
        this.#endLeaving(user);
        this.#addLeft(user, this.#deps.orderedId());
        counters.count("users_left");
        this.#endConversations(user);
        this.#notifyRevoked(removal.ended);
      },
      undo: () => {
        this.#endLeaving(user);
        removal.undo();
      },
    };
  }

  /**
   * Prepares the rename of a user: logins in progress of both names end, those of the new name because they belong to another person.
   *
   * @param rename.departure the id of the user's last removal, which moves to the new name. `undefined`: the user is removed in the same commit
   */
  prepareRename(
    { from, to, departure }: { from: string; to: string; departure: string | null | undefined },
  ): PreparedChange {
    const { conversations, orderedId, target } = this.#deps;
    const names = [from, to];
    for (const user of names) this.#leaving.set(user, (this.#leaving.get(user) ?? 0) + 1);
    const ends = names.flatMap((user) => conversations.liveOf(user).slice(0, MAX_ENDS))
      .map((conversation) => conversations.endMutation(conversation, USER_RENAMED));
    const key = departureKey(target, to);
    const basis = this.#departures.overwriteOf(key);
    const moved: KvMutation = departure === null
      ? { type: "delete", key, basis }
      : { type: "set", key, value: departure ?? orderedId(), basis };
    return {
      mutations: [this.#departureOf(from), moved, ...ends],
      done: () => {
        for (const user of names) {
          this.#endLeaving(user);
          this.#addLeft(user, orderedId());
          this.#endConversations(user, USER_RENAMED);
        }
      },
      undo: () => names.forEach((user) => this.#endLeaving(user)),
    };
  }

  /** Returns a function that removes the listener. */
  onRevoked(notify: OnPhoneRevoked): () => void {
    this.#listeners.add(notify);
    return () => this.#listeners.delete(notify);
  }

  #departureOf(user: string): KvMutation {
    const { target, orderedId } = this.#deps;
    const basis = this.#departures.overwriteOf(departureKey(target, user));
    return { ...departureMutation({ target, user, id: orderedId() }), basis };
  }

  #endLeaving(user: string): void {
    const count = (this.#leaving.get(user) ?? 1) - 1;
    if (count > 0) this.#leaving.set(user, count);
    else this.#leaving.delete(user);
  }

  /** Whether a login that began before the removal may be alive. */
  #isRecent(id: string): boolean {
    const { clock, logins: { conversationTtlMs } } = this.#deps;
    return orderedIdMs(id) > clock.nowMs() - conversationTtlMs - MAX_CLOCK_DIFFERENCE_MS;
  }

  /** @param id an ordered id of the moment of the removal */
  #addLeft(user: string, id: string): void {
    const nowMs = this.#deps.clock.nowMs();
    const before = this.#left.get(user);
    if (before !== undefined && isOfOneProcess(id, before.id) && id <= before.id) return;
    for (const [name, { untilMs }] of this.#left) {
      if (untilMs > nowMs && this.#left.size < MAX_LEFT) break;
      this.#left.delete(name);
    }
    this.#left.delete(user);
    this.#left.set(user, { id, atMs: nowMs, untilMs: nowMs + this.#deps.logins.conversationTtlMs });
  }

  /** Ends the live conversations in memory, including those that began while the commit was in progress. */
  #endConversations(user: string, row = USER_LEFT): void {
    const { conversations, counters, secondFactor, changed } = this.#deps;
    const ended = conversations.liveOf(user);
    for (const conversation of ended) {
      conversations.end(conversation, "cancelled", row);
      counters.count("ended_by_leaving");
      if (conversation.requestId !== null) void secondFactor.cancel(conversation.requestId);
      changed(conversation);
    }
    recordMoreEnds(this.#deps, ended.slice(MAX_ENDS).map((one) => conversations.endMutation(one, row)));
    recordEndedLogins({ ...this.#deps, target: () => this.#deps.target }, ended);
  }

  #notifyRevoked(revoked: readonly Pairing[]): void {
    for (const { kind, id: pairingId, shownUser: userName } of revoked) {
      if (kind !== "device") continue;
      for (const notify of this.#listeners) {
        try {
          notify({ pairingId, userName });
        } catch (fault) {
          this.#deps.log.error("a removed user's phone could not be unpaired", { fault: String(fault) });
        }
      }
    }
  }
}

/** Ids of two processes were made from two clocks. Times in memory are by the clock of this node. */
function beganBefore({ orderedId, startedMs }: UserConversation, { id, atMs }: Moment): boolean {
  return isOfOneProcess(orderedId, id) ? orderedId <= id : startedMs <= atMs;
}

/** The stores of what belongs to a user of the login directory. */
interface FactorStores {
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly hardwareTokens: Pick<HardwareTokens, "prepareRelease">;
  readonly bypassCodes: Pick<BypassCodeStore, "removeUser">;
  readonly remembered: Pick<RememberedDevices, "prepareForget">;
  readonly enrolment: Pick<EnrolmentMarks, "prepareRemoval">;
}

/** The removal of all factors of a user, with the pairings that it ends. */
interface FactorRemoval extends PreparedChange {
  readonly ended: readonly Pairing[];
}

/** From now on, no login finds the factors. @param user canonical @param because the reason in the audit log */
function prepareFactorRemoval(
  stores: FactorStores,
  { user, because }: { readonly user: string; readonly because: string },
): FactorRemoval {
  const removed = stores.pairings.removeUser(user);
  const codes = stores.recoveryCodes.removeUser(user);
  const tokens = stores.hardwareTokens.prepareRelease(user);
  const bypass = stores.bypassCodes.removeUser(user);
  const forgotten = stores.remembered.prepareForget(user);
  const unmarked = stores.enrolment.prepareRemoval(user);
  const parts = [removed, codes, tokens, bypass, forgotten, unmarked];
  const revocations = removed.pairings.map((pairing): Mutation =>
    auditEntry({
      ...{ actor: "radius", action: "pairing.revoke", because, object: `user:${pairing.shownUser}` },
      ...pairingDetails(pairing),
    })
  );
  return {
    ended: removed.pairings,
    mutations: [...parts.flatMap(({ mutations }) => mutations), ...revocations],
    done(versionstamp) {
      forgotten.done();
      unmarked.done(versionstamp);
    },
    undo() {
      removed.restore();
      codes.restore();
      tokens.undo();
      bypass.restore();
      forgotten.undo();
    },
  };
}

// A user of the directory gets another name: the factors, limits and policies follow in the commit of the rename, and logins in progress end.

interface GatewayRenameDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly target: () => string;
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly hardwareTokens: HardwareTokens;
  readonly bypassCodes: BypassCodeStore;
  readonly remembered: RememberedDevices;
  readonly enrolment: EnrolmentMarks;
  readonly factorMarks: FactorMarks;
  readonly limits: Limits;
  readonly offboarding: Offboarding;
  readonly policies: { readonly registry: PolicyRegistry };
  readonly replies: ReplyAttributeRegistry;
}

/** Prepares what the gateway stores by the name of a user or group. */
export function createGatewayRenames(deps: GatewayRenameDeps): PrepareRename {
  return async (rename) => {
    const policies = await deps.policies.registry.prepareRename(rename);
    if (rename.kind === "group") return joinRenames([policies, deps.replies.prepareRename(rename)]);
    const { from, to, isLeaving } = rename;
    // The last removal is a part of the identity of links and sessions, which stay valid.
    const departure = (await deps.store.get<string>(departureKey(deps.target(), from))).value;
    const {
      pairings,
      recoveryCodes,
      hardwareTokens,
      bypassCodes,
      remembered,
      enrolment,
      limits,
      offboarding,
    } = deps;
    // From here on, nothing waits, and no login of either name is recorded before the commit.
    return joinRenames([
      policies,
      offboarding.prepareRename({ from, to, departure: isLeaving ? undefined : departure }),
      moveFactors({ ...deps, pairings }, rename),
      recoveryCodes.prepareRename(from, to),
      hardwareTokens.prepareRename(from, { to, name: rename.name }),
      bypassCodes.prepareRename(from, to),
      remembered.prepareRename(from, to),
      enrolment.prepareRename(from, to, { isLeaving }),
      deps.factorMarks.prepareRename(from, to),
      limits.prepareRename(from, to),
    ]);
  };
}

/** Moves the pairings and the preferred factor. Factors of the new name belong to a person outside the directory, and end. */
function moveFactors(
  { pairings, vault, store }: Pick<GatewayRenameDeps, "pairings" | "vault" | "store">,
  { from, to, name }: Rename,
): PreparedRename {
  const known = pairings.of(from);
  const preferred = pairings.preferred(from);
  const removed = [pairings.removeUser(from), pairings.removeUser(to)];
  const moved = known.map((pairing): Pairing => {
    const next = { ...pairing, user: to, shownUser: name };
    if (next.kind !== "totp" || pairing.kind !== "totp") return next;
    // The seed is sealed for the key of its record.
    const seed = pairings.seedOf(pairing);
    return seed === null ? next : { ...next, seed: vault.seal(pairings.keyOf(next), seed) };
  });
  const keys = moved.map((pairing) => pairings.keyOf(pairing));
  const mutations: Mutation[] = [
    ...removed.flatMap(({ mutations }) => mutations),
    ...moved.map((value): Mutation => ({ type: "set", key: pairings.keyOf(value), value })),
    ...preferred === null ? [] : [pairings.preparePreference(to, preferred)],
  ];
  if (mutations.length === 0) return NO_CHANGE;
  return {
    mutations,
    done() {
      for (const pairing of moved) pairings.adopt(pairing);
      pairings.adoptPreference(to, preferred);
      // Their versions are needed for the next write.
      if (store.isShared && keys.length > 0) store.reread(keys).catch(() => undefined);
    },
    undo: () => removed.toReversed().forEach(({ restore }) => restore()),
  };
}

// What the gateway knows about users and groups by their names, for the writers of the directory: such a change can give a person access.

/** All names are canonical. */
export interface NamedAccess {
  isGroupNamed(group: string): boolean;
  /** Whether a policy or a reply attribute of the settings names the user. */
  isUserNamed(user: string): boolean;
  /** The front-end attributes of users from which reply attributes come. */
  readonly replySources: readonly string[];
  /** Whether policies or reply attributes name any group. */
  namesGroups(): boolean;
  /** Whether a user with the name has a factor, or had one. @param id of the directory record; absent: there is none */
  hadFactor(user: string, id: string | undefined): boolean;
}

interface NamedAccessDeps extends AnyFactorDeps {
  readonly factorMarks: Pick<FactorMarks, "has">;
  readonly policies: { readonly registry: Pick<PolicyRegistry, "names" | "namesGroups"> };
  readonly replies: Pick<ReplyAttributeRegistry, "find" | "namesGroups">;
  readonly userReplies: Pick<UserReplyRegistry, "names">;
  readonly replySources: readonly string[];
}

export function createNamedAccess(
  { policies, replies, userReplies, replySources, factorMarks, ...factors }: NamedAccessDeps,
): NamedAccess {
  return {
    isGroupNamed: (group) => policies.registry.names("group", group) || replies.find(group).from !== null,
    isUserNamed: (user) => policies.registry.names("user", user) || userReplies.names(user),
    replySources,
    namesGroups: () => policies.registry.namesGroups || replies.namesGroups,
    hadFactor: (user, id) =>
      hasAnyFactor(factors, user) || factorMarks.has(user, id === undefined ? undefined : { id }),
  };
}
