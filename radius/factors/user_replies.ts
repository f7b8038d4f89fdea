// The reply attributes of single users: those of the settings, by name, and those of the console, which are stored under ["reply_user", id] of the
// user's record. They follow a renamed user, and a later user of the same name does not have them.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Config, ReplyAttributes } from "../../platform/config/config.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { commitChanges, Table, type TableKind } from "../../platform/table.ts";
import { attributeSetOctets, attributeSetProblem } from "../protocol/attributes.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";
import type { ReplyChangeResult } from "./reply_attribute_registry.ts";
import type { AcceptAttributes, UserReplies } from "./reply_attributes.ts";

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
