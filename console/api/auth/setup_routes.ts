// What a one-time link opens: the first owner's account, an invitation, or new sign-in methods for an account. With a password, or with
// a passkey alone.

import { Hono } from "hono";
import * as v from "valibot";
import type { Admin } from "./admin_store.ts";
import { type Attempts, countGuesses } from "./sign_in_rate_limit.ts";
import { type HttpEnv, jsonBody, ownOrigin } from "../hono_env.ts";
import { may } from "./permissions.ts";
import { Refusal, type RefusalCode } from "../errors.ts";
import { beginSession } from "./session_cookie.ts";
import { createSessionAnswer, type SessionRouteDeps } from "./session_routes.ts";
import { REGISTRATION } from "./webauthn_schema.ts";

export interface SetUpRouteDeps extends SessionRouteDeps {
  readonly attempts: Attempts;
}

const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const LINK = v.strictObject({ token: text(256) });
const SET_UP = v.strictObject({ token: text(256), name: text(256), password: text(1024) });
const PASSKEY_WANTED = v.strictObject({ token: text(256), name: text(256) });
const PASSKEY_MADE = v.strictObject({ token: text(256), name: text(256), response: REGISTRATION });
const LINK_GUESSES: ReadonlySet<RefusalCode> = new Set<RefusalCode>(["bad_set_up_link", "bad_invitation"]);
const FIRST_PASSKEY = "First passkey";

export function createSetUpRoutes(deps: SetUpRouteDeps) {
  const { admins, sessions, passkeys, factors } = deps;
  const answer = createSessionAnswer(deps);
  /** What the form can mend is no guess at the link. */
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
      return c.json(await answer(await beginSession(c, { sessions, admin, by: "link" })));
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
      return c.json(await answer(await beginSession(c, { sessions, admin, by: "link" })));
    });
}
