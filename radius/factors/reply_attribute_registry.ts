// The reply attributes of groups and of single users: those of the settings, and those of the console. Those of a group are stored under
// ["reply_group", canonical name].

import { canonicalName } from "../../platform/canonical_name.ts";
import type {
  Config,
  GroupCombination,
  ReplyAttributes,
  ReplyGroup,
  ReplyValue,
} from "../../platform/config/config.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import {
  commitChanges,
  prepareChanges,
  Table,
  type TableChange,
  type TableKind,
} from "../../platform/table.ts";
import type { PreparedRename, Rename } from "../../platform/write_batch.ts";
import { attributeSetOctets, attributeSetProblem } from "../protocol/attributes.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";
import { type AcceptAttributes, replyKey, type UserReplies } from "./reply_attributes.ts";

interface ReplyRecord {
  /** As spelled by the administrator. */
  readonly group: string;
  readonly attributes: ReplyAttributes;
  /** Absent: `first`. */
  readonly groups?: GroupCombination;
  /** Grows with each change. A change names the version that it is based on. */
  readonly version: number;
}

/** The reply attributes of a group, and where they are defined. */
export interface GroupReplyAttributes {
  /** `null`: the group has no attributes. */
  readonly from: "settings" | "console" | null;
  readonly attributes: ReplyAttributes;
  readonly groups: GroupCombination;
  /** 0 if the console never changed the group. */
  readonly version: number;
}

/** One attribute of the Access-Accept of a user who is in this group only. */
interface EffectiveReplyAttribute {
  readonly name: string;
  readonly value: ReplyValue;
  readonly from: "default" | "group";
}

export type ReplyChangeResult =
  | { readonly ok: true; readonly replies: GroupReplyAttributes }
  | { readonly ok: false; readonly reason: "in_settings" | "changed" | "full" }
  | { readonly ok: false; readonly reason: "bad"; readonly detail: string };

const MAX_GROUPS = 2000;
/** The id is the canonical name. */
const REPLY_GROUPS: TableKind<ReplyRecord> = {
  prefix: ["reply_group"],
  read(value) {
    const record = value as ReplyRecord;
    if (typeof record.group !== "string" || typeof record.attributes !== "object") {
      throw new TypeError("it has no attributes");
    }
    return record;
  },
};

interface ReplyAttributeRegistryDeps {
  readonly store: Store;
  readonly settings: Pick<Config["radius"], "replyDefault" | "replyGroups">;
  readonly accept: Pick<AcceptAttributes, "replace">;
}

export class ReplyAttributeRegistry {
  readonly #deps: ReplyAttributeRegistryDeps;
  readonly #ofSettings: ReadonlyMap<string, ReplyGroup>;
  readonly #table: Table<ReplyRecord>;

  constructor(deps: ReplyAttributeRegistryDeps) {
    this.#deps = deps;
    this.#ofSettings = new Map(
      deps.settings.replyGroups.map((one) => [canonicalName(one.group), one]),
    );
    const onForeignChange = () => this.#apply();
    this.#table = new Table({ store: deps.store, onForeignChange }, REPLY_GROUPS);
  }

  async load(): Promise<void> {
    await this.#table.load();
    if (this.#table.size > 0) this.#apply();
  }

  /** Whether any group has attributes. */
  get namesGroups(): boolean {
    return this.#ofSettings.size > 0 || this.#table.size > 0;
  }

  /** @param group in any spelling */
  find(group: string): GroupReplyAttributes {
    const canonical = canonicalName(group);
    const fixed = this.#ofSettings.get(canonical);
    if (fixed !== undefined) {
      const { attributes, groups = "first" } = fixed;
      return { from: "settings", attributes, groups, version: 0 };
    }
    const { attributes = {}, groups = "first", version = 0 } = this.#table.get(canonical)?.value ?? {};
    return { from: Object.keys(attributes).length === 0 ? null : "console", attributes, groups, version };
  }

  effective(group: string): readonly EffectiveReplyAttribute[] {
    const own = Object.entries(this.find(group).attributes);
    const taken = new Set(own.map(([name, value]) => replyKey(name, value)));
    const left = Object.entries(this.#deps.settings.replyDefault)
      .filter(([name, value]) => !taken.has(replyKey(name, value)));
    return [
      ...left.map(([name, value]) => ({ name, value, from: "default" }) as const),
      ...own.map(([name, value]) => ({ name, value, from: "group" }) as const),
    ];
  }

  /** Replaces the attributes of a group. */
  async change(
    group: string,
    attributes: ReplyAttributes,
    { version, audit, groups = "first" }: { version: number; audit: Mutation; groups?: GroupCombination },
  ): Promise<ReplyChangeResult> {
    const { store } = this.#deps;
    const canonical = canonicalName(group);
    if (this.#ofSettings.has(canonical)) return { ok: false, reason: "in_settings" };
    const before = this.#table.get(canonical);
    if ((before?.value.version ?? 0) !== version) return { ok: false, reason: "changed" };
    if (before === undefined && this.#table.size >= MAX_GROUPS) return { ok: false, reason: "full" };
    const detail = this.#problemOf(canonical, attributes);
    if (detail !== null) return { ok: false, reason: "bad", detail };
    const record: ReplyRecord = { group, attributes, groups, version: version + 1 };
    const change = before === undefined
      ? this.#table.add(canonical, record)
      : this.#table.replace(before, record);
    if (!await commitChanges(store, [change], { also: [audit] })) return { ok: false, reason: "changed" };
    this.#apply();
    return { ok: true, replies: this.find(group) };
  }

  /** Removes the attributes of a group that is created or deleted, so that a new group does not inherit those of an earlier one with its name. */
  prepareForget(canonical: string): PreparedRename {
    // Also without a record in memory, because its commit may be in progress.
    return this.#prepare([this.#table.erase(canonical)]);
  }

  /** Prepares the move of the attributes of a group. Those of the settings stay: they name the group. */
  prepareRename({ from, to, name }: Rename): PreparedRename {
    return this.#prepare(this.#table.move(from, to, (record) => ({ ...record, group: name })));
  }

  #prepare(changes: readonly TableChange[]): PreparedRename {
    const { done, ...prepared } = prepareChanges(changes);
    return {
      ...prepared,
      done: (versionstamp) => {
        done(versionstamp);
        this.#apply();
      },
    };
  }

  /** The groups of the settings come first, in their order; then those of the console, by name. */
  #apply(): void {
    const own = this.#table.all().filter(({ id }) => !this.#ofSettings.has(id)).toArray()
      .sort((a, b) => a.id < b.id ? -1 : 1).map(({ value: { version: _version, ...replies } }) => replies);
    this.#deps.accept.replace([...this.#deps.settings.replyGroups, ...own]);
  }

  /** The octets of these attributes with those of all groups except one, because a user can be in every group. */
  octetsWith(attributes: ReplyAttributes, except = ""): number {
    const others = this.#table.all().flatMap(({ id, value }) => id === except ? [] : [value.attributes]);
    const ofSettings = this.#ofSettings.values().map((one) => one.attributes);
    return [this.#deps.settings.replyDefault, ...ofSettings, ...others, attributes]
      .reduce((sum, one) => sum + attributeSetOctets(one), 0);
  }

  #problemOf(canonical: string, attributes: ReplyAttributes): string | null {
    const problem = attributeSetProblem(attributes);
    if (problem !== null) return problem;
    const octets = this.octetsWith(attributes, canonical);
    return octets <= MAX_ACCEPT_ATTRIBUTE_OCTETS
      ? null
      : `All groups' attributes would have ${octets} octets; an Access-Accept has room for ${MAX_ACCEPT_ATTRIBUTE_OCTETS}.`;
  }
}

// The reply attributes of single users: those of the settings, by name, and those of the console, which are stored under ["reply_user", id] of the
// user's record. They follow a renamed user, and a later user of the same name does not have them.

interface UserReplyRecord {
  readonly attributes: ReplyAttributes;
  /** Grows with each change. A change names the version that it is based on. */
  readonly version: number;
}

/** A user of the directory. */
interface ReplyOwner {
  readonly name: string;
  readonly id: string;
}

const MAX_USERS = 20_000;
const REPLY_USERS: TableKind<UserReplyRecord> = {
  prefix: ["reply_user"],
  read(value) {
    const { attributes, version } = value as Partial<UserReplyRecord>;
    if (typeof attributes !== "object" || typeof version !== "number") {
      throw new TypeError("it has no attributes");
    }
    return { attributes, version };
  },
};

export class UserReplyRegistry implements UserReplies {
  readonly #store: Store;
  readonly #ofSettings: ReadonlyMap<string, ReplyAttributes>;
  readonly #table: Table<UserReplyRecord>;

  constructor(
    { store, settings, accept }: {
      readonly store: Store;
      readonly settings: Pick<Config["radius"], "replyUsers">;
      readonly accept: Pick<AcceptAttributes, "replaceUsers">;
    },
  ) {
    this.#store = store;
    this.#ofSettings = new Map(
      settings.replyUsers.map(({ user, attributes }) => [canonicalName(user), attributes]),
    );
    this.#table = new Table({ store }, REPLY_USERS);
    accept.replaceUsers(this);
  }

  load(): Promise<void> {
    return this.#table.load();
  }

  get size(): number {
    return this.#table.size + this.#ofSettings.size;
  }

  of(user: string, id: string | undefined): ReplyAttributes | undefined {
    return this.#ofSettings.get(user) ?? this.#table.get(id ?? "")?.value.attributes;
  }

  /** Whether the settings name a user. @param user canonical */
  names(user: string): boolean {
    return this.#ofSettings.has(user);
  }

  find({ name, id }: ReplyOwner): {
    readonly from: "settings" | "console" | null;
    readonly attributes: ReplyAttributes;
    readonly version: number;
  } {
    const fixed = this.#ofSettings.get(canonicalName(name));
    if (fixed !== undefined) return { from: "settings", attributes: fixed, version: 0 };
    const { attributes = {}, version = 0 } = this.#table.get(id)?.value ?? {};
    return { from: Object.keys(attributes).length === 0 ? null : "console", attributes, version };
  }

  /** Replaces the attributes of a user. */
  async change(
    owner: ReplyOwner,
    attributes: ReplyAttributes,
    { version, audit }: { version: number; audit: Mutation },
  ): Promise<Exclude<ReplyChangeResult, { ok: true }> | { readonly ok: true }> {
    if (this.#ofSettings.has(canonicalName(owner.name))) return { ok: false, reason: "in_settings" };
    const detail = problemOf(attributes);
    if (detail !== null) return { ok: false, reason: "bad", detail };
    const before = this.#table.get(owner.id);
    if ((before?.value.version ?? 0) !== version) return { ok: false, reason: "changed" };
    if (before === undefined && this.#table.size >= MAX_USERS) return { ok: false, reason: "full" };
    const record: UserReplyRecord = { attributes, version: version + 1 };
    const change = before === undefined
      ? this.#table.add(owner.id, record)
      : this.#table.replace(before, record);
    const isDone = await commitChanges(this.#store, [change], { also: [audit] });
    return isDone ? { ok: true } : { ok: false, reason: "changed" };
  }
}

function problemOf(attributes: ReplyAttributes): string | null {
  const octets = attributeSetOctets(attributes);
  return attributeSetProblem(attributes) ??
    (octets <= MAX_ACCEPT_ATTRIBUTE_OCTETS
      ? null
      : `The attributes have ${octets} octets; an Access-Accept has room for ${MAX_ACCEPT_ATTRIBUTE_OCTETS}.`);
}
