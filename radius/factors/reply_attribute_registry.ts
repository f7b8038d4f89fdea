// Reply attributes that the console gave to groups, beside those of the settings: kept under ["reply_group", canonical name], each change in
// one commit with its audit record, and in every Access-Accept from then on.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Config, ReplyAttributes } from "../../platform/config/config.ts";
import type { PreparedChange } from "../../platform/write_batch.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/codes.ts";
import { encodeReplyAttribute } from "../protocol/attributes.ts";
import { type AcceptAttributes, replyKey } from "./accept_attributes.ts";

interface ReplyRecord {
  /** As it was spelled when it was given. */
  readonly group: string;
  readonly attributes: ReplyAttributes;
  /** Grows with each change: who changes says which one they saw. */
  readonly version: number;
}

/** What members of a group get, and who may change it. */
export interface GroupReplies {
  /** `null`: nothing is given. */
  readonly from: "settings" | "console" | null;
  readonly attributes: ReplyAttributes;
  /** 0 while nothing was ever given here. */
  readonly version: number;
}

/** One attribute of the Access-Accept of a member of one group and no other. */
export interface EffectiveReply {
  readonly name: string;
  readonly value: string | number;
  /** Of every login, or of the group. */
  readonly from: "default" | "group";
}

export type ReplyOutcome =
  | { readonly ok: true; readonly replies: GroupReplies }
  | { readonly ok: false; readonly reason: "in_settings" | "changed" | "full" }
  | { readonly ok: false; readonly reason: "bad"; readonly detail: string };

export interface ReplyRegister {
  load(): Promise<void>;
  /** @param group in any spelling. */
  find(group: string): GroupReplies;
  effective(group: string): readonly EffectiveReply[];
  /** Gives a group other attributes; none at all takes them away. */
  change(
    group: string,
    attributes: ReplyAttributes,
    given: { version: number; audit: Mutation },
  ): Promise<ReplyOutcome>;
  /** Takes away what the console gave a group that begins or is deleted, in the commit of that: none inherits from one of its name. */
  prepareForget(canonical: string): PreparedChange;
}

const MOST_GROUPS = 2000;
/** Where a group's attributes are kept. */
export const replyGroupKey = (canonical: string): Deno.KvKey => ["reply_group", canonical];

export function createReplyRegister({ store, settings, accept }: {
  store: Store;
  settings: Pick<Config["radius"], "replyDefault" | "replyGroups">;
  accept: Pick<AcceptAttributes, "replace">;
}): ReplyRegister {
  const { replyDefault, replyGroups } = settings;
  const ofFile = new Map(replyGroups.map(({ group, attributes }) => [canonicalName(group), attributes]));
  const records = new Map<string, ReplyRecord>();

  /** The file's groups count first, in its order; then those of here, in order of name. */
  const apply = (): void => {
    const own = [...records].filter(([canonical]) => !ofFile.has(canonical))
      .sort(([a], [b]) => a < b ? -1 : 1).map(([, { group, attributes }]) => ({ group, attributes }));
    accept.replace([...replyGroups, ...own]);
  };
  const find = (group: string): GroupReplies => {
    const canonical = canonicalName(group);
    const fixed = ofFile.get(canonical);
    if (fixed !== undefined) return { from: "settings", attributes: fixed, version: 0 };
    const { attributes = {}, version = 0 } = records.get(canonical) ?? {};
    return { from: Object.keys(attributes).length === 0 ? null : "console", attributes, version };
  };
  /** A user can be in every group. */
  const octetsWith = (canonical: string, attributes: ReplyAttributes): number => {
    const others = [...records].flatMap(([key, record]) => key === canonical ? [] : [record.attributes]);
    return [replyDefault, ...ofFile.values(), ...others, attributes].reduce(
      (sum, one) => sum + octetsOf(one),
      0,
    );
  };
  const problemOf = (canonical: string, attributes: ReplyAttributes): string | null => {
    for (const [name, value] of Object.entries(attributes)) {
      const encoded = encodeReplyAttribute(name, value);
      if (!encoded.ok) return `${name}: ${encoded.problem}`;
    }
    const octets = octetsWith(canonical, attributes);
    return octets <= MAX_ACCEPT_ATTRIBUTE_OCTETS
      ? null
      : `All groups' attributes would have ${octets} octets; an Access-Accept has room for ${MAX_ACCEPT_ATTRIBUTE_OCTETS}.`;
  };

  return {
    async load() {
      for await (const { key, value } of store.list<ReplyRecord>(["reply_group"])) {
        const [, canonical] = key;
        if (value !== null && typeof canonical === "string") records.set(canonical, value);
      }
      if (records.size > 0) apply();
    },
    find,
    effective(group) {
      const own = Object.entries(find(group).attributes);
      const taken = new Set(own.map(([name, value]) => replyKey(name, value)));
      const left = Object.entries(replyDefault).filter(([name, value]) => !taken.has(replyKey(name, value)));
      return [
        ...left.map(([name, value]) => ({ name, value, from: "default" }) as const),
        ...own.map(([name, value]) => ({ name, value, from: "group" }) as const),
      ];
    },
    async change(group, attributes, { version, audit }) {
      const canonical = canonicalName(group);
      if (ofFile.has(canonical)) return { ok: false, reason: "in_settings" };
      const before = records.get(canonical);
      if ((before?.version ?? 0) !== version) return { ok: false, reason: "changed" };
      if (before === undefined && records.size >= MOST_GROUPS) return { ok: false, reason: "full" };
      const detail = problemOf(canonical, attributes);
      if (detail !== null) return { ok: false, reason: "bad", detail };
      const entry = await store.get<ReplyRecord>(replyGroupKey(canonical));
      if ((entry.value?.version ?? 0) !== version) return { ok: false, reason: "changed" };
      const record = { group, attributes, version: version + 1 };
      const { ok } = await store.commit({
        checks: [{ key: entry.key, versionstamp: entry.versionstamp }],
        mutations: [{ type: "set", key: replyGroupKey(canonical), value: record }, audit],
      });
      if (!ok) return { ok: false, reason: "changed" };
      records.set(canonical, record);
      apply();
      return { ok: true, replies: find(group) };
    },
    prepareForget(canonical) {
      return {
        // Also without a record in memory: one may be on its way into the store.
        mutations: [{ type: "delete", key: replyGroupKey(canonical) }],
        done() {
          if (records.delete(canonical)) apply();
        },
        undo: () => undefined,
      };
    },
  };
}

function octetsOf(attributes: ReplyAttributes): number {
  return Object.entries(attributes).reduce((sum, [name, value]) => {
    const encoded = encodeReplyAttribute(name, value);
    return encoded.ok ? sum + encoded.value.length : sum;
  }, 0);
}
