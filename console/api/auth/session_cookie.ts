// The session's cookie: the one that carries the token, set and taken away in one way.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { Context } from "hono";
import { cookieName, cookieOptions, type HttpEnv, placeOf } from "../hono_env.ts";
import type { Admin } from "./admin_store.ts";
import type { SignInMeans } from "./sign_in.ts";
import type { Session, Sessions } from "./sessions.ts";

const COOKIE = "countersign";

/** The session cookie's token, or "". */
export function sessionToken(c: Context<HttpEnv>): string {
  return getCookie(c, cookieName(c, COOKIE)) ?? "";
}

/** Begins a session for `admin` in this browser. The browser's old one ends, which prevents session fixation. */
export async function beginSession(
  c: Context<HttpEnv>,
  { sessions, admin, by, freshMs }: {
    sessions: Sessions;
    admin: Admin;
    by: SignInMeans;
    freshMs?: number;
  },
): Promise<Session> {
  await sessions.end(sessionToken(c), { source: c.env.remoteAddress, action: "session.replace" });
  const { token, session } = await sessions.begin(admin, { ...placeOf(c), by, freshMs });
  setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c));
  return session;
}

export async function endSession(c: Context<HttpEnv>, sessions: Sessions): Promise<void> {
  await sessions.end(sessionToken(c), { source: c.env.remoteAddress, action: "administrator.sign_out" });
  deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
}
