// The API of a user's own page, below /me/api: the session, the user's factors and logins, and "this was not me". It gives access to
// nothing but the user of the session.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { createSignInRateLimit, type SignInRateLimit } from "../auth/sign_in_rate_limit.ts";
import { EMPTY, type HttpEnv, jsonBody, sameOrigin } from "../hono_env.ts";
import { type AccountAuth, createAccountAuth } from "./account_auth.ts";
import { type AccountFactorDeps, createAccountFactorRoutes } from "./account_factor_routes.ts";
import {
  type AccountLoginsDeps,
  createAccountHistory,
  findAccountLogin,
  listAccountLogins,
  reportNotMe,
} from "./account_logins.ts";
import type { AccountSession, ShownFactor } from "./account_sessions.ts";
import type { AccountSessionAnswer } from "./account_types.ts";
import { type People, requireUsers } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { RECOVERY_CODES } from "../../../radius/factors/pairing.ts";
import { tokenFactorId } from "../../../radius/tokens/token.ts";
import { acceptAppCode } from "../../../radius/tokens/token_codes.ts";
import { readCode } from "../../../radius/protocol/login_input.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";

type AccountApiDeps =
  & Omit<AccountFactorDeps & AccountLoginsDeps, "attempts" | "accountAuth" | "history">
  & {
    /** @throws Refusal `no_directory` if the console runs without a directory. */
    readonly accountAuth: () => AccountAuth;
  };

/** For the typed client: `hc<AccountApi>("/me/api")`. */
export type AccountApi = ReturnType<typeof createAccountApi>;

const text = (maxCharacters: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maxCharacters));
const LINK = v.strictObject({ link: text(256) });
const ENTER = v.union([
  LINK,
  v.strictObject({ phone: v.literal(true), userName: v.optional(text(1024)) }),
]);
const CODE = v.strictObject({ code: text(16) });
const NOT_ME = v.strictObject({ conversationId: v.nullable(text(64)) });

/** The sign-in that the page's API and the approval page share, created on first use. */
export function createLazyAccountAuth(deps: Omit<AccountApiDeps, "accountAuth">): () => AccountAuth {
  const attempts = createSignInRateLimit(deps, "account_link");
  let created: AccountAuth | null = null;
  return () => created ??= createAccountAuth({ ...deps, people: requireUsers(deps.people), attempts });
}

export function createAccountApi(deps: AccountApiDeps) {
  const { accountAuth } = deps;
  const attempts = createSignInRateLimit(deps, "account_code");
  const history = createAccountHistory(deps);
  return new Hono<HttpEnv>()
    .use(sameOrigin)
    .route("/session", createAccountSessionRoutes({ ...deps, attempts }))
    .post(
      "/link/look",
      jsonBody(LINK),
      async (c) => c.json(await accountAuth().readLink(c, c.req.valid("json").link)),
    )
    .get("/logins", async (c) => {
      const { person } = await accountAuth().requireSession(c);
      return c.json(await listAccountLogins({ ...deps, history }, person));
    })
    .post("/not-me", jsonBody(NOT_ME), async (c) => {
      const { sessions, records, reports, ...auth } = accountAuth();
      const me = await auth.findSession(c);
      if (me === null) throw new Refusal("me_over");
      const { canonical, userName: user } = me.person;
      await reports.take(canonical);
      const { conversationId } = c.req.valid("json");
      const about = conversationId === null
        ? null
        : await findAccountLogin({ ...deps, history }, { canonical, conversationId });
      if (conversationId !== null && about === null) throw new Refusal("login_gone");
      const services = { ...deps, people: requireUsers(deps.people), sessions, records };
      const request = { user, source: c.env.remoteAddress, keepSessionId: me.id, about };
      return c.json(await reportNotMe(services, request));
    })
    .route("/", createAccountFactorRoutes({ ...deps, attempts, history }));
}

function createAccountSessionRoutes(deps: AccountApiDeps & { attempts: SignInRateLimit }) {
  const { accountAuth, attempts, clock } = deps;
  const answer = async (c: Context<HttpEnv>, me: AccountSession | null): Promise<AccountSessionAnswer> => {
    const available = deps.people !== undefined;
    return {
      available,
      nowMs: clock.nowMs(),
      me: me === null ? null : {
        userName: me.person.userName,
        displayName: me.person.displayName,
        via: me.via,
        endsMs: me.endsMs,
      },
      phoneUsers: available ? await accountAuth().phoneUsers(c) : [],
    };
  };
  return new Hono<HttpEnv>()
    .get("/", async (c) => {
      const me = deps.people === undefined ? null : await accountAuth().findSession(c);
      return c.json(await answer(c, me));
    })
    .post("/", jsonBody(ENTER), async (c) => {
      const wanted = c.req.valid("json");
      const me = "link" in wanted
        ? await accountAuth().enterByLink(c, wanted.link)
        : await accountAuth().enterByPhone(c, wanted.userName);
      return c.json(await answer(c, me));
    })
    .post(
      "/stay",
      jsonBody(EMPTY),
      async (c) => c.json(await answer(c, await accountAuth().requireSession(c))),
    )
    .post("/step-up", jsonBody(CODE), async (c) => {
      const me = await accountAuth().requireSession(c);
      const { canonical } = me.person;
      const attempt = await attempts.take({ source: null, name: canonical });
      const code = readCode(c.req.valid("json").code).replace(/[\s-]/g, "");
      const factor = await verifyOwnCode({ ...deps, people: requireUsers(deps.people) }, { canonical, code });
      if (factor === null) throw new Refusal("wrong_me_code");
      await attempt.forgive();
      await accountAuth().sessions.recordFactor(me.id, factor);
      return c.json(await answer(c, await accountAuth().findSession(c)));
    })
    .delete("/", async (c) => {
      await accountAuth().signOut(c);
      return c.json(await answer(c, null));
    });
}

interface AccountStepUpDeps {
  readonly people: Pick<People, "pairings" | "hardwareTokens" | "recoveryCodes">;
  readonly secondFactorAdmin: () => Pick<SecondFactorAdmin, "usePasscode"> | null;
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
}

/** The user's factor that has this code, or `null`. The code is used up, so that it is valid once. */
export async function verifyOwnCode(
  deps: AccountStepUpDeps,
  { canonical, code }: { canonical: string; code: string },
): Promise<ShownFactor | null> {
  const { people: { pairings, hardwareTokens }, secondFactorAdmin, store, clock } = deps;
  // Apps come first: nothing waits between reading a factor and taking its time step in memory.
  for (const pairing of pairings.usable(canonical)) {
    const seed = pairing.kind === "totp" ? pairings.seedOf(pairing) : null;
    if (pairing.kind !== "totp" || seed === null) continue;
    const use = acceptAppCode(pairing, { seed, code, nowMs: clock.nowMs() });
    if (use === null) continue;
    const shown = { id: pairing.id, origin: pairings.originOf(canonical, pairing) };
    const used = pairings.prepareUsedStep(pairing, use);
    // In memory first: the same code is not valid in a concurrent login.
    pairings.adopt(used.pairing);
    const { ok } = await store.commit(used);
    if (ok) {
      used.done();
      return shown;
    }
    // Another node changed the pairing: the code may be used.
    await store.reread([pairings.keyOf(pairing)]);
    return null;
  }
  for (const { kind, id } of pairings.usable(canonical)) {
    if (kind !== "device" || !await secondFactorAdmin()?.usePasscode(id, code)) continue;
    const phone = pairings.usable(canonical).find((one) => one.id === id);
    return phone === undefined ? null : { id, origin: pairings.originOf(canonical, phone) };
  }
  const token = await useOwnTokenCode({ store, hardwareTokens }, { canonical, code });
  return token === null ? await useOwnRecoveryCode(deps, { canonical, code }) : { id: token, origin: token };
}

async function useOwnRecoveryCode(
  { people: { pairings, recoveryCodes }, store }: AccountStepUpDeps,
  { canonical, code }: { canonical: string; code: string },
): Promise<ShownFactor | null> {
  const digest = recoveryCodes.find(canonical, code);
  const { addedBy } = recoveryCodes.status(canonical);
  if (digest === null || !pairings.isConfirmed(canonical, addedBy)) return null;
  const id = RECOVERY_CODES;
  const shown = {
    id,
    origin: pairings.originOf(canonical, addedBy === undefined ? { id } : { id, addedBy }),
  };
  const use = recoveryCodes.prepareUse(canonical, digest);
  if (use === null) return null;
  try {
    if ((await store.commit({ checks: [use.check], mutations: [use.mutation] })).ok) return shown;
  } catch (fault) {
    use.restore();
    throw fault;
  }
  // Another node used the code.
  return null;
}

async function useOwnTokenCode(
  { store, hardwareTokens }: { store: Store; hardwareTokens: People["hardwareTokens"] },
  { canonical, code }: { canonical: string; code: string },
): Promise<string | null> {
  const found = hardwareTokens.findCode(canonical, code);
  if (found === null) return null;
  const { checks, mutations, keys, undo } = hardwareTokens.prepareUse(found.token, found.use);
  try {
    if ((await store.commit({ checks, mutations })).ok) return tokenFactorId(found.token.id);
  } catch (fault) {
    undo();
    throw fault;
  }
  undo();
  await store.reread(keys);
  return null;
}
