// Whether a user has a factor, had one, or has one that can be used now: pairings, hardware tokens, and codes that replace a factor; and the
// invitation to enrol. The flow and the preview of policies use the same rules.

import type { FactorSettings } from "../../platform/config/config.ts";
import { isCountryAllowed } from "../../platform/phone_number.ts";
import type { Factor, Facts, PhoneChoiceFacts } from "../flow/context.ts";
import type { EnrolmentRule } from "../policy/policy.ts";
import type { DirectoryUser, LoginDirectory } from "../ports.ts";
import type { Pairings } from "./pairings.ts";
import type { RecoveryCodeStore } from "./recovery_codes.ts";
import type { OfferedPhone } from "../flow/prompts.ts";
import type { Appended } from "../protocol/login_input.ts";
import type { DevicePairingRow, Pairing } from "./pairing.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import {
  type MirroredRow,
  prepareChanges,
  Table,
  type TableChange,
  type TableKind,
} from "../../platform/table.ts";
import {
  NO_CHANGE,
  type PreparedChange,
  type PreparedRename,
  type UnversionedChange,
} from "../../platform/write_batch.ts";

/** The parts of the stores that hold the factors of users (canonical names). */
export interface OwnFactorDeps {
  readonly settings: Pick<FactorSettings, "countryCodes">;
  /** The factors of the settings. A policy must not turn a user with a number into one who may add any phone. */
  readonly enabled: () => ReadonlySet<Factor>;
  readonly pairings: {
    of(user: string): readonly unknown[];
    usable(user: string): readonly { readonly kind: Factor }[];
  };
  readonly hardwareTokens: {
    of(user: string): readonly unknown[];
    usable(user: string): readonly unknown[];
  };
  readonly recoveryCodes: { status(user: string): { readonly left: number } };
  readonly bypassCodes: { status(user: string): unknown };
  readonly factorMarks: Pick<FactorMarks, "has">;
  /** Whether a link to pair a phone, made by another person than the user, is open. */
  readonly hasOpenInvitation: (user: string) => boolean;
}

/** The parts that count factors of any state. */
export type AnyFactorDeps = Pick<
  OwnFactorDeps,
  "pairings" | "hardwareTokens" | "recoveryCodes" | "bypassCodes"
>;

/**
 * Whether the user has any factor, or codes that replace one. An unconfirmed factor and a disabled token count, too: with a password alone, no
 * other factor can be added.
 */
export function hasAnyFactor(
  { pairings, hardwareTokens, recoveryCodes, bypassCodes }: AnyFactorDeps,
  user: string,
): boolean {
  return pairings.of(user).length > 0 || hardwareTokens.of(user).length > 0 ||
    recoveryCodes.status(user).left > 0 || bypassCodes.status(user) !== null;
}

/** The same, or a number of the directory to which a passcode may be sent. */
export function hasOwnFactor(
  deps: Omit<OwnFactorDeps, "factorMarks" | "hasOpenInvitation">,
  { user, phoneNumbers }: { readonly user: string; readonly phoneNumbers: readonly string[] },
): boolean {
  if (hasAnyFactor(deps, user)) return true;
  const enabled = deps.enabled();
  if (!enabled.has("sms") && !enabled.has("voice")) return false;
  return phoneNumbers.some((number) => isCountryAllowed(number, deps.settings.countryCodes));
}

type FactorOwner = Pick<DirectoryUser, "status" | "phoneNumbers" | "id">;

/** Whether a user has a factor of any state, or ever had one. @param user canonical */
export function everHadFactor(
  deps: Omit<OwnFactorDeps, "hasOpenInvitation">,
  user: string,
  record: Omit<FactorOwner, "status">,
): boolean {
  return deps.factorMarks.has(user, record) ||
    hasOwnFactor(deps, { user, phoneNumbers: record.phoneNumbers });
}

/**
 * Whether a user has no factor: the directory knows the user, who has no factor of any state and never had one. A login may then add the first
 * factor, and policies for users without a factor apply. Neither follows from the loss of a factor, or from a name that the directory does not know.
 *
 * @param user canonical
 */
export function neverHadFactor(
  deps: Omit<OwnFactorDeps, "hasOpenInvitation">,
  user: string,
  record: FactorOwner,
): boolean {
  return record.status !== "unknown" && !everHadFactor(deps, user, record);
}

/**
 * Whether a login may add a factor. If the user had one, only an invitation, the help desk or an administrator adds another: a phone and the
 * password are often lost together. An open invitation is for its user, not for a thief of the password.
 *
 * @param user canonical
 */
export function mayAddFactor(
  deps: Omit<OwnFactorDeps, "settings" | "enabled">,
  { user, record }: { readonly user: string; readonly record: Pick<DirectoryUser, "status" | "id"> },
  { rule, isPasswordRight }: { readonly rule: EnrolmentRule; readonly isPasswordRight: boolean },
): boolean {
  if (rule === "never" || record.status !== "active" || hasAnyFactor(deps, user)) return false;
  // "always" lets every user without a factor enrol; that is its purpose.
  if (rule === "always") return true;
  return isPasswordRight && !deps.factorMarks.has(user, record) && !deps.hasOpenInvitation(user);
}

/** The kinds of factors that the user can use for a login, besides codes that replace a factor. */
export function usableKinds(
  { pairings, hardwareTokens }: {
    readonly pairings: Pick<OwnFactorDeps["pairings"], "usable">;
    readonly hardwareTokens: Pick<OwnFactorDeps["hardwareTokens"], "usable">;
  },
  user: string,
): ReadonlySet<Factor> {
  const kinds = new Set(pairings.usable(user).map(({ kind }) => kind));
  return hardwareTokens.usable(user).length > 0 ? kinds.add("totp") : kinds;
}

interface UsablePairing {
  readonly kind: Factor;
  /** Of a phone: the digits of its passcodes; 0: it generates none. */
  readonly totpLength?: number;
}

/** The enabled factors that the user can use now. @param deviceCodes whether passcodes of phones are accepted */
export function readyFactors(
  pairings: readonly UsablePairing[],
  { enabled, deviceCodes, hasToken }: {
    readonly enabled: ReadonlySet<Factor>;
    readonly deviceCodes: boolean;
    readonly hasToken: boolean;
  },
): Facts["ready"] {
  const has = (wanted: Factor) => enabled.has(wanted) && pairings.some(({ kind }) => kind === wanted);
  return {
    device: has("device"),
    deviceCodes: deviceCodes && has("device") && pairings.some(({ totpLength = 0 }) => totpLength > 0),
    sms: has("sms"),
    voice: has("voice"),
    totp: has("totp") || (enabled.has("totp") && hasToken),
  };
}

/** Whether the user has recovery codes that can be used: the phone that created them, if one did, is still paired. */
export function hasUsableRecoveryCodes(
  { pairings, recoveryCodes }: {
    readonly pairings: Pick<Pairings, "isConfirmed">;
    readonly recoveryCodes: Pick<RecoveryCodeStore, "status">;
  },
  user: string,
): boolean {
  const { left, addedBy } = recoveryCodes.status(user);
  return left > 0 && pairings.isConfirmed(user, addedBy);
}

// The phones of a user who has several: their order, the ones that a prompt offers, and the one that the user chose.

/** A prompt offers at most this many phones; a reply must not be much larger than its request. */
const MAX_OFFERED = 5;
const MAX_NAME_CHARACTERS = 32;

/** The phones among pairings: the one that approved a login last comes first, then the one that was paired last. */
export function orderPhones(pairings: readonly Pairing[]): readonly DevicePairingRow[] {
  const phones = pairings.filter((pairing) => pairing.kind === "device");
  return phones.length < 2
    ? phones
    : phones.sort((a, b) =>
      (b.approvedMs ?? 0) - (a.approvedMs ?? 0) || b.createdMs - a.createdMs || (a.id < b.id ? -1 : 1)
    );
}

interface AskedConversation {
  readonly at: string;
  readonly numbers: readonly string[];
  readonly pairingId: string | null;
}

/** The phones of a login. Users with one phone, and a phone that was revoked meanwhile, have no choice. */
export function phoneFacts(
  pairings: readonly Pairing[],
  { at, numbers, pairingId: asked }: AskedConversation,
  answer: string,
): PhoneChoiceFacts {
  const phones = orderPhones(pairings);
  const isAtDevice = at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
  return {
    several: phones.length > 1,
    other: isAtDevice ? chosenPhone(answer, { entries: numbers, asked, phones }) : null,
    get entries() {
      return phoneEntries(phones, asked);
    },
  };
}

/** The record of a phone that approved a login; `null` if the order of the phones does not change. */
export function approvedPhone(
  pairings: readonly Pairing[],
  { id, nowMs }: { id: string; nowMs: number },
): DevicePairingRow | null {
  const phones = orderPhones(pairings);
  const approved = phones.find((phone) => phone.id === id);
  const isFirst = phones[0] === approved && approved?.approvedMs !== undefined;
  return approved === undefined || phones.length < 2 || isFirst ? null : { ...approved, approvedMs: nowMs };
}

/** "id name" of each phone, so that the digits of a prompt keep their meaning. @param asked the phone that has the request */
function phoneEntries(phones: readonly DevicePairingRow[], asked: string | null): string[] {
  const first = phones.slice(0, MAX_OFFERED);
  const current = phones.find(({ id }) => id === asked);
  if (current !== undefined && !first.includes(current)) first[MAX_OFFERED - 1] = current;
  return first.map(({ id, name }) => `${id} ${shortName(name ?? "")}`);
}

function shortName(name: string): string {
  const characters = [...name];
  return characters.length <= MAX_NAME_CHARACTERS
    ? name
    : `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join("")}…`;
}

/** The phones of a prompt. An id has no blank, so the first one ends it. */
export function offeredPhones(entries: readonly string[], asked: string | null): OfferedPhone[] {
  return entries.map((entry, at) => {
    const [id = ""] = entry.split(" ", 1);
    const digit = String(at + 1);
    return { digit, name: entry.slice(id.length + 1) || `phone ${digit}`, isAsked: id === asked };
  });
}

/** The id of the phone that an answer chooses; `null` if it chooses none, or the one that has the request. */
function chosenPhone(
  answer: string,
  { entries, asked, phones }: {
    entries: readonly string[];
    asked: string | null;
    phones: readonly DevicePairingRow[];
  },
): string | null {
  if (!/^[1-9]$/.test(answer)) return null;
  const [id = ""] = entries[Number(answer) - 1]?.split(" ", 1) ?? [];
  return id !== asked && phones.some((phone) => phone.id === id) ? id : null;
}

/**
 * The pairing that the number behind an appended word chooses (`push2`, `sms1`), in the order of the account page.
 *
 * @param pairings all of the user: also one that cannot be used has its place on that page
 */
export function appendedChoice(
  appended: Appended | null,
  { pairings, usable }: { pairings: readonly Pairing[]; usable: readonly Pairing[] },
): Facts["appendedChoice"] {
  if (appended === null || !("nth" in appended) || appended.nth === 0) return "first";
  const wanted = appended.kind === "push" ? "device" : appended.kind === "sms" ? "sms" : "voice";
  const chosen = pairings.filter(({ kind }) => kind === wanted)[appended.nth - 1];
  return chosen !== undefined && usable.some(({ id }) => id === chosen.id) ? chosen : "missing";
}

// What the gateway and the console know about the enrolment of each user: the invitation, with its reminders and the deadline after which a login
// without a second factor is refused; and whether the user ever had a factor. All marks are in memory, so that a login does not read the store.

/** The value under ["enrolment", target, user]. Times are milliseconds since the epoch. */
export interface EnrolmentMark {
  /** The directory record that was invited. */
  readonly recordId: string;
  readonly campaign: string;
  /** The first invitation of the campaign. */
  readonly invitedMs: number;
  /** When the newest link stops working. */
  readonly linkUntilMs: number;
  /** The id of the newest invitation at the second-factor service. */
  readonly invitation: string;
  /** How many reminders were sent, and the last one. */
  readonly reminders: number;
  readonly remindedMs: number | null;
  /** From then on, a login without a second factor is refused; `null`: never. */
  readonly deadlineMs: number | null;
}

/** The id is the canonical name of the user. */
const MARKS: Omit<TableKind<EnrolmentMark>, "prefix"> = {
  read(value) {
    const mark = value as EnrolmentMark;
    if (typeof mark.invitedMs !== "number" || !isTimeOrNull(mark.deadlineMs)) {
      throw new TypeError("it has no time of the invitation, so this user counts as not invited");
    }
    return mark;
  },
};

interface EnrolmentMarksDeps {
  readonly store: Store;
  readonly target: string;
}

export class EnrolmentMarks {
  readonly #table: Table<EnrolmentMark>;

  constructor({ store, target }: EnrolmentMarksDeps) {
    this.#table = new Table({ store }, { ...MARKS, prefix: ["enrolment", target] });
  }

  load(): Promise<void> {
    return this.#table.load();
  }

  /** @param user canonical */
  of(user: string): EnrolmentMark | null {
    return this.#table.get(user)?.value ?? null;
  }

  /** The mark with its version, for a change of it. */
  read(user: string): MirroredRow<EnrolmentMark> | undefined {
    return this.#table.get(user);
  }

  /** All marks, by canonical name. */
  *all(): Iterable<readonly [user: string, mark: EnrolmentMark]> {
    for (const { id, value } of this.#table.all()) yield [id, value];
  }

  /** Whether the user had to set up a second factor before `nowMs`. */
  isOverdue(user: string, nowMs: number): boolean {
    const deadlineMs = this.#table.size === 0 ? null : this.#table.get(user)?.value.deadlineMs ?? null;
    return deadlineMs !== null && deadlineMs <= nowMs;
  }

  /** Prepares a mark in place of the one that was read. It is refused if that one changed since. */
  prepare(
    user: string,
    { read, mark }: { read: MirroredRow<EnrolmentMark> | undefined; mark: EnrolmentMark },
  ): TableChange {
    return read === undefined ? this.#table.add(user, mark) : this.#table.replace(read, mark);
  }

  /** Prepares the removal of a user. A campaign may invite the user in this moment, so the mark is deleted even if this node does not know it. */
  prepareRemoval(user: string): PreparedChange {
    return prepareChanges([this.#table.erase(user)]);
  }

  /**
   * Prepares the move of the mark to another name. A mark of the new name belongs to an earlier user, and is removed.
   *
   * @param rename.isLeaving the user is deactivated in the same commit: the mark ends
   */
  prepareRename(
    from: string,
    to: string,
    { isLeaving = false }: { isLeaving?: boolean } = {},
  ): PreparedRename {
    return prepareChanges(this.#table.move(from, to, (mark) => isLeaving ? null : mark));
  }
}

function isTimeOrNull(value: unknown): value is number | null {
  return value === null || typeof value === "number";
}

// Which users ever had a factor. A mark is written in the commit that adds a factor, and stays when the last factor is removed: an attacker
// with a password must not add a factor in place of one that was lost.

interface FactorMarksDeps {
  readonly store: Store;
  readonly target: string;
  /** The id of the directory record of a user (canonical name); `null` if there is none, or it is not in memory. */
  readonly recordIdOf: (user: string) => string | null;
}

/** The id of a user's directory record, for {@link FactorMarksDeps}. */
export function recordIdIn(directory: Pick<LoginDirectory, "lookUp">, user: string): string | null {
  try {
    return directory.lookUp(user).id ?? null;
  } catch {
    // The directory does not have the user in memory. The name is marked instead.
    return null;
  }
}

/** What a mark is about: a record of the directory, which keeps its id when it is renamed or restored, or a name without a record. */
type MarkKind = "record" | "name";

export class FactorMarks {
  readonly #deps: FactorMarksDeps;
  readonly #marked = { record: new Set<string>(), name: new Set<string>() };

  constructor(deps: FactorMarksDeps) {
    this.#deps = deps;
    deps.store.follow(this.#prefix(), (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load(this.#prefix(), (entry) => this.#apply(entry));
  }

  /** Whether the user ever had a factor. @param user canonical @param record absent: the one in memory */
  has(user: string, record?: Pick<DirectoryUser, "id">): boolean {
    const id = record === undefined ? this.#deps.recordIdOf(user) : record.id ?? null;
    return (id !== null && this.#marked.record.has(id)) || this.#marked.name.has(user);
  }

  /** Prepares the mark of a user who gets a factor. @param user canonical */
  prepare(user: string): UnversionedChange {
    const id = this.#deps.recordIdOf(user);
    const [kind, of]: [MarkKind, string] = id === null ? ["name", user] : ["record", id];
    const marked = this.#marked[kind];
    if (marked.has(of)) return NO_CHANGE;
    return {
      mutations: [{ type: "set", key: this.#keyOf(kind, of), value: true }],
      done: () => void marked.add(of),
      undo: () => undefined,
    };
  }

  /** Prepares the move of the mark of a name to another name. The mark of a record needs none. */
  prepareRename(from: string, to: string): PreparedRename {
    const { name } = this.#marked;
    if (!name.has(from)) return NO_CHANGE;
    const mutations: Mutation[] = [
      { type: "delete", key: this.#keyOf("name", from) },
      { type: "set", key: this.#keyOf("name", to), value: true },
    ];
    const done = () => void name.add(to).delete(from);
    return { mutations, done, undo: () => undefined };
  }

  #prefix(): Deno.KvKey {
    return ["had_factor", this.#deps.target];
  }

  #keyOf(kind: MarkKind, of: string): Deno.KvKey {
    return [...this.#prefix(), kind, of];
  }

  #apply({ key: [, , kind, of], value }: StoreEntry<unknown>): void {
    if (typeof of !== "string" || (kind !== "record" && kind !== "name")) return;
    if (value === null) this.#marked[kind].delete(of);
    else this.#marked[kind].add(of);
  }
}
