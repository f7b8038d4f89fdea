// A user gets another name: the sessions and the link of the user's own page, and the notices, follow in the commit of the rename.

import { DAY_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { type UserNotice, userNoticePrefix } from "../../../platform/user_record.ts";
import { NO_CHANGE, type PrepareRename, type Rename } from "../../../platform/write_batch.ts";
import { CALLER_NOTICE, type Notice } from "../notices/notices.ts";
import type { AccountLink } from "./account_auth.ts";
import {
  ACCOUNT_SESSION_MS,
  type AccountSessionIndex,
  accountSessionKeys,
  type AccountSessionRecord,
} from "./account_sessions.ts";

interface AccountRenameDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
}

/** Further sessions end: each needs a check in the commit of the rename. */
const MAX_MOVED_SESSIONS = 10;
const MAX_NOTICES = 50;

/** The changes of one kind of data. */
interface Moved {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

/** Prepares what the console stores by the name of a user. */
export function createAccountRenames(deps: AccountRenameDeps): PrepareRename {
  return async (rename) => {
    if (rename.kind === "group") return NO_CHANGE;
    const moved = await Promise.all([
      moveSessions(deps, rename),
      moveLink(deps, rename),
      moveUserNotices(deps, rename),
      moveNotices(deps, rename),
    ]);
    return {
      ...NO_CHANGE,
      checks: moved.flatMap(({ checks }) => checks),
      mutations: moved.flatMap(({ mutations }) => mutations),
    };
  };
}

async function moveSessions(
  { store, clock }: AccountRenameDeps,
  { from, to, name }: Rename,
): Promise<Moved> {
  const checks: Check[] = [];
  const mutations: Mutation[] = [];
  const keys = accountSessionKeys;
  const own = await store.get<AccountSessionIndex>(keys.own(from));
  if (own.value === null) return { checks, mutations };
  checks.push({ key: own.key, versionstamp: own.versionstamp });
  const ids: string[] = [];
  for (const id of own.value.toReversed()) {
    const { key, value, versionstamp } = await store.get<AccountSessionRecord>(keys.session(id));
    const leftMs = (value?.deadlineMs ?? 0) - clock.nowMs();
    if (value === null || leftMs <= 0 || ids.length >= MAX_MOVED_SESSIONS) {
      mutations.push({ type: "delete", key });
      continue;
    }
    // After a sign-out, the move must not restore the session.
    checks.push({ key, versionstamp });
    ids.unshift(id);
    mutations.push({ type: "set", key, value: { ...value, user: name }, expireInMs: leftMs });
  }
  mutations.push(
    { type: "delete", key: own.key },
    {
      type: "set",
      key: keys.own(to),
      value: ids satisfies AccountSessionIndex,
      expireInMs: ACCOUNT_SESSION_MS,
    },
  );
  return { checks, mutations };
}

async function moveLink({ store, clock }: AccountRenameDeps, { from, to, name }: Rename): Promise<Moved> {
  const current = await store.get<string>(["me_link_of", from]);
  const other = await store.get<string>(["me_link_of", to]);
  const mutations: Mutation[] = [];
  if (other.value !== null) {
    mutations.push({ type: "delete", key: other.key }, { type: "delete", key: ["me_link", other.value] });
  }
  if (current.value === null) return { checks: [], mutations };
  const { key, value, versionstamp } = await store.get<AccountLink>(["me_link", current.value]);
  mutations.push({ type: "delete", key: current.key });
  const expireInMs = (value?.deadlineMs ?? 0) - clock.nowMs();
  if (value === null || expireInMs <= 0) return { checks: [], mutations };
  mutations.push(
    { type: "set", key, value: { ...value, user: name, canonical: to } satisfies AccountLink, expireInMs },
    { type: "set", key: other.key, value: current.value, expireInMs },
  );
  // A link that is used meanwhile must not become valid again.
  return { checks: [{ key, versionstamp }], mutations };
}

/** The newest notices. */
async function moveUserNotices({ store, clock }: AccountRenameDeps, { from, to }: Rename): Promise<Moved> {
  const mutations: Mutation[] = [];
  const options = { limit: MAX_NOTICES, reverse: true };
  for await (const { key, value } of store.list<UserNotice>(userNoticePrefix(from), options)) {
    const id = key.at(-1);
    if (value === null || id === undefined) continue;
    const expireInMs = Math.max(1, value.atMs + 30 * DAY_MS - clock.nowMs());
    mutations.push(
      { type: "delete", key },
      { type: "set", key: [...userNoticePrefix(to), id], value, expireInMs },
    );
  }
  return { checks: [], mutations };
}

/** The reports about a login and about a caller. */
async function moveNotices({ store, clock }: AccountRenameDeps, { from, to, name }: Rename): Promise<Moved> {
  const mutations: Mutation[] = [];
  for (const about of [[], [CALLER_NOTICE]]) {
    const { key, value } = await store.get<Notice>(["console_notice", from, ...about]);
    if (value === null) continue;
    const expireInMs = Math.max(1, value.atMs + 90 * DAY_MS - clock.nowMs());
    const moved = { ...value, user: name } satisfies Notice;
    mutations.push(
      { type: "delete", key },
      { type: "set", key: ["console_notice", to, ...about], value: moved, expireInMs },
    );
  }
  return { checks: [], mutations };
}
