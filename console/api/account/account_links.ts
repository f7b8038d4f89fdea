// One-time links to a person's own page: 128 bits, good once, for a day. An administrator makes them; a new one voids the one before.

import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { Person } from "./account_owner.ts";
import { Refusal } from "../errors.ts";

/** What is kept of a link, under its digest. */
export interface MeLink {
  readonly user: string;
  readonly canonical: string;
  /** The directory record of the person; absent in links of version 0.1.0, which are void. */
  readonly recordId?: string;
  readonly deadlineMs: number;
}

/** A link on its way to being used up. */
export interface TakenLink {
  readonly link: MeLink;
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

export interface MeLinks {
  /** Makes one and records who did. @throws Refusal `changed_meanwhile` when two are made at once. */
  make(person: Person, deed: { actor: string; source: string }): Promise<{ url: string; deadlineMs: number }>;
  /** Whom it is for; uses nothing up. @throws Refusal `bad_me_link`. */
  look(token: string): Promise<MeLink>;
  /** What uses it up, to be committed. @throws Refusal `bad_me_link`. */
  take(token: string): Promise<TakenLink>;
}

export interface MeLinksDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly http: { readonly publicUrl: string };
}

const TOKEN_OCTETS = 16;
const MAX_TOKEN_CHARACTERS = 64;
const LINK_MS = 24 * 3600_000;

export function createMeLinks(deps: MeLinksDeps): MeLinks {
  const { store, vault, clock, random, http } = deps;
  const keyOf = (digest: string): Deno.KvKey => ["me_link", digest];
  /** Says which link of a user is good. */
  const currentKey = (canonical: string): Deno.KvKey => ["me_link_of", canonical];

  const find = async (token: string) => {
    if (token === "" || token.length > MAX_TOKEN_CHARACTERS) throw new Refusal("bad_me_link");
    const entry = await store.get<MeLink>(keyOf(vault.digest("self-service link", token)));
    const { value } = entry;
    if (value === null || value.deadlineMs <= clock.nowMs()) throw new Refusal("bad_me_link");
    return { ...entry, value };
  };

  return {
    async make({ userName, canonical, recordId, check }, { actor, source }) {
      const token = toBase64Url(random.bytes(TOKEN_OCTETS));
      const digest = vault.digest("self-service link", token);
      const before = await store.get<string>(currentKey(canonical));
      const deadlineMs = clock.nowMs() + LINK_MS;
      const value: MeLink = { user: userName, canonical, recordId, deadlineMs };
      const done = await store.commit({
        checks: [{ key: before.key, versionstamp: before.versionstamp }, check],
        mutations: [
          ...before.value === null ? [] : [{ type: "delete", key: keyOf(before.value) } as const],
          { type: "set", key: keyOf(digest), value, expireInMs: LINK_MS },
          { type: "set", key: currentKey(canonical), value: digest, expireInMs: LINK_MS },
          auditEntry({ actor, source, action: "user.me_link", object: `user:${userName}` }),
        ],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      return { url: `${http.publicUrl}/me#${token}`, deadlineMs };
    },
    async look(token) {
      return (await find(token)).value;
    },
    async take(token) {
      const { key, value, versionstamp } = await find(token);
      return {
        link: value,
        checks: [{ key, versionstamp }],
        mutations: [{ type: "delete", key }, { type: "delete", key: currentKey(value.canonical) }],
      };
    },
  };
}
