// The door of a person's own page: in by a one-time link or by a paired phone, and who holds the cookie now.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { Context } from "hono";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { DeviceService } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Vault } from "../../../platform/vault.ts";
import { type Attempts, countGuesses } from "../auth/sign_in_rate_limit.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { cookieName, cookieOptions, type HttpEnv } from "../hono_env.ts";
import { createMeLinks } from "./account_links.ts";
import { type Person, personOf, phoneUsers } from "./account_owner.ts";
import { createMeSessions, type MeEntrance, type MeSession, type MeSessions } from "./account_sessions.ts";
import type { MeLinkLook } from "./account_types.ts";
import type { People } from "../users/user_deps.ts";
import { phoneToken } from "../devices/device_cookie.ts";
import { Refusal } from "../errors.ts";

export interface MeDoorDeps {
  readonly people: People;
  readonly phone: DeviceService | null;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly http: { readonly publicUrl: string };
  readonly attempts: Attempts;
}

export interface MeDoor {
  readonly sessions: MeSessions;
  /** Who holds the cookie, or `null`. What only reads does not count as use. */
  holder(c: Context<HttpEnv>): Promise<MeSession | null>;
  /** @throws Refusal `me_over`. */
  held(c: Context<HttpEnv>): Promise<MeSession>;
  look(c: Context<HttpEnv>, token: string): Promise<MeLinkLook>;
  enterByLink(c: Context<HttpEnv>, token: string): Promise<MeSession>;
  /** As the only user of the phone, or as the one who is named. */
  enterByPhone(c: Context<HttpEnv>, userName: string | undefined): Promise<MeSession>;
  leave(c: Context<HttpEnv>): Promise<void>;
  phoneUsers(c: Context<HttpEnv>): Promise<string[]>;
}

const COOKIE = "countersign-me";
const MAX_TOKEN_CHARACTERS = 64;

export function createMeDoor(deps: MeDoorDeps): MeDoor {
  const { people, attempts, clock } = deps;
  const sessions = createMeSessions(deps);
  const links = createMeLinks(deps);

  /** Only a wrong link counts as a guess. */
  const isGuess = (fault: unknown): boolean => fault instanceof Refusal && fault.code === "bad_me_link";
  const guarded = <T>(source: string, call: () => Promise<T>): Promise<T> =>
    countGuesses(attempts, { source, name: "me link", isGuess }, call);
  const enter = async (
    c: Context<HttpEnv>,
    entrance: Omit<MeEntrance, "source">,
  ): Promise<MeSession> => {
    const source = c.env.remoteAddress;
    const actor = `user:${entrance.person.userName}`;
    const after = entrance.pairingId === null ? "link" : "phone";
    const record = auditEntry({ actor, source, action: "user.me_entered", object: actor, after });
    // The browser's old visit ends, so that an attacker cannot fix the session of another person.
    await sessions.end(cookieToken(c));
    const { token, session } = await sessions.begin({
      ...entrance,
      source,
      mutations: [...entrance.mutations, record],
    });
    setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c));
    return session;
  };
  const standing = async (name: string): Promise<Person> => {
    const person = await personOf(people, name);
    if (person === null) throw new Refusal("me_inactive");
    return person;
  };
  const holder = (c: Context<HttpEnv>): Promise<MeSession | null> => {
    const countsAsUse = c.req.method !== "GET" && c.req.method !== "HEAD";
    return sessions.resume(cookieToken(c), { countsAsUse });
  };

  return {
    sessions,
    holder,
    async held(c) {
      const session = await holder(c);
      if (session === null) throw new Refusal("me_over");
      return session;
    },
    async look(c, token) {
      const { user, deadlineMs } = await guarded(c.env.remoteAddress, () => links.look(token));
      return { userName: user, deadlineMs, nowMs: clock.nowMs() };
    },
    async enterByLink(c, token) {
      const taken = await guarded(c.env.remoteAddress, () => links.take(token));
      const person = await standing(taken.link.user);
      // The person whom it was made for left since.
      if (person.recordId !== taken.link.recordId) throw new Refusal("bad_me_link");
      const checks = [...taken.checks, person.check];
      return await enter(c, { person, pairingId: null, checks, mutations: taken.mutations });
    },
    async enterByPhone(c, userName) {
      const users = await phoneUsers(deps, phoneToken(c));
      const wanted = userName === undefined
        ? users.length === 1 ? users[0] : undefined
        : users.find((one) => canonicalName(one.userName) === canonicalName(userName));
      if (wanted === undefined) throw new Refusal("not_this_phone");
      const person = await standing(wanted.userName);
      return await enter(c, { person, pairingId: wanted.pairingId, checks: [], mutations: [] });
    },
    async leave(c) {
      await sessions.end(cookieToken(c));
      deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
    },
    async phoneUsers(c) {
      return (await phoneUsers(deps, phoneToken(c))).map(({ userName }) => userName);
    },
  };
}

function cookieToken(c: Context<HttpEnv>): string {
  const token = getCookie(c, cookieName(c, COOKIE)) ?? "";
  return token.length <= MAX_TOKEN_CHARACTERS ? token : "";
}
