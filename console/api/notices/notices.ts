// Notices from users to the administrators: shown in the console until an administrator dismisses them. One per user, the latest.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { Refusal } from "../errors.ts";

/** A user said that a login was not theirs. */
export interface Notice {
  readonly id: string;
  readonly kind: "not_me";
  readonly user: string;
  readonly atMs: number;
  /** The address that it was said from. */
  readonly source: string;
  /** The login in question, where one was named; "" otherwise. */
  readonly conversationId: string;
  readonly client: string;
  readonly place: string;
  readonly lockedUntilMs: number;
}

/** Newest first. */
export interface NoticeList {
  readonly total: number;
  readonly items: readonly Notice[];
}

export interface Notices {
  /** The change that writes one; it takes the place of an earlier one of the same user. */
  prepare(notice: Omit<Notice, "id" | "atMs">): Mutation;
  list(options: { user: string }): Promise<NoticeList>;
  /** @throws Refusal `unknown_notice`. */
  dismiss(id: string, deed: { actor: string; source: string }): Promise<void>;
}

export interface NoticesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const KEPT_MS = 90 * 24 * 3600_000;
const MOST_READ = 1000;
const MOST_SHOWN = 20;

export function createNotices(deps: NoticesDeps): Notices {
  const { store, clock, random } = deps;
  const keyOf = (user: string): Deno.KvKey => ["console_notice", canonicalName(user)];
  const standing = async () => {
    const found: { notice: Notice; key: Deno.KvKey; versionstamp: string | null }[] = [];
    for await (
      const { key, value, versionstamp } of store.list<Notice>(["console_notice"], { limit: MOST_READ })
    ) {
      if (value !== null) found.push({ notice: value, key, versionstamp });
    }
    return found;
  };
  return {
    prepare(notice) {
      const value: Notice = { id: random.bytes(8).toHex(), atMs: clock.nowMs(), ...notice };
      return { type: "set", key: keyOf(notice.user), value, expireInMs: KEPT_MS };
    },
    async list({ user }) {
      const wanted = canonicalName(user);
      const items = (await standing()).map(({ notice }) => notice)
        .filter((notice) => user === "" || canonicalName(notice.user) === wanted)
        .sort((a, b) => b.atMs - a.atMs);
      return { total: items.length, items: items.slice(0, MOST_SHOWN) };
    },
    async dismiss(id, { actor, source }) {
      const found = (await standing()).find(({ notice }) => notice.id === id);
      if (found === undefined) throw new Refusal("unknown_notice");
      const { notice, key, versionstamp } = found;
      const done = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [
          { type: "delete", key },
          auditEntry({
            actor,
            source,
            action: "notice.dismiss",
            object: `user:${notice.user}`,
            before: notice.kind,
          }),
        ],
      });
      // A newer notice arrived meanwhile, which is unread.
      if (!done.ok) throw new Refusal("unknown_notice");
    },
  };
}
