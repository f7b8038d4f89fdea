// The reply attributes of groups: those of the settings, and those of the console, which are stored under ["reply_group", canonical name].

import { canonicalName } from "../../platform/canonical_name.ts";
import type {
  Config,
  GroupCombination,
  ReplyAttributes,
  ReplyGroup,
  ReplyValue,
} from "../../platform/config/config.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { PreparedChange, PreparedRename, Rename } from "../../platform/write_batch.ts";
import { attributeSetOctets, attributeSetProblem } from "../protocol/attributes.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";
import { type AcceptAttributes, replyKey } from "./reply_attributes.ts";

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
export interface EffectiveReplyAttribute {
  readonly name: string;
  readonly value: ReplyValue;
  readonly from: "default" | "group";
}

export type ReplyChangeResult =
  | { readonly ok: true; readonly replies: GroupReplyAttributes }
  | { readonly ok: false; readonly reason: "in_settings" | "changed" | "full" }
  | { readonly ok: false; readonly reason: "bad"; readonly detail: string };

const MAX_GROUPS = 2000;
export const replyGroupKey = (canonical: string): Deno.KvKey => ["reply_group", canonical];

export interface ReplyAttributeRegistryDeps {
  readonly store: Store;
  readonly settings: Pick<Config["radius"], "replyDefault" | "replyGroups">;
  readonly accept: Pick<AcceptAttributes, "replace">;
}

export class ReplyAttributeRegistry {
  readonly #deps: ReplyAttributeRegistryDeps;
  readonly #ofSettings: ReadonlyMap<string, ReplyGroup>;
  readonly #records = new Map<string, ReplyRecord>();

  constructor(deps: ReplyAttributeRegistryDeps) {
    this.#deps = deps;
    this.#ofSettings = new Map(
      deps.settings.replyGroups.map((one) => [canonicalName(one.group), one]),
    );
    deps.store.follow(["reply_group"], (entry) => {
      this.#remember(entry);
      this.#apply();
    });
  }

  async load(): Promise<void> {
    await this.#deps.store.load(["reply_group"], (entry) => this.#remember(entry));
    if (this.#records.size > 0) this.#apply();
  }

  /** Takes over a stored record. */
  #remember({ key: [, canonical], value }: StoreEntry<unknown>): void {
    if (value === null) return void this.#records.delete(String(canonical));
    const record = value as ReplyRecord;
    if (typeof record.group !== "string" || typeof record.attributes !== "object") {
      throw new TypeError("it has no attributes");
    }
    this.#records.set(String(canonical), record);
  }

  /** Whether any group has attributes. */
  get namesGroups(): boolean {
    return this.#ofSettings.size > 0 || this.#records.size > 0;
  }

  /** @param group in any spelling */
  find(group: string): GroupReplyAttributes {
    const canonical = canonicalName(group);
    const fixed = this.#ofSettings.get(canonical);
    if (fixed !== undefined) {
      const { attributes, groups = "first" } = fixed;
      return { from: "settings", attributes, groups, version: 0 };
    }
    const { attributes = {}, groups = "first", version = 0 } = this.#records.get(canonical) ?? {};
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
    const before = this.#records.get(canonical);
    if ((before?.version ?? 0) !== version) return { ok: false, reason: "changed" };
    if (before === undefined && this.#records.size >= MAX_GROUPS) return { ok: false, reason: "full" };
    const detail = this.#problemOf(canonical, attributes);
    if (detail !== null) return { ok: false, reason: "bad", detail };
    const entry = await store.get<ReplyRecord>(replyGroupKey(canonical));
    if ((entry.value?.version ?? 0) !== version) return { ok: false, reason: "changed" };
    const record: ReplyRecord = { group, attributes, groups, version: version + 1 };
    const { ok } = await store.commit({
      checks: [{ key: entry.key, versionstamp: entry.versionstamp }],
      mutations: [{ type: "set", key: replyGroupKey(canonical), value: record }, audit],
    });
    if (!ok) return { ok: false, reason: "changed" };
    this.#records.set(canonical, record);
    this.#apply();
    return { ok: true, replies: this.find(group) };
  }

  /** Removes the attributes of a group that is created or deleted, so that a new group does not inherit those of an earlier one with its name. */
  prepareForget(canonical: string): PreparedChange {
    return {
      // Also without a record in memory, because its commit may be in progress.
      mutations: [{ type: "delete", key: replyGroupKey(canonical) }],
      done: () => {
        if (this.#records.delete(canonical)) this.#apply();
      },
      undo: () => undefined,
    };
  }

  /** Prepares the move of the attributes of a group. Those of the settings stay: they name the group. */
  prepareRename({ from, to, name }: Rename): PreparedRename {
    const record = this.#records.get(from);
    const moved = record === undefined ? undefined : { ...record, group: name };
    return {
      mutations: [
        { type: "delete", key: replyGroupKey(from) },
        moved === undefined
          ? { type: "delete", key: replyGroupKey(to) }
          : { type: "set", key: replyGroupKey(to), value: moved },
      ],
      done: () => {
        const isChanged = this.#records.delete(from) || this.#records.delete(to);
        if (moved !== undefined) this.#records.set(to, moved);
        if (isChanged) this.#apply();
      },
      undo: () => undefined,
    };
  }

  /** The groups of the settings come first, in their order; then those of the console, by name. */
  #apply(): void {
    const own = [...this.#records].filter(([canonical]) => !this.#ofSettings.has(canonical))
      .sort(([a], [b]) => a < b ? -1 : 1).map(([, { version: _version, ...replies }]) => replies);
    this.#deps.accept.replace([...this.#deps.settings.replyGroups, ...own]);
  }

  /** The octets of these attributes with those of all groups except one, because a user can be in every group. */
  octetsWith(attributes: ReplyAttributes, except = ""): number {
    const others = [...this.#records].flatMap(([key, record]) => key === except ? [] : [record.attributes]);
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
