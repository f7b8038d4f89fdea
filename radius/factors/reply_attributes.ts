// The attributes of an Access-Accept: the defaults, and those of the user's groups, which replace them.

import { allGroupsOf, type LoginDirectory } from "../ports.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Config, ReplyAttributes, ReplyValue } from "../../platform/config/config.ts";
import { typeOf } from "../protocol/dictionary.ts";
import type { ReplySource } from "../protocol/dissect_packet.ts";
import { encodeReplyAttribute, isRepeatable, readInteger } from "../protocol/attributes.ts";

/** Cached combinations of groups. */
const MAX_CACHED = 4096;
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");

/** An encoded attribute, with all its values. */
interface EncodedAttribute {
  readonly octets: Uint8Array;
  readonly source: ReplySource;
}
/** By identity, because a table can contain one attribute twice: by name and by number. */
type Encoded = ReadonlyMap<string, EncodedAttribute>;

/** The attributes of the gateway in an Access-Accept. */
interface OwnReply {
  readonly octets: Uint8Array;
  /** Where each attribute comes from, in order. */
  readonly sources: readonly ReplySource[];
}

interface EncodedGroup {
  readonly attributes: Encoded;
  /** The attributes whose values are added to those of groups before it, by identity. */
  readonly added: ReadonlySet<string>;
}
const NO_GROUP: EncodedGroup = { attributes: new Map(), added: new Set() };

interface AcceptAttributesDeps {
  /** Validated: an attribute that cannot be encoded is a bug. */
  readonly settings: Pick<Config["radius"], "replyDefault" | "replyGroups" | "replyFromDirectory">;
  readonly directory: Pick<LoginDirectory, "lookUp">;
  /** Receives a value of the directory that cannot be sent, and is left out. */
  readonly onUnfit?: (user: string, attribute: string, problem: string) => void;
}

/** The attributes of single users. */
export interface UserReplies {
  readonly size: number;
  /** @param user canonical @param id of the record in the directory */
  of(user: string, id: string | undefined): ReplyAttributes | undefined;
}

export class AcceptAttributes {
  readonly #directory: Pick<LoginDirectory, "lookUp">;
  #defaults: Encoded = new Map();
  #plain: OwnReply = { octets: new Uint8Array(0), sources: [] };
  readonly #cache = new Map<string, OwnReply>();
  /** The encoded attributes of policies and users. */
  readonly #ofOwners = new WeakMap<ReplyAttributes, Encoded>();
  #groups: readonly EncodedGroup[] = [];
  #positions: ReadonlyMap<string, number> = new Map();
  #users: UserReplies = { size: 0, of: () => undefined };
  readonly #readsDirectory: boolean;
  readonly #onUnfit: NonNullable<AcceptAttributesDeps["onUnfit"]>;

  constructor({ settings, directory, onUnfit = () => undefined }: AcceptAttributesDeps) {
    this.#directory = directory;
    this.#onUnfit = onUnfit;
    this.#readsDirectory = Object.keys(settings.replyFromDirectory).length > 0;
    this.replaceDefaults(settings.replyDefault);
    this.replace(settings.replyGroups);
  }

  /** Replaces the attributes of every Access-Accept from the next one on. */
  replaceDefaults(attributes: ReplyAttributes): void {
    this.#defaults = encode(attributes, "default");
    this.#plain = toReply(this.#defaults);
    this.#cache.clear();
  }

  /** Replaces the groups from the next Access-Accept on. */
  replace(groups: Config["radius"]["replyGroups"]): void {
    this.#groups = groups.map(({ attributes, groups: combination }) => ({
      attributes: encode(attributes, "group"),
      added: new Set(
        combination === "all"
          ? Object.entries(attributes).filter(([name]) => isRepeatable(name)).map(([name, value]) =>
            replyKey(name, value)
          )
          : [],
      ),
    }));
    this.#positions = new Map(groups.map(({ group }, at) => [canonicalName(group), at]));
    this.#cache.clear();
  }

  /** Sets the attributes of single users from the next Access-Accept on. */
  replaceUsers(users: UserReplies): void {
    this.#users = users;
  }

  /**
   * `user` is canonical, and prepared in the directory. Those of a policy replace those of the user, which replace those of the directory, which
   * replace those of groups and the default.
   */
  of(user: string, ofPolicy?: ReplyAttributes): OwnReply {
    const own = this.#users.size > 0 || this.#readsDirectory ? this.#ownOf(user) : NO_LAYERS;
    if (ofPolicy === undefined && own.length === 0) return this.#withGroups(user);
    const groups = this.#groupsOf(user).map((at) => this.#groups[at] ?? NO_GROUP);
    const layers = [
      combine(this.#defaults, groups),
      ...own,
      ...ofPolicy === undefined ? [] : [this.#encoded(ofPolicy, "policy")],
    ];
    return toReply(new Map(layers.flatMap((layer) => [...layer])));
  }

  #withGroups(user: string): OwnReply {
    if (this.#positions.size === 0) return this.#plain;
    const inOrder = this.#groupsOf(user);
    if (inOrder.length === 0) return this.#plain;
    const key = inOrder.join();
    let reply = this.#cache.get(key);
    if (reply === undefined) {
      if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
      const groups = inOrder.map((at) => this.#groups[at] ?? NO_GROUP);
      reply = toReply(combine(this.#defaults, groups));
      this.#cache.set(key, reply);
    }
    return reply;
  }

  #encoded(attributes: ReplyAttributes, source: "policy" | "user"): Encoded {
    const known = this.#ofOwners.get(attributes) ?? encode(attributes, source);
    this.#ofOwners.set(attributes, known);
    return known;
  }

  /** The attributes that the directory and the settings or the console have for a user. */
  #ownOf(user: string): readonly Encoded[] {
    const { id, replies = {} } = this.#directory.lookUp(user);
    const fitting = Object.entries(replies).filter(([name, values]) => {
      const encoded = encodeReplyAttribute(name, values);
      if (!encoded.ok) this.#onUnfit(user, name, encoded.problem);
      return encoded.ok;
    });
    const own = this.#users.of(user, id);
    return [
      ...fitting.length === 0 ? [] : [encode(Object.fromEntries(fitting), "directory")],
      ...own === undefined ? [] : [this.#encoded(own, "user")],
    ];
  }

  /** The positions of the user's groups that have attributes, in order. */
  #groupsOf(user: string): readonly number[] {
    if (this.#positions.size === 0) return NO_POSITIONS;
    const found = new Set<number>();
    for (const name of allGroupsOf(this.#directory.lookUp(user))) {
      const at = this.#positions.get(canonicalName(name));
      if (at !== undefined) found.add(at);
    }
    return found.size === 0 ? NO_POSITIONS : [...found].sort((a, b) => a - b);
  }
}

const NO_POSITIONS: readonly number[] = [];
const NO_LAYERS: readonly Encoded[] = [];

/** An attribute of a group replaces the default. If several groups set an attribute, the first group wins, unless a later one adds its values. */
function combine(defaults: Encoded, groups: readonly EncodedGroup[]): Encoded {
  const given = new Map<string, EncodedAttribute>();
  for (const { attributes, added } of groups) {
    for (const [identity, attribute] of attributes) {
      const before = given.get(identity);
      if (before === undefined) given.set(identity, attribute);
      else if (added.has(identity)) {
        given.set(identity, { ...attribute, octets: withoutRepeats([before.octets, attribute.octets]) });
      }
    }
  }
  return new Map([...defaults, ...given]);
}

/** The attributes of all parts, each value once. */
function withoutRepeats(parts: readonly Uint8Array[]): Uint8Array {
  const found = new Map<string, Uint8Array>();
  for (const one of parts.flatMap(eachOf)) found.set(one.toHex(), one);
  return concatenate(found.values());
}

/** Each attribute of encoded ones. */
function eachOf(octets: Uint8Array): Uint8Array[] {
  const list: Uint8Array[] = [];
  for (let at = 0; at < octets.length; at += octets[at + 1] as number) {
    list.push(octets.subarray(at, at + (octets[at + 1] as number)));
  }
  return list;
}

function toReply(encoded: Encoded): OwnReply {
  const all = [...encoded.values()];
  return {
    octets: concatenate(all.map(({ octets }) => octets)),
    sources: all.flatMap(({ octets, source }) => eachOf(octets).map(() => source)),
  };
}

function encode(settings: ReplyAttributes, source: ReplySource): Encoded {
  const encoded = new Map<string, EncodedAttribute>();
  for (const [name, value] of Object.entries(settings)) {
    const one = encodeReplyAttribute(name, value);
    if (!one.ok) throw new Error(`Cannot encode the reply attribute "${name}": ${one.problem}`);
    const identity = attributeIdentity(one.value, name);
    const before = encoded.get(identity);
    const octets = before === undefined ? one.value : concatenate([before.octets, one.value]);
    encoded.set(identity, { octets, source });
  }
  return encoded;
}

/** A key that is equal for all names of one attribute. */
export function replyKey(name: string, value: ReplyValue): string {
  const encoded = encodeReplyAttribute(name, value);
  return encoded.ok ? attributeIdentity(encoded.value, name) : name;
}

/** A key that is equal for all spellings of one attribute. Attributes with different tags differ (RFC 2868 §3). */
function attributeIdentity(octets: Uint8Array, name: string): string {
  const type = octets[0] as number;
  if (type === VENDOR_SPECIFIC) return `26.${readInteger(octets, 2)}.${octets[6]}`;
  // The name of an extended attribute is its numbers (RFC 6929).
  if (type >= 241 && type <= 246) return name;
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
