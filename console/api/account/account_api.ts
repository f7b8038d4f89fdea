// The API of a person's own page, below /me/api: the visit, one's own factors and logins, and "this was not me". It has no privilege
// beyond the one user of the visit.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { createAttempts } from "../auth/sign_in_rate_limit.ts";
import { type HttpEnv, jsonBody, sameOrigin } from "../hono_env.ts";
import { createMeDoor, type MeDoor } from "./account_auth.ts";
import { createMeFactorRoutes, type MeFactorDeps } from "./account_factor_routes.ts";
import { type MeLoginsDeps, ownLogin, ownLogins } from "./account_logins.ts";
import type { MeSession } from "./account_sessions.ts";
import type { MeSessionAnswer } from "./account_types.ts";
import { useOwnCode } from "./account_step_up.ts";
import { createNotMe } from "./report_not_me.ts";
import { createOwnHistory } from "./account_history.ts";
import { required } from "../users/user_deps.ts";
import { Refusal } from "../errors.ts";

export type MeApiDeps = Omit<MeFactorDeps & MeLoginsDeps, "attempts" | "door" | "history"> & {
  /** Throws the refusal `no_directory` where the console runs without one. */
  readonly door: () => MeDoor;
};

/** For the typed client: `hc<MeApi>("/me/api")`. */
export type MeApi = ReturnType<typeof createMeApi>;

const text = (maxCharacters: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maxCharacters));
const LINK = v.strictObject({ link: text(256) });
const ENTER = v.union([
  LINK,
  v.strictObject({ phone: v.literal(true), userName: v.optional(text(1024)) }),
]);
const CODE = v.strictObject({ code: text(16) });
const NOTHING = v.strictObject({});
const NOT_ME = v.strictObject({ conversationId: v.nullable(text(64)) });

/** The door that the page's API and the approval page share; made when it is first asked for. */
export function createLazyDoor(deps: Omit<MeApiDeps, "door">): () => MeDoor {
  const attempts = createAttempts(deps);
  let door: MeDoor | null = null;
  return () => door ??= createMeDoor({ ...deps, people: required(deps.people), attempts });
}

export function createMeApi(deps: MeApiDeps) {
  const { door, clock } = deps;
  const attempts = createAttempts(deps);
  const history = createOwnHistory(deps);
  const answer = async (c: Context<HttpEnv>, me: MeSession | null): Promise<MeSessionAnswer> => {
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
      phoneUsers: available ? await door().phoneUsers(c) : [],
    };
  };

  return new Hono<HttpEnv>()
    .use(sameOrigin)
    .get(
      "/session",
      async (c) => c.json(await answer(c, deps.people === undefined ? null : await door().holder(c))),
    )
    .post("/session", jsonBody(ENTER), async (c) => {
      const wanted = c.req.valid("json");
      const me = "link" in wanted
        ? await door().enterByLink(c, wanted.link)
        : await door().enterByPhone(c, wanted.userName);
      return c.json(await answer(c, me));
    })
    .post("/session/stay", jsonBody(NOTHING), async (c) => c.json(await answer(c, await door().held(c))))
    .post("/session/step-up", jsonBody(CODE), async (c) => {
      const me = await door().held(c);
      const attempt = attempts.take({ source: null, name: me.person.canonical });
      const code = c.req.valid("json").code.replace(/[\s-]/g, "");
      const people = required(deps.people);
      const factor = await useOwnCode({ ...deps, people }, { canonical: me.person.canonical, code });
      if (factor === null) throw new Refusal("wrong_me_code");
      attempt.forgive();
      await door().sessions.freshen(me.id, factor);
      return c.json(await answer(c, await door().held(c)));
    })
    .delete("/session", async (c) => {
      await door().leave(c);
      return c.json(await answer(c, null));
    })
    .post("/link/look", jsonBody(LINK), async (c) => c.json(await door().look(c, c.req.valid("json").link)))
    .get("/logins", async (c) => {
      const { person } = await door().held(c);
      return c.json(await ownLogins({ ...deps, history }, person));
    })
    .post("/not-me", jsonBody(NOT_ME), async (c) => {
      const me = await door().held(c);
      const { canonical, userName } = me.person;
      const { conversationId } = c.req.valid("json");
      const about = conversationId === null
        ? null
        : await ownLogin({ ...deps, history }, { canonical, conversationId });
      if (conversationId !== null && about === null) throw new Refusal("login_gone");
      const disown = createNotMe({ ...deps, people: required(deps.people), sessions: door().sessions });
      const done = await disown({
        user: userName,
        source: c.env.remoteAddress,
        keepSessionId: me.id,
        about,
      });
      return c.json(done);
    })
    .route("/", createMeFactorRoutes({ ...deps, attempts, history }));
}
