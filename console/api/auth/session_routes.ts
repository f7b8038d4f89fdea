// Routes of sign-in, sign-out and step-up (the caller verifies a factor again), the list of the caller's own sessions, and the set-up of
// an account by a one-time link.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import { may, RECENT_FACTOR_MS } from "./permissions.ts";
import type { AdminStore } from "./admin_store.ts";
import type { AdminFactors } from "./factors.ts";
import type { Onboarding } from "../onboarding/onboarding.ts";
import { EMPTY, type HttpEnv, jsonBody, ownOrigin, textUpTo } from "../hono_env.ts";
import { AUTHENTICATION, type Passkeys, REGISTRATION } from "./passkeys.ts";
import { Refusal } from "../errors.ts";
import { endCookieSession, type Sessions, sessionToken, startCookieSession } from "./sessions.ts";
import type { Admin, Session } from "./admin_records.ts";
import type { Features, SessionAnswer, SessionInfo } from "../api_types.ts";
import type { SignIn, VerifiedSignIn } from "./sign_in.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { countGuesses, type SignInRateLimit, type StartRateLimit } from "./sign_in_rate_limit.ts";
import type { ErrorCode } from "../error_codes.ts";

interface SessionRouteDeps {
  readonly admins: AdminStore;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly starts: StartRateLimit;
  readonly factors: AdminFactors;
  readonly passkeys: Passkeys;
  readonly features: () => Features;
  /** Tasks that are left after the set-up. */
  readonly firstSteps: Pick<Onboarding, "read">;
  /** The name of the sign-in provider; `null` without one. */
  readonly providerName: () => string | null;
  readonly mustSetUpFactor: (admin: Admin) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

const SIGN_IN = v.strictObject({
  name: textUpTo(256),
  password: textUpTo(1024),
  code: v.optional(textUpTo(64)),
});
const RECOVERY = v.strictObject({ name: textUpTo(256), code: textUpTo(64) });
const PASSKEY = v.strictObject({ response: AUTHENTICATION });
const STEP_UP = v.union([
  PASSKEY,
  v.strictObject({ password: textUpTo(1024), code: v.optional(textUpTo(64)) }),
]);

/** The response with a session, or without one. */
function createSessionAnswer(deps: SessionRouteDeps) {
  const { admins, features, firstSteps, providerName } = deps;
  return async (session: Session | null): Promise<SessionAnswer> => {
    const left = session === null ? null : await firstSteps.read();
    return {
      session: session === null ? null : await sessionInfo(session, deps),
      needsSetUp: session === null && !(await admins.hasOwner()),
      features: features(),
      provider: providerName(),
      ...(left === null ? {} : { firstSteps: left }),
    };
  };
}

export function createSessionRoutes(deps: SessionRouteDeps) {
  const { sessions, signIn, passkeys, log } = deps;
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
  const letIn = async (c: Context<HttpEnv>, { admin, by, isRecentFactor }: VerifiedSignIn) => {
    const since = isRecentFactor ? {} : { freshMs: 0 };
    const session = await startCookieSession(c, { sessions, admin, by, ...since });
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
    .post("/recovery", may("anyone"), jsonBody(RECOVERY), async (c) => {
      const source = c.env.remoteAddress;
      return c.json(await letIn(c, await signIn.withRecoveryCode({ ...c.req.valid("json"), source })));
    })
    .post(
      "/passkey/options",
      may("anyone"),
      jsonBody(EMPTY),
      async (c) => {
        await deps.starts.take(c.env.remoteAddress);
        return c.json(await passkeys.signInOptions(ownOrigin(c)));
      },
    )
    .post("/passkey", may("anyone"), jsonBody(PASSKEY), async (c) => {
      const source = c.env.remoteAddress;
      const { response } = c.req.valid("json");
      return c.json(await letIn(c, await signIn.withPasskey({ response, origin: ownOrigin(c), source })));
    })
    .post(
      "/stay",
      may("viewer", { browserOnly: true, beforeSecondFactor: true }),
      async (c) => c.json(await sessionInfo(c.var.session, deps)),
    )
    .post(
      "/step-up",
      may("viewer", { browserOnly: true, beforeSecondFactor: true }),
      jsonBody(STEP_UP),
      async (c) => {
        const { session } = c.var;
        const at = { session, origin: ownOrigin(c), source: c.env.remoteAddress };
        const { admin, isRecentFactor } = await whoShows(c.req.valid("json"), at);
        if (admin.id !== session.admin.id) throw new Refusal("wrong_person");
        if (!isRecentFactor) throw new Refusal("passkey_needed");
        const fresh = await sessions.recordFactor(session.id);
        if (fresh === null) throw new Refusal("not_signed_in");
        return c.json(await answer(fresh));
      },
    )
    .delete("/", may("anyone"), async (c) => {
      await endCookieSession(c, sessions);
      return c.json(await answer(null));
    });
}

async function sessionInfo(
  session: Session,
  { factors, clock, mustSetUpFactor }: Pick<SessionRouteDeps, "factors" | "clock" | "mustSetUpFactor">,
): Promise<SessionInfo> {
  const { record } = await factors.read(session.admin.id);
  const mustSetUp = await mustSetUpFactor(session.admin);
  return {
    name: session.admin.name,
    role: session.admin.role,
    origin: session.admin.origin,
    nowMs: clock.nowMs(),
    deadlineMs: session.deadlineMs,
    idleDeadlineMs: session.idleDeadlineMs,
    freshUntilMs: session.freshMs + RECENT_FACTOR_MS,
    has: { totp: record.totp !== undefined, passkey: record.passkeys.length > 0 },
    ...(mustSetUp ? { mustSetUpFactor: true } : {}),
  };
}

export interface SessionListDeps {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

export function createSessionListRoutes(deps: SessionListDeps) {
  const { sessions, store, clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { browserOnly: true }), async (c) => {
      const { id: ownId, admin } = c.var.session;
      const items = (await sessions.list(admin)).map((row) => ({ ...row, current: row.id === ownId }));
      return c.json({ nowMs: clock.nowMs(), items });
    })
    .delete("/:id", may("viewer", { browserOnly: true }), async (c) => {
      const { admin } = c.var.session;
      const row = (await sessions.list(admin)).find(({ id }) => id === c.req.param("id"));
      if (row === undefined) throw new Refusal("unknown_session");
      await store.commit({
        mutations: [
          ...sessions.deleteMutations([row.id]),
          auditEntry({
            actor: admin.name,
            source: c.env.remoteAddress,
            action: "session.end",
            object: `administrator:${admin.name}`,
            after: row.source,
          }),
        ],
      });
      return c.json({ done: true });
    });
}

export interface SetUpRouteDeps extends SessionRouteDeps {
  readonly attempts: SignInRateLimit;
}

const LINK = v.strictObject({ token: textUpTo(256) });
const SET_UP = v.strictObject({ token: textUpTo(256), name: textUpTo(256), password: textUpTo(1024) });
const PASSKEY_WANTED = v.strictObject({ token: textUpTo(256), name: textUpTo(256) });
const PASSKEY_MADE = v.strictObject({ token: textUpTo(256), name: textUpTo(256), response: REGISTRATION });
const LINK_GUESSES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["bad_set_up_link", "bad_invitation"]);
const FIRST_PASSKEY = "First passkey";

/** One-time links: the first owner's account, an invitation, or new sign-in methods, with a password or a passkey. */
export function createSetUpRoutes(deps: SetUpRouteDeps) {
  const { admins, sessions, passkeys, factors } = deps;
  const answer = createSessionAnswer(deps);
  /** Other errors can be corrected in the form and are no guesses at the link. */
  const isGuess = (fault: unknown): boolean => fault instanceof Refusal && LINK_GUESSES.has(fault.code);
  const guarded = <T>(source: string, call: () => Promise<T>): Promise<T> =>
    countGuesses(deps.attempts, { source, name: "set-up link", isGuess }, call);
  const purpose = (token: string, name: string) => `set up\0${token}\0${name}`;

  return new Hono<HttpEnv>()
    .post(
      "/link",
      may("anyone"),
      jsonBody(LINK),
      async (c) => c.json(await guarded(c.env.remoteAddress, () => admins.link(c.req.valid("json").token))),
    )
    .post("/", may("anyone"), jsonBody(SET_UP), async (c) => {
      const source = c.env.remoteAddress;
      const admin = await guarded(source, () => admins.setUp({ ...c.req.valid("json"), source }));
      return c.json(await answer(await startCookieSession(c, { sessions, admin, by: "link" })));
    })
    .post("/passkey/options", may("anyone"), jsonBody(PASSKEY_WANTED), async (c) => {
      const { token, name } = c.req.valid("json");
      const link = await guarded(c.env.remoteAddress, () => admins.link(token));
      const userName = link.name ?? name.trim();
      if (userName === "") throw new Refusal("bad_name");
      const wanted = { origin: ownOrigin(c), userName, purpose: purpose(token, name), known: [] };
      return c.json(await passkeys.registrationOptions(wanted));
    })
    .post("/passkey", may("anyone"), jsonBody(PASSKEY_MADE), async (c) => {
      const { token, name, response } = c.req.valid("json");
      const source = c.env.remoteAddress;
      const admin = await guarded(source, async () => {
        await admins.link(token);
        const made = await passkeys.register({
          origin: ownOrigin(c),
          purpose: purpose(token, name),
          label: FIRST_PASSKEY,
          response,
        });
        const also = ({ id, name }: Admin) => [
          ...made.mutations({ name, accountId: id }),
          factors.write(id, factors.first(made.passkey)),
        ];
        return await admins.setUp({ token, name, password: null, source, also });
      });
      return c.json(await answer(await startCookieSession(c, { sessions, admin, by: "link" })));
    });
}
