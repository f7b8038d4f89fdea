// Signing in and out, and the first owner.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../log.ts";
import type { Clock } from "../../runtime.ts";
import type { Admins } from "./admins.ts";
import type { Attempts } from "./attempts.ts";
import { cookieName, cookieOptions, type HttpEnv, jsonBody } from "./http_env.ts";
import { Refusal } from "./refusal.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { Features, SessionAnswer, SessionInfo } from "./shapes.ts";

export interface SessionRouteDeps {
  readonly admins: Admins;
  readonly sessions: Sessions;
  readonly attempts: Attempts;
  readonly features: Features;
  readonly clock: Clock;
  readonly log: Log;
}

const COOKIE = "countersign";
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const SIGN_IN = v.strictObject({ name: text(256), password: text(1024) });
const SET_UP = v.strictObject({ token: text(256), name: text(256), password: text(1024) });

/** The session cookie's token, or "". */
export function sessionToken(c: Context<HttpEnv>): string {
  return getCookie(c, cookieName(c, COOKIE)) ?? "";
}

export function createSessionRoutes(deps: SessionRouteDeps) {
  const { admins, sessions, attempts, clock, log } = deps;
  const answer = async (session: Session | null): Promise<SessionAnswer> => ({
    session: session === null ? null : sessionInfo(session, clock),
    needsSetUp: session === null && !(await admins.hasOwner()),
    features: deps.features,
  });
  return new Hono<HttpEnv>()
    .get(
      "/",
      async (c) => c.json(await answer(await sessions.resume(sessionToken(c), { countsAsUse: false }))),
    )
    .post("/", jsonBody(SIGN_IN), async (c) => {
      const { name, password } = c.req.valid("json");
      const source = c.env.remoteAddress;
      const attempt = attempts.take(source);
      const admin = await admins.check(name, password).catch((fault: unknown) => {
        // Too busy to check is not a wrong guess.
        attempt.forgive();
        throw fault;
      });
      if (admin === null) {
        log.warn("console sign-in refused", { source });
        throw new Refusal("wrong_sign_in");
      }
      attempt.forgive();
      // A new token at each sign-in, and the old one ends: nobody can plant a session for somebody else.
      await sessions.end(sessionToken(c));
      const { token, session } = await sessions.begin(admin);
      setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c));
      log.info("console sign-in", { admin: admin.name, role: admin.role, source });
      return c.json(await answer(session));
    })
    .post("/stay", (c) => c.json(sessionInfo(c.var.session, clock)))
    .delete("/", async (c) => {
      await sessions.end(sessionToken(c));
      deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
      return c.json(await answer(null));
    });
}

export function createSetUpRoutes(deps: SessionRouteDeps) {
  const { admins, sessions, attempts, clock } = deps;
  return new Hono<HttpEnv>().post("/", jsonBody(SET_UP), async (c) => {
    const source = c.env.remoteAddress;
    const attempt = attempts.take(source);
    const admin = await admins.setUp({ ...c.req.valid("json"), source }).catch((fault: unknown) => {
      // What the form can mend is no guess at the link.
      if (fault instanceof Refusal && fault.code !== "bad_set_up_link") attempt.forgive();
      throw fault;
    });
    attempt.forgive();
    const { token, session } = await sessions.begin(admin);
    setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c));
    const body: SessionAnswer = {
      session: sessionInfo(session, clock),
      needsSetUp: false,
      features: deps.features,
    };
    return c.json(body);
  });
}

function sessionInfo(session: Session, clock: Clock): SessionInfo {
  return {
    name: session.admin.name,
    role: session.admin.role,
    nowMs: clock.nowMs(),
    deadlineMs: session.deadlineMs,
    idleDeadlineMs: session.idleDeadlineMs,
  };
}
