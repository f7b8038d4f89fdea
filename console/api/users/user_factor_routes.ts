// A user's factors and lock, over HTTP. They belong to the users who log in, whatever target is looked at.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import { hasControlCharacters } from "../../../platform/control_characters.ts";
import { unconfirmedFactors } from "../../../radius/factors/unconfirmed_factors.ts";
import { browserLabel } from "../auth/browser_label.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { createMeLinks } from "../account/account_links.ts";
import { personOf } from "../account/account_owner.ts";
import { ownNumbers } from "./directory_numbers.ts";
import { type People, required, targetOf } from "./user_deps.ts";
import { Refusal } from "../errors.ts";
import { createUserFactors, type UserFactors } from "./user_factors.ts";
import type { FactorDeed, FactorDeps } from "./factor_changes.ts";
import type { UserView } from "./user_types.ts";
import { pairingView, userView } from "./user_views.ts";

export type UserFactorRouteDeps = FactorDeps & { readonly watch: GatewayWatch };
type Deps = Omit<UserFactorRouteDeps, "people"> & { readonly people?: People };

const text = (maxCharacters: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maxCharacters));
const TOTP_LENGTHS = [0, 4, 5, 6, 7, 8, 9, 10] as const;
const PAIRING = v.variant("kind", [
  v.strictObject({ kind: v.literal("sms"), number: text(64) }),
  v.strictObject({ kind: v.literal("voice"), number: text(64) }),
  v.strictObject({
    kind: v.literal("device"),
    id: text(1024),
    totpLength: v.optional(v.picklist(TOTP_LENGTHS), 6),
  }),
  v.strictObject({ kind: v.literal("totp"), seed: text(256) }),
]);
const CODE = v.strictObject({ id: text(64), code: text(16) });
const PREFERENCE = v.strictObject({ factor: v.nullable(v.picklist(["device", "sms", "voice", "totp"])) });
const NAME = v.strictObject({ name: text(1024) });
const NOTHING = v.strictObject({});

export function createUserFactorRoutes(deps: Deps) {
  let made: UserFactors | null = null;
  const factors = (): UserFactors => made ??= createUserFactors({ ...deps, people: required(deps.people) });
  const viewOf = (user: string): Promise<UserView> => {
    const people = required(deps.people);
    return userView({ ...deps, people }, targetOf(people, undefined), user);
  };
  /** @throws Refusal `unknown_pairing` when the factor does not wait for a confirmation. */
  const waitingId = ({ user }: FactorDeed, id: string): string => {
    const waits = unconfirmedFactors(required(deps.people), canonicalName(user)).some((one) => one.id === id);
    if (!waits) throw new Refusal("unknown_pairing");
    return id;
  };
  /**
   * The name as the directory spells it; a user who is not in it has factors under the name as given.
   *
   * @param options.isNew whether the request gives the user something that the name is stored with.
   * @throws Refusal `bad_user_name` for a name that no new record can have.
   */
  const deedOf = async (
    c: Context<HttpEnv>,
    given: string,
    { isNew = false }: { isNew?: boolean } = {},
  ): Promise<FactorDeed> => {
    const { directory } = targetOf(required(deps.people), undefined);
    const stored = await directory.read("user", canonicalName(given));
    if (isNew && stored === null && !isUserName(given)) throw new Refusal("bad_user_name");
    return {
      user: stored?.content.name ?? given.normalize("NFC"),
      actor: c.var.session.admin.name,
      source: c.env.remoteAddress,
      browser: browserLabel(c),
    };
  };

  return new Hono<HttpEnv>()
    .post(
      "/:id/invitation",
      may("user_manager", { stepUp: true }),
      jsonBody(NOTHING),
      async (c) => c.json(await factors().invite(await deedOf(c, c.req.param("id"), { isNew: true }))),
    )
    .post("/:id/pairings", may("user_manager", { stepUp: true }), jsonBody(PAIRING), async (c) => {
      const deed = await deedOf(c, c.req.param("id"), { isNew: true });
      const pairing = await factors().add(deed, c.req.valid("json"));
      return c.json({ pairing: pairingView(pairing), user: await viewOf(deed.user) });
    })
    .put("/:id/pairings/:pairing", may("user_manager"), jsonBody(NAME), async (c) => {
      const deed = await deedOf(c, c.req.param("id"));
      await factors().rename(deed, { id: c.req.param("pairing"), name: c.req.valid("json").name });
      return c.json({ user: await viewOf(deed.user) });
    })
    // A user without a factor can enrol at login, so removing a factor lets a person sign in.
    .delete("/:id/pairings/:pairing", may("user_manager", { stepUp: true }), jsonBody(NOTHING), async (c) => {
      const deed = await deedOf(c, c.req.param("id"));
      await factors().revoke(deed, c.req.param("pairing"));
      return c.json({ user: await viewOf(deed.user) });
    })
    .post(
      "/:id/unconfirmed/:factor/keep",
      may("user_manager", { stepUp: true }),
      jsonBody(NOTHING),
      async (c) => {
        const deed = await deedOf(c, c.req.param("id"));
        await factors().confirmFactor(deed, waitingId(deed, c.req.param("factor")));
        return c.json({ user: await viewOf(deed.user) });
      },
    )
    .delete(
      "/:id/unconfirmed/:factor",
      may("user_manager", { stepUp: true }),
      jsonBody(NOTHING),
      async (c) => {
        const deed = await deedOf(c, c.req.param("id"));
        await factors().removeUnconfirmed(deed, waitingId(deed, c.req.param("factor")));
        return c.json({ user: await viewOf(deed.user) });
      },
    )
    .post(
      "/:id/totp",
      may("user_manager", { stepUp: true }),
      jsonBody(NOTHING),
      async (c) => c.json(await factors().beginTotp(await deedOf(c, c.req.param("id"), { isNew: true }))),
    )
    .post("/:id/totp/confirm", may("user_manager", { stepUp: true }), jsonBody(CODE), async (c) => {
      const deed = await deedOf(c, c.req.param("id"));
      const pairing = await factors().confirmTotp(deed, c.req.valid("json"));
      return c.json({ pairing: pairingView(pairing), user: await viewOf(deed.user) });
    })
    .put("/:id/preference", may("user_manager"), jsonBody(PREFERENCE), async (c) => {
      const deed = await deedOf(c, c.req.param("id"), { isNew: true });
      await factors().prefer(deed, c.req.valid("json").factor);
      return c.json({ user: await viewOf(deed.user) });
    })
    .post("/:id/me-link", may("user_manager", { stepUp: true }), jsonBody(NOTHING), async (c) => {
      const deed = await deedOf(c, c.req.param("id"));
      const person = await personOf(required(deps.people), deed.user);
      if (person === null) throw new Refusal("me_inactive");
      return c.json(await createMeLinks(deps).make(person, deed));
    })
    .post("/:id/unlock", may("user_manager", { stepUp: true }), jsonBody(NOTHING), async (c) => {
      const deed = await deedOf(c, c.req.param("id"));
      await factors().unlock(deed);
      return c.json({ user: await viewOf(deed.user) });
    })
    .post("/:id/reset-limits", may("user_manager", { stepUp: true }), jsonBody(NOTHING), async (c) => {
      const deed = await deedOf(c, c.req.param("id"));
      const people = required(deps.people);
      const canonical = canonicalName(deed.user);
      const stored = await targetOf(people, undefined).directory.read("user", canonical);
      const numbers = ownNumbers({
        content: stored?.content ?? null,
        pairings: people.pairings.of(canonical),
      });
      await factors().resetLimits(deed, numbers);
      return c.json({ user: await viewOf(deed.user) });
    });
}

const MAX_USER_CHARACTERS = 256;

/** Whether a user who is not in the directory can get a factor under that name. */
function isUserName(name: string): boolean {
  return name.trim() !== "" && name.length <= MAX_USER_CHARACTERS && !hasControlCharacters(name) &&
    !name.includes("/");
}
