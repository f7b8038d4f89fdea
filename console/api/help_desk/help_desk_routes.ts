// The routes of the help desk, below /users/:id: verify the caller, issue and revoke a bypass code, and handle a lost phone. The routes for
// unlocking and for limits are with the factors of a user.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { CallerVerifications } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { may } from "../auth/permissions.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { browserLabel, callerOf, EMPTY, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import { factorAudit, type FactorRequest } from "../users/factor_changes.ts";
import type { UserFactorRouteDeps } from "../users/user_factor_routes.ts";
import { userView } from "../users/user_views.ts";
import type { UserView } from "../users/user_types.ts";
import {
  HelpDesk,
  type HelpDeskMailDeps,
  type HelpRequest,
  requireNoAdministrator,
  revokeBypassCode,
} from "./help_desk.ts";
import type { StartedVerification, VerificationAnswer } from "./help_desk_types.ts";

export type HelpDeskRouteDeps =
  & Omit<UserFactorRouteDeps, "people">
  & HelpDeskMailDeps
  & { readonly people?: People };

const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000));
const reason = v.optional(v.pipe(textUpTo(200), v.trim(), v.regex(/^\P{C}*$/u)), "");
const WISH = { uses: v.nullable(wholeNumber), minutes: wholeNumber };
const BYPASS = v.strictObject({ ...WISH, reason });
/** The commit of more phones could have too many checks. */
const MAX_PHONES = 10;
const LOST_PHONE = v.strictObject({
  phones: v.pipe(v.array(v.pipe(textUpTo(128), v.minLength(1))), v.maxLength(MAX_PHONES)),
  bypass: v.nullable(v.strictObject(WISH)),
  link: v.optional(v.picklist(["show", "mail"]), "show"),
  reason,
});
const VERIFY = v.strictObject({ phone: v.pipe(textUpTo(128), v.minLength(1)) });

/** Gives a person a way to sign in, so it needs a recent factor of the administrator. */
const HELP = may("user_manager", { helpDesk: true, recentFactor: true });
/** Changes nothing, so operators may do it, too. */
const VERIFY_CALLER = may("operator", { helpDesk: true });
const FOLLOW_CALLER = may("operator", { helpDesk: true, countsAsUse: false });

export function createHelpDeskRoutes(deps: HelpDeskRouteDeps) {
  const desk = new HelpDeskAccess(deps);
  return new Hono<HttpEnv>()
    .post("/:id/bypass", HELP, jsonBody(BYPASS), async (c) => {
      const request = await desk.request(c);
      const issued = await desk.commands().issueBypass(request, c.req.valid("json"));
      return c.json({ ...issued, user: await desk.view(request.user) });
    })
    .delete("/:id/bypass", HELP, jsonBody(EMPTY), async (c) => {
      const request = await desk.request(c);
      await revokeBypassCode({ ...deps, people: requireUsers(deps.people) }, request);
      return c.json({ user: await desk.view(request.user) });
    })
    .post("/:id/lost-phone", HELP, jsonBody(LOST_PHONE), async (c) => {
      const request = await desk.request(c);
      const done = await desk.commands().lostPhone(request, c.req.valid("json"));
      return c.json({ ...done, user: await desk.view(request.user) });
    })
    .post("/:id/verification", VERIFY_CALLER, jsonBody(VERIFY), async (c) => {
      const request = await desk.request(c);
      return c.json(await desk.verify(request, c.req.valid("json").phone));
    })
    .get("/:id/verification/:verification", FOLLOW_CALLER, (c) => {
      const found = desk.verification(c.req.param("id"), c.req.param("verification"));
      return c.json({ nowMs: deps.clock.nowMs(), verification: found } satisfies VerificationAnswer);
    })
    .delete("/:id/verification/:verification", VERIFY_CALLER, jsonBody(EMPTY), async (c) => {
      const { id } = desk.verification(c.req.param("id"), c.req.param("verification"));
      await desk.verifications().cancel(id, callerOf(c).actor);
      const verification = desk.verification(c.req.param("id"), id);
      return c.json({ nowMs: deps.clock.nowMs(), verification } satisfies VerificationAnswer);
    });
}

/** Reads users for the routes of the help desk, and refuses administrators. */
class HelpDeskAccess {
  readonly #deps: HelpDeskRouteDeps;
  #commands: HelpDesk | null = null;

  constructor(deps: HelpDeskRouteDeps) {
    this.#deps = deps;
  }

  commands(): HelpDesk {
    return this.#commands ??= new HelpDesk({ ...this.#deps, people: this.#people() });
  }

  /** @throws Refusal `no_verification` with an external second-factor service. */
  verifications(): CallerVerifications {
    const admin = this.#deps.secondFactorAdmin();
    if (admin === null) throw new Refusal("no_verification");
    return admin.verifications;
  }

  /** @throws Refusal `administrator_user`. */
  async request(c: Context<HttpEnv>): Promise<HelpRequest> {
    const given = c.req.param("id") ?? "";
    const people = this.#people();
    const stored = await targetOf(people, undefined).directory.read("user", canonicalName(given));
    const user = stored?.content.name ?? given.normalize("NFC");
    const content = stored?.content ?? null;
    await requireNoAdministrator(c, this.#deps.admins, { user, content });
    return { user, content, ...callerOf(c), browser: browserLabel(c) };
  }

  view(user: string): Promise<UserView> {
    const people = this.#people();
    return userView({ ...this.#deps, people }, targetOf(people, undefined), user);
  }

  /** @throws Refusal `unknown_pairing`, `verification_waiting`, `too_many_verifications`, `busy`. */
  async verify(request: FactorRequest, phone: string): Promise<StartedVerification> {
    const own = this.#people().pairings.usable(canonicalName(request.user));
    const pairing = own.find(({ id, kind }) => id === phone && kind === "device");
    if (pairing?.kind !== "device") throw new Refusal("unknown_pairing");
    const record = factorAudit(request, { action: "caller.verify", pairing: phone, phone: pairing.name });
    const also = [record];
    const started = await this.verifications().start({ pairingId: phone, by: request.actor, also });
    if (started.ok) {
      const { verification, number } = started;
      return { nowMs: this.#deps.clock.nowMs(), verification, number };
    }
    switch (started.reason) {
      case "no_phone":
        throw new Refusal("unknown_pairing");
      case "waiting":
        throw new Refusal("verification_waiting");
      case "too_many":
        throw new Refusal("too_many_verifications");
      case "busy":
        throw new Refusal("overloaded");
    }
  }

  /** A verification of this user. @throws Refusal `not_found`. */
  verification(user: string, id: string) {
    const found = this.verifications().find(id);
    if (found === null || canonicalName(found.userName) !== canonicalName(user)) {
      throw new Refusal("not_found");
    }
    return found;
  }

  #people(): People {
    return requireUsers(this.#deps.people);
  }
}
