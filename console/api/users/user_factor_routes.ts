// A user's factors, lock and limits over HTTP. They belong to the users of the login target.

import { parseName } from "../../../scim/schema/resource_name.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import { hasControlCharacters } from "../../../platform/control_characters.ts";
import { unconfirmedFactors } from "../../../radius/factors/pairing.ts";
import { browserLabel, callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { createAccountLinks } from "../account/account_auth.ts";
import { findAccountOwner } from "../account/account_sessions.ts";
import { ownNumbers, pairingView, userView } from "./user_views.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { type AdministratorNames, requireNoAdministrator } from "../help_desk/help_desk.ts";
import { createUserFactorCommands, type UserFactorCommands } from "./user_factors.ts";
import type { FactorDeps, FactorRequest } from "./factor_changes.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { UserView } from "./user_types.ts";

export type UserFactorRouteDeps = FactorDeps & {
  readonly watch: GatewayMonitor;
  readonly admins: AdministratorNames;
};
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
  v.strictObject({ kind: v.literal("totp"), seed: text(1024) }),
]);
const CODE = v.strictObject({ id: text(64), code: text(16) });
const PREFERENCE = v.strictObject({ factor: v.nullable(v.picklist(["device", "sms", "voice", "totp"])) });
const NAME = v.strictObject({ name: text(1024) });
/** Changes of a user's factors need a recent factor of the administrator. */
const FACTOR = may("user_manager", { recentFactor: true });
/** The help desk may make these changes, too, except for administrators. */
const HELP = may("user_manager", { helpDesk: true, recentFactor: true });

export function createUserFactorRoutes(deps: Deps) {
  const users = new UserFactorAccess(deps);
  return new Hono<HttpEnv>()
    .post(
      "/:id/invitation",
      FACTOR,
      jsonBody(EMPTY),
      async (c) => c.json(await users.factors().invite(await users.newRequest(c, c.req.param("id")))),
    )
    .post("/:id/pairings", FACTOR, jsonBody(PAIRING), async (c) => {
      const request = await users.newRequest(c, c.req.param("id"));
      const pairing = await users.factors().add(request, c.req.valid("json"));
      return c.json({
        pairing: pairingView(pairing, deps.phonePages?.() ?? null),
        user: await users.view(request.user),
      });
    })
    .put("/:id/pairings/:pairing", may("user_manager"), jsonBody(NAME), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      await users.factors().rename(request, { id: c.req.param("pairing"), name: c.req.valid("json").name });
      return c.json({ user: await users.view(request.user) });
    })
    // A user without a factor can enrol at login, so removing a factor lets a person sign in.
    .delete("/:id/pairings/:pairing", FACTOR, jsonBody(EMPTY), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      await users.factors().revoke(request, c.req.param("pairing"));
      return c.json({ user: await users.view(request.user) });
    })
    .post("/:id/unconfirmed/:factor/keep", FACTOR, jsonBody(EMPTY), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      await users.factors().confirmFactor(request, users.unconfirmedId(request, c.req.param("factor")));
      return c.json({ user: await users.view(request.user) });
    })
    .delete("/:id/unconfirmed/:factor", FACTOR, jsonBody(EMPTY), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      await users.factors().removeUnconfirmed(request, users.unconfirmedId(request, c.req.param("factor")));
      return c.json({ user: await users.view(request.user) });
    })
    .post(
      "/:id/totp",
      FACTOR,
      jsonBody(EMPTY),
      async (c) => c.json(await users.factors().beginTotp(await users.newRequest(c, c.req.param("id")))),
    )
    .post("/:id/totp/confirm", FACTOR, jsonBody(CODE), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      const pairing = await users.factors().confirmTotp(request, c.req.valid("json"));
      return c.json({
        pairing: pairingView(pairing, deps.phonePages?.() ?? null),
        user: await users.view(request.user),
      });
    })
    .put("/:id/preference", may("user_manager"), jsonBody(PREFERENCE), async (c) => {
      const request = await users.newRequest(c, c.req.param("id"));
      await users.factors().prefer(request, c.req.valid("json").factor);
      return c.json({ user: await users.view(request.user) });
    })
    .route("/", createUserLockRoutes(deps, users));
}

/** Routes of the account link, the lock and the limits of a user. */
function createUserLockRoutes(deps: Deps, users: UserFactorAccess) {
  return new Hono<HttpEnv>()
    .post("/:id/me-link", FACTOR, jsonBody(EMPTY), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      const owner = await findAccountOwner(requireUsers(deps.people), request.user);
      if (owner === null) throw new Refusal("me_inactive");
      return c.json(await createAccountLinks(deps).make(owner, request));
    })
    .post("/:id/unlock", HELP, jsonBody(EMPTY), async (c) => {
      const request = await users.helpRequest(c, c.req.param("id"));
      await users.factors().unlock(request);
      return c.json({ user: await users.view(request.user) });
    })
    .delete("/:id/remembered-devices", may("user_manager"), jsonBody(EMPTY), async (c) => {
      const request = await users.request(c, c.req.param("id"));
      await users.factors().forgetDevices(request);
      return c.json({ user: await users.view(request.user) });
    })
    .post("/:id/reset-limits", HELP, jsonBody(EMPTY), async (c) => {
      const request = await users.helpRequest(c, c.req.param("id"));
      const people = requireUsers(deps.people);
      const canonical = canonicalName(request.user);
      const stored = await targetOf(people, undefined).directory.read("user", canonical);
      const pairings = people.pairings.of(canonical);
      const numbers = ownNumbers({ content: stored?.content ?? null, pairings });
      await users.factors().resetLimits(request, numbers);
      return c.json({ user: await users.view(request.user) });
    });
}

/** Reads users for factor routes, and their requests. */
class UserFactorAccess {
  readonly #deps: Deps;
  #factors: UserFactorCommands | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  factors(): UserFactorCommands {
    return this.#factors ??= createUserFactorCommands({ ...this.#deps, people: this.#people() });
  }

  view(user: string): Promise<UserView> {
    const people = this.#people();
    return userView({ ...this.#deps, people }, targetOf(people, undefined), user);
  }

  /** The request with the name as the directory spells it. A user outside the directory has factors under the given name. */
  async request(c: Context<HttpEnv>, given: string): Promise<FactorRequest> {
    const stored = await this.#read(given);
    const user = stored?.content.name ?? given.normalize("NFC");
    return { user, ...callerOf(c), browser: browserLabel(c) };
  }

  /** The same for a change that the help desk may make. @throws Refusal `administrator_user`. */
  async helpRequest(c: Context<HttpEnv>, given: string): Promise<FactorRequest> {
    const request = await this.request(c, given);
    const content = (await this.#read(given))?.content ?? null;
    await requireNoAdministrator(c, this.#deps.admins, { user: request.user, content });
    return request;
  }

  /** The same for a factor that is stored with the name. @throws Refusal `bad_user_name`. */
  async newRequest(c: Context<HttpEnv>, given: string): Promise<FactorRequest> {
    if (!isUserName(given) && await this.#read(given) === null) throw new Refusal("bad_user_name");
    return await this.request(c, given);
  }

  /** @throws Refusal `unknown_pairing` if the factor does not wait for a confirmation. */
  unconfirmedId({ user }: FactorRequest, id: string): string {
    const isWaiting = unconfirmedFactors(this.#people(), canonicalName(user)).some((one) => one.id === id);
    if (!isWaiting) throw new Refusal("unknown_pairing");
    return id;
  }

  #people(): People {
    return requireUsers(this.#deps.people);
  }

  #read(given: string): Promise<Stored | null> {
    return targetOf(this.#people(), undefined).directory.read("user", canonicalName(given));
  }
}

/** Whether a user outside the directory can have a factor under that name. */
function isUserName(name: string): boolean {
  return name.trim() !== "" && parseName(name).ok && !hasControlCharacters(name);
}
