// Signing in and out, and showing a factor again.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { may, STEP_UP_MS } from "./permissions.ts";
import type { Admins } from "./admin_store.ts";
import type { Factors } from "./factors.ts";
import type { FirstSteps } from "../onboarding/onboarding.ts";
import { type HttpEnv, jsonBody, ownOrigin } from "../hono_env.ts";
import type { Passkeys } from "./passkeys.ts";
import { Refusal } from "../errors.ts";
import { beginSession, endSession, sessionToken } from "./session_cookie.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { Features, SessionAnswer, SessionInfo } from "../api_types.ts";
import type { Shown, SignIn } from "./sign_in.ts";
import { AUTHENTICATION } from "./webauthn_schema.ts";

export interface SessionRouteDeps {
  readonly admins: Admins;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly features: Features;
  /** What is left to do after the set-up. */
  readonly firstSteps: Pick<FirstSteps, "read">;
  /** What the sign-in provider is called; `null` without one. */
  readonly providerName: string | null;
  readonly clock: Clock;
  readonly log: Log;
}

const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const SIGN_IN = v.strictObject({ name: text(256), password: text(1024), code: v.optional(text(64)) });
const PASSKEY = v.strictObject({ response: AUTHENTICATION });
const STEP_UP = v.union([
  PASSKEY,
  v.strictObject({ password: text(1024), code: v.optional(text(64)) }),
]);

/** The response about a session, or about no session. */
export function createSessionAnswer(deps: SessionRouteDeps) {
  const { admins, factors, features, firstSteps, providerName, clock } = deps;
  return async (session: Session | null): Promise<SessionAnswer> => {
    const left = session === null ? null : await firstSteps.read();
    return {
      session: session === null ? null : await sessionInfo(session, { factors, clock }),
      needsSetUp: session === null && !(await admins.hasOwner()),
      features,
      provider: providerName,
      ...(left === null ? {} : { firstSteps: left }),
    };
  };
}

export function createSessionRoutes(deps: SessionRouteDeps) {
  const { sessions, signIn, passkeys, factors, clock, log } = deps;
  const answer = createSessionAnswer(deps);
  const whoShows = (
    given: v.InferOutput<typeof STEP_UP>,
    at: { session: Session; origin: string; source: string },
  ) =>
    "response" in given
      ? signIn.withPasskey({
        response: given.response,
        origin: at.origin,
        source: at.source,
        session: at.session.id,
      })
      : signIn.withPassword({
        ...given,
        name: at.session.admin.name,
        source: at.source,
        session: at.session.id,
      });
  const letIn = async (c: Context<HttpEnv>, { admin, by, isFresh }: Shown) => {
    const session = await beginSession(c, { sessions, admin, by, ...(isFresh ? {} : { freshMs: 0 }) });
    log.info("console sign-in", { admin: admin.name, role: admin.role, source: c.env.remoteAddress, by });
    return await answer(session);
  };

  return new Hono<HttpEnv>()
    .get(
      "/",
      may("anyone"),
      async (c) => c.json(await answer(await sessions.resume(sessionToken(c), { countsAsUse: false }))),
    )
    .post("/", may("anyone"), jsonBody(SIGN_IN), async (c) => {
      const source = c.env.remoteAddress;
      return c.json(await letIn(c, await signIn.withPassword({ ...c.req.valid("json"), source })));
    })
    .post(
      "/passkey/options",
      may("anyone"),
      jsonBody(v.strictObject({})),
      async (c) => c.json(await passkeys.signInOptions(ownOrigin(c))),
    )
    .post("/passkey", may("anyone"), jsonBody(PASSKEY), async (c) => {
      const source = c.env.remoteAddress;
      const { response } = c.req.valid("json");
      return c.json(await letIn(c, await signIn.withPasskey({ response, origin: ownOrigin(c), source })));
    })
    .post(
      "/stay",
      may("viewer", { browserOnly: true }),
      async (c) => c.json(await sessionInfo(c.var.session, { factors, clock })),
    )
    .post("/step-up", may("viewer", { browserOnly: true }), jsonBody(STEP_UP), async (c) => {
      const { session } = c.var;
      const at = { session, origin: ownOrigin(c), source: c.env.remoteAddress };
      const { admin, isFresh } = await whoShows(c.req.valid("json"), at);
      if (admin.id !== session.admin.id) throw new Refusal("wrong_person");
      if (!isFresh) throw new Refusal("passkey_needed");
      const fresh = await sessions.freshen(session.id);
      if (fresh === null) throw new Refusal("not_signed_in");
      return c.json(await answer(fresh));
    })
    .delete("/", may("anyone"), async (c) => {
      await endSession(c, sessions);
      return c.json(await answer(null));
    });
}

async function sessionInfo(
  session: Session,
  { factors, clock }: { factors: Factors; clock: Clock },
): Promise<SessionInfo> {
  const { record } = await factors.read(session.admin.id);
  return {
    name: session.admin.name,
    role: session.admin.role,
    origin: session.admin.origin,
    nowMs: clock.nowMs(),
    deadlineMs: session.deadlineMs,
    idleDeadlineMs: session.idleDeadlineMs,
    freshUntilMs: session.freshMs + STEP_UP_MS,
    has: { totp: record.totp !== undefined, passkey: record.passkeys.length > 0 },
  };
}
