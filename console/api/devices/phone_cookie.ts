// The cookie with the token of a phone.

import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { Refusal } from "../errors.ts";
import { cookieName, cookieOptions, type HttpEnv } from "../hono_env.ts";

const COOKIE = "countersign-phone";
const ONE_YEAR_S = 365 * 24 * 60 * 60;
const MAX_TOKEN_CHARACTERS = 128;

/** The token, or "". */
export function phoneToken(c: Context<HttpEnv>): string {
  const token = getCookie(c, cookieName(c, COOKIE)) ?? "";
  return token.length <= MAX_TOKEN_CHARACTERS ? token : "";
}

/** @throws Refusal `unknown_token` without one. */
export function requirePhoneToken(c: Context<HttpEnv>): string {
  const token = phoneToken(c);
  if (token === "") throw new Refusal("unknown_token");
  return token;
}

export function setPhoneToken(c: Context<HttpEnv>, token: string): void {
  setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c, { maxAgeS: ONE_YEAR_S }));
}

export function deletePhoneToken(c: Context<HttpEnv>): void {
  deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
}
