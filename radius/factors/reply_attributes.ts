// The attributes of an Access-Accept: the defaults, and those of the user's groups, which replace them. Groups of the console are stored
// under ["reply_group", canonical name].

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Config, ReplyAttributes } from "../../platform/config/config.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { encodeReplyAttribute, readInteger } from "../protocol/attributes.ts";
import type { LoginDirectory } from "../ports.ts";
import type { PreparedChange } from "../../platform/write_batch.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";

/** Cached combinations of groups. */
const MAX_CACHED = 4096;
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");

/** Encoded attributes by identity, because a table can contain one attribute twice: by name and by number. */
type Encoded = ReadonlyMap<string, Uint8Array>;

export interface AcceptAttributesDeps {
  /** Validated: an attribute that cannot be encoded is a bug. */
  readonly settings: Pick<Config["radius"], "replyDefault" | "replyGroups">;
  readonly directory: Pick<LoginDirectory, "lookUp">;
}

export class AcceptAttributes {
  readonly #directory: Pick<LoginDirectory, "lookUp">;
  #defaults: Encoded = new Map();
  #plain = new Uint8Array(0);
  readonly #cache = new Map<string, Uint8Array>();
  /** The encoded attributes of policies. */
  readonly #ofPolicies = new WeakMap<ReplyAttributes, Encoded>();
  #groups: readonly Encoded[] = [];
  #positions: ReadonlyMap<string, number> = new Map();

  constructor({ settings, directory }: AcceptAttributesDeps) {
    this.#directory = directory;
    this.replaceDefaults(settings.replyDefault);
    this.replace(settings.replyGroups);
  }

  /** Replaces the attributes of every Access-Accept from the next one on. */
  replaceDefaults(attributes: ReplyAttributes): void {
    this.#defaults = encode(attributes);
    this.#plain = concatenate(this.#defaults.values());
    this.#cache.clear();
  }

  /** Replaces the groups from the next Access-Accept on. If several groups set an attribute, the first group wins. */
  replace(groups: Config["radius"]["replyGroups"]): void {
    this.#groups = groups.map(({ attributes }) => encode(attributes));
    this.#positions = new Map(groups.map(({ group }, at) => [canonicalName(group), at]));
    this.#cache.clear();
  }

  /** `user` is canonical, and prepared in the directory. Those of a policy replace those of the settings and of groups. */
  of(user: string, ofPolicy?: ReplyAttributes): Uint8Array {
    if (ofPolicy !== undefined) return this.#withPolicy(user, ofPolicy);
    if (this.#positions.size === 0) return this.#plain;
    const inOrder = this.#groupsOf(user);
    if (inOrder.length === 0) return this.#plain;
    const key = inOrder.join();
    let octets = this.#cache.get(key);
    if (octets === undefined) {
      if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
      const groups = inOrder.map((at) => this.#groups[at] ?? new Map());
      octets = concatenate(combine(this.#defaults, groups).values());
      this.#cache.set(key, octets);
    }
    return octets;
  }

  #withPolicy(user: string, attributes: ReplyAttributes): Uint8Array {
    const own = this.#ofPolicies.get(attributes) ?? encode(attributes);
    this.#ofPolicies.set(attributes, own);
    const groups = this.#groupsOf(user).map((at) => this.#groups[at] ?? new Map());
    return concatenate(combine(this.#defaults, [own, ...groups]).values());
  }

  /** The positions of the user's groups that have attributes, in order. */
  #groupsOf(user: string): readonly number[] {
    if (this.#positions.size === 0) return NO_POSITIONS;
    const found = new Set<number>();
    for (const name of this.#directory.lookUp(user).groups) {
      const at = this.#positions.get(canonicalName(name));
      if (at !== undefined) found.add(at);
    }
    return found.size === 0 ? NO_POSITIONS : [...found].sort((a, b) => a - b);
  }
}

const NO_POSITIONS: readonly number[] = [];

/** An attribute of a group replaces the default. If several groups set an attribute, the first group wins. */
function combine(defaults: Encoded, groups: readonly Encoded[]): Encoded {
  const given = new Map<string, Uint8Array>();
  for (const group of groups) {
    for (const [identity, octets] of group) if (!given.has(identity)) given.set(identity, octets);
  }
  return new Map([...defaults, ...given]);
}

function encode(settings: ReplyAttributes): Encoded {
  const encoded = new Map<string, Uint8Array>();
  for (const [name, value] of Object.entries(settings)) {
    const one = encodeReplyAttribute(name, value);
    if (!one.ok) throw new Error(`Cannot encode the reply attribute "${name}": ${one.problem}`);
    const identity = attributeIdentity(one.value, name);
    const before = encoded.get(identity);
    encoded.set(identity, before === undefined ? one.value : concatenate([before, one.value]));
  }
  return encoded;
}

/** A key that is equal for all names of one attribute. */
export function replyKey(name: string, value: string | number): string {
  const encoded = encodeReplyAttribute(name, value);
  return encoded.ok ? attributeIdentity(encoded.value, name) : name;
}

/** A key that is equal for all spellings of one attribute. Attributes with different tags differ (RFC 2868 §3). */
function attributeIdentity(octets: Uint8Array, name: string): string {
  const type = octets[0] as number;
  if (type === VENDOR_SPECIFIC) return `26.${readInteger(octets.subarray(2, 6))}.${octets[6]}`;
  const colon = name.indexOf(":");
  return colon < 0 ? String(type) : `${type}${name.slice(colon)}`;
}

function concatenate(parts: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> {
  const all = [...parts];
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

interface ReplyRecord {
  /** As spelled by the administrator. */
  readonly group: string;
  readonly attributes: ReplyAttributes;
  /** Grows with each change. A change names the version that it is based on. */
  readonly version: number;
}

/** The reply attributes of a group, and where they are defined. */
export interface GroupReplyAttributes {
  /** `null`: the group has no attributes. */
  readonly from: "settings" | "console" | null;
  readonly attributes: ReplyAttributes;
  /** 0 if the console never changed the group. */
  readonly version: number;
}

/** One attribute of the Access-Accept of a user who is in this group only. */
export interface EffectiveReplyAttribute {
  readonly name: string;
  readonly value: string | number;
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
  readonly #ofSettings: ReadonlyMap<string, ReplyAttributes>;
  readonly #records = new Map<string, ReplyRecord>();

  constructor(deps: ReplyAttributeRegistryDeps) {
    this.#deps = deps;
    this.#ofSettings = new Map(
      deps.settings.replyGroups.map(({ group, attributes }) => [canonicalName(group), attributes]),
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

  /** @param group in any spelling */
  find(group: string): GroupReplyAttributes {
    const canonical = canonicalName(group);
    const fixed = this.#ofSettings.get(canonical);
    if (fixed !== undefined) return { from: "settings", attributes: fixed, version: 0 };
    const { attributes = {}, version = 0 } = this.#records.get(canonical) ?? {};
    return { from: Object.keys(attributes).length === 0 ? null : "console", attributes, version };
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
    { version, audit }: { version: number; audit: Mutation },
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
    const record = { group, attributes, version: version + 1 };
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

  /** The groups of the settings come first, in their order; then those of the console, by name. */
  #apply(): void {
    const own = [...this.#records].filter(([canonical]) => !this.#ofSettings.has(canonical))
      .sort(([a], [b]) => a < b ? -1 : 1).map(([, { group, attributes }]) => ({ group, attributes }));
    this.#deps.accept.replace([...this.#deps.settings.replyGroups, ...own]);
  }

  /** The octets of these attributes with those of all groups except one, because a user can be in every group. */
  octetsWith(attributes: ReplyAttributes, except = ""): number {
    const others = [...this.#records].flatMap(([key, record]) => key === except ? [] : [record.attributes]);
    return [this.#deps.settings.replyDefault, ...this.#ofSettings.values(), ...others, attributes]
      .reduce((sum, one) => sum + octetsOf(one), 0);
  }

  #problemOf(canonical: string, attributes: ReplyAttributes): string | null {
    for (const [name, value] of Object.entries(attributes)) {
      const encoded = encodeReplyAttribute(name, value);
      if (!encoded.ok) return `${name}: ${encoded.problem}`;
    }
    const octets = this.octetsWith(attributes, canonical);
    return octets <= MAX_ACCEPT_ATTRIBUTE_OCTETS
      ? null
      : `All groups' attributes would have ${octets} octets; an Access-Accept has room for ${MAX_ACCEPT_ATTRIBUTE_OCTETS}.`;
  }
}

function octetsOf(attributes: ReplyAttributes): number {
  return Object.entries(attributes).reduce((sum, [name, value]) => {
    const encoded = encodeReplyAttribute(name, value);
    return encoded.ok ? sum + encoded.value.length : sum;
  }, 0);
}
