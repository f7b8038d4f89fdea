// The attributes of an Access-Accept: those of every one, and those of the user's groups in their place. Encoded at the start; a user
// without such a group costs nothing.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Config, ReplyAttributes } from "../../platform/config/config.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { encodeReplyAttribute, readInteger } from "../protocol/attributes.ts";
import type { Directory } from "../ports.ts";

export interface AcceptAttributes {
  /** @param user canonical, and prepared in the directory. */
  of(user: string): Uint8Array;
  /** Takes other groups from the next Access-Accept on. Between groups the first counts. */
  replace(groups: Config["radius"]["replyGroups"]): void;
}

/** Sets of groups whose attributes are kept put together. */
const MOST_KEPT = 4096;
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");

/** Encoded attributes by what they are; one table may give one twice, by name and by number. */
type Encoded = ReadonlyMap<string, Uint8Array>;

/** @param settings were checked, so what cannot be encoded is a bug. */
export function createAcceptAttributes(
  { settings, directory }: {
    settings: Pick<Config["radius"], "replyDefault" | "replyGroups">;
    directory: Pick<Directory, "lookUp">;
  },
): AcceptAttributes {
  const defaults = encode(settings.replyDefault);
  let groups: readonly Encoded[] = [];
  let places: ReadonlyMap<string, number> = new Map();
  const plain = concatenate(defaults.values());
  const kept = new Map<string, Uint8Array>();
  const replace: AcceptAttributes["replace"] = (next) => {
    groups = next.map(({ attributes }) => encode(attributes));
    places = new Map(next.map(({ group }, at) => [canonicalName(group), at]));
    kept.clear();
  };
  replace(settings.replyGroups);

  return {
    replace,
    of(user) {
      if (places.size === 0) return plain;
      const found = new Set<number>();
      for (const name of directory.lookUp(user).groups) {
        const at = places.get(canonicalName(name));
        if (at !== undefined) found.add(at);
      }
      if (found.size === 0) return plain;
      const inOrder = [...found].sort((a, b) => a - b);
      const key = inOrder.join();
      let octets = kept.get(key);
      if (octets === undefined) {
        if (kept.size >= MOST_KEPT) kept.clear();
        octets = concatenate(combine(defaults, inOrder.map((at) => groups[at] ?? new Map())).values());
        kept.set(key, octets);
      }
      return octets;
    },
  };
}

/** A group's attribute takes the place of the default's; between groups the first counts. */
function combine(defaults: Encoded, groups: readonly Encoded[]): Encoded {
  const given = new Map<string, Uint8Array>();
  for (const group of groups) {
    for (const [what, octets] of group) if (!given.has(what)) given.set(what, octets);
  }
  return new Map([...defaults, ...given]);
}

function encode(settings: ReplyAttributes): Encoded {
  const encoded = new Map<string, Uint8Array>();
  for (const [name, value] of Object.entries(settings)) {
    const one = encodeReplyAttribute(name, value);
    if (!one.ok) throw new Error(`Cannot encode the reply attribute "${name}": ${one.problem}`);
    const what = whatIs(one.value, name);
    const before = encoded.get(what);
    encoded.set(what, before === undefined ? one.value : concatenate([before, one.value]));
  }
  return encoded;
}

/** The same for two names of one attribute, so that one takes the other's place. */
export function replyKey(name: string, value: string | number): string {
  const encoded = encodeReplyAttribute(name, value);
  return encoded.ok ? whatIs(encoded.value, name) : name;
}

/** The same for two spellings of one attribute; RFC 2868 §3: another tag is another tunnel. */
function whatIs(octets: Uint8Array, name: string): string {
  const type = octets[0] as number;
  if (type === VENDOR_SPECIFIC) return `26.${readInteger(octets.subarray(2, 6))}.${octets[6]}`;
  const colon = name.indexOf(":");
  return colon < 0 ? String(type) : `${type}${name.slice(colon)}`;
}

function concatenate(parts: Iterable<Uint8Array>): Uint8Array {
  const all = [...parts];
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
