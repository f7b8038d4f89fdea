// Notices from users to administrators, which the console shows until one is dismissed (the latest of each user), and notices for a
// user, until the user confirms them.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { Refusal } from "../errors.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { callerOf, EMPTY, type HttpEnv, jsonBody, queryValues } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { type UserNotice, userNoticePrefix } from "../../../platform/user_record.ts";
import type {
  PhoneOrigin,
  PhoneRequest,
  PhoneView,
} from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../deps.ts";
import type { PhoneNotice } from "../devices/device_api.ts";

/** `not_me`: a user said that a login was not theirs. `not_caller`: a user said that they did not call the help desk. */
export interface Notice {
  readonly id: string;
  readonly kind: "not_me" | "not_caller";
  readonly user: string;
  readonly atMs: number;
  /** The address of the user. */
  readonly source: string;
  /** The login in question; "" if unknown. */
  readonly conversationId: string;
  readonly client: string;
  readonly place: string;
  /** 0: the user was not locked. */
  readonly lockedUntilMs: number;
  /** VPN sessions of the user that were known, and that the gateway tries to end; only for `not_me`. */
  readonly sessions?: number;
  /** The administrator who asked the user; only for `not_caller`. */
  readonly operator?: string;
}

/** Reports about callers do not replace those about logins. */
export const CALLER_NOTICE = "caller";

/** Newest first. */
export interface NoticeList {
  readonly total: number;
  readonly items: readonly Notice[];
}

interface NoticeStore {
  /** The mutation that writes a notice; it replaces an earlier one of the same user and kind. */
  prepare(notice: Omit<Notice, "id" | "atMs">): Mutation;
  list(options: { user: string }): Promise<NoticeList>;
  /** @throws Refusal `unknown_notice`. */
  dismiss(id: string, caller: { actor: string; source: string }): Promise<void>;
}

interface NoticesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const RETENTION_MS = 90 * 24 * 3600_000;
const MAX_READ = 1000;
const MAX_SHOWN = 20;
/** So long the phone page shows a notice that the user did not confirm on the account page. */
const PHONE_NOTICE_MS = 7 * 24 * 3600_000;

export function createNoticeStore(deps: NoticesDeps): NoticeStore {
  const { store, clock, random } = deps;
  const keyOf = ({ user, kind }: Pick<Notice, "user" | "kind">): Deno.KvKey => [
    "console_notice",
    canonicalName(user),
    ...kind === "not_caller" ? [CALLER_NOTICE] : [],
  ];
  const standing = async () => {
    const found: { notice: Notice; key: Deno.KvKey; versionstamp: string | null }[] = [];
    for await (
      const { key, value, versionstamp } of store.list<Notice>(["console_notice"], { limit: MAX_READ })
    ) {
      if (value !== null) found.push({ notice: value, key, versionstamp });
    }
    return found;
  };
  return {
    prepare(notice) {
      const value: Notice = { id: random.bytes(8).toHex(), atMs: clock.nowMs(), ...notice };
      return { type: "set", key: keyOf(notice), value, expireInMs: RETENTION_MS };
    },
    async list({ user }) {
      const wanted = canonicalName(user);
      const items = (await standing()).map(({ notice }) => notice)
        .filter((notice) => user === "" || canonicalName(notice.user) === wanted)
        .sort((a, b) => b.atMs - a.atMs);
      return { total: items.length, items: items.slice(0, MAX_SHOWN) };
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
      // A newer, unread notice has replaced it.
      if (!done.ok) throw new Refusal("unknown_notice");
    },
  };
}

export interface NoticeRouteDeps extends NoticesDeps {
  /** Absent where the console runs without a directory. */
  readonly people?: { readonly limits: Pick<People["limits"], "isLocked"> };
}

const LIST = v.object({ user: v.optional(v.pipe(v.string(), v.maxLength(1024)), "") });

export function createNoticeRoutes(deps: NoticeRouteDeps) {
  const notices = createNoticeStore(deps);
  const { people } = deps;
  /** An administrator may have unlocked the user since the report. */
  const asOfNow = (notice: Notice): Notice =>
    people?.limits.isLocked(canonicalName(notice.user)) === false ? { ...notice, lockedUntilMs: 0 } : notice;
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("viewer", { countsAsUse: false }),
      queryValues(LIST),
      async (c) => {
        const { total, items } = await notices.list(c.req.valid("query"));
        return c.json({ total, items: items.map(asOfNow) });
      },
    )
    .delete("/:id", may("operator"), jsonBody(EMPTY), async (c) => {
      const caller = callerOf(c);
      await notices.dismiss(c.req.param("id"), caller);
      return c.json({ dismissed: c.req.param("id") });
    });
}

const MAX_NOTICES = 50;

/** The newest notices about this directory record, newest first. */
export async function readUserNotices(
  store: Store,
  { userName, recordId }: { userName: string; recordId: string },
): Promise<UserNotice[]> {
  const found: UserNotice[] = [];
  const entries = store.list<UserNotice>(userNoticePrefix(userName), { limit: MAX_NOTICES, reverse: true });
  for await (const { value } of entries) {
    if (value?.recordId === recordId) found.push(value);
  }
  return found;
}

/** Removes all notices of a user. */
export async function removeUserNotices(store: Store, userName: string): Promise<void> {
  for (;;) {
    const page = await Array.fromAsync(store.list(userNoticePrefix(userName), { limit: MAX_NOTICES }));
    if (page.length > 0) await store.commit({ mutations: page.map(({ key }) => ({ type: "delete", key })) });
    if (page.length < MAX_NOTICES) return;
  }
}

/** The notice to the administrators for the commit in which a user says on the phone page that they did not call the help desk. */
export function callerReportOf(deps: NoticesDeps) {
  const notices = createNoticeStore(deps);
  return ({ source }: PhoneOrigin) => ({ kind, userName: user, askedBy: operator = "" }: PhoneRequest) => {
    if (kind !== "verify") return [];
    const login = { conversationId: "", client: "", place: "", lockedUntilMs: 0 };
    return [notices.prepare({ kind: "not_caller", user, source, operator, ...login })];
  };
}

/** @returns reads the notices for the users of a phone; `undefined` without a directory. */
export function phoneNoticesOf(
  { people, store, clock }: { people?: People; store: Store; clock: Pick<Clock, "nowMs"> },
) {
  if (people === undefined) return undefined;
  return async (view: PhoneView | null): Promise<PhoneNotice[]> => {
    const found: PhoneNotice[] = [];
    const paired = (view?.pairings ?? []).filter(({ status }) => status === "enabled");
    const own = new Set(paired.map(({ pairingId }) => pairingId));
    const isNews = ({ atMs, pairingId = "" }: UserNotice) =>
      clock.nowMs() - atMs < PHONE_NOTICE_MS && !own.has(pairingId);
    for (const userName of new Set(paired.map((one) => one.userName))) {
      const { id: recordId } = await people.findUserRecord(userName);
      const notices = await readUserNotices(store, { userName, recordId });
      found.push(...notices.filter(isNews).map((notice) => ({ ...notice, userName })));
    }
    return found;
  };
}
