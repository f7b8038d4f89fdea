// A user's own factors: listed, added and removed with the commands of the console, and recorded under the user's name.

import * as v from "valibot";
import { type Context, Hono } from "hono";
import {
  addedByPhone,
  type AddingPhone,
  type Pairing,
  RECOVERY_CODES,
  type UnconfirmedFactor,
  unconfirmedFactors,
} from "../../../radius/factors/pairing.ts";
import type { Factor } from "../../../radius/flow/context.ts";
import { type MailLanguage, mailTime } from "../../../platform/mail/mail_templates.ts";
import type { UserNotice } from "../../../platform/user_record.ts";
import { maskPhoneNumber } from "../../../platform/phone_number.ts";
import { tokenFactorId } from "../../../radius/tokens/token.ts";
import { appParameters } from "../../../radius/tokens/token_codes.ts";
import type { DeviceService } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { readCode } from "../../../radius/protocol/login_input.ts";
import type { SignInRateLimit } from "../auth/sign_in_rate_limit.ts";
import { browserLabel, EMPTY, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import { readUserNotices, removeUserNotices } from "../notices/notices.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { phoneToken } from "../devices/phone_cookie.ts";
import { Refusal } from "../errors.ts";
import { revokeBypassCode } from "../help_desk/help_desk.ts";
import { prepareUserMail, type UserMailDeps } from "../mail/user_mails.ts";
import {
  type FactorDeps,
  factorNotice,
  type FactorRequest,
  TOTP_ENROLMENT_MS,
} from "../users/factor_changes.ts";
import { createUserFactorCommands, type UserFactorCommands } from "../users/user_factors.ts";
import { type TokenCommandDeps, TokenCommands } from "../tokens/token_commands.ts";
import type { AccountAuth } from "./account_auth.ts";
import { type AccountSession, usersOfPhone } from "./account_sessions.ts";
import type { AccountDevice, AccountFactors, AccountToken } from "./account_types.ts";
import type { AccountHistory } from "./account_logins.ts";

export type AccountFactorDeps = Omit<FactorDeps, "people"> & UserMailDeps & {
  readonly people?: People;
  readonly phone: () => DeviceService | null;
  readonly attempts: SignInRateLimit;
  readonly history: AccountHistory;
  readonly accountAuth: () => AccountAuth;
};

const CODE = v.strictObject({ code: v.pipe(v.string(), v.minLength(1), v.maxLength(16)) });
const NAME = v.strictObject({ name: v.pipe(v.string(), v.minLength(1), v.maxLength(1024)) });
const PREFERENCE = v.strictObject({ factor: v.nullable(v.picklist(["device", "sms", "voice", "totp"])) });

/** The factor routes of an account session: reading, notices, phones, the preferred factor, app and recovery codes. */
export function createAccountFactorRoutes(deps: AccountFactorDeps) {
  const access = new OwnFactors(deps);
  return new Hono<HttpEnv>()
    .get("/factors", async (c) => c.json(await readFactors(deps, c)))
    .delete("/notices", async (c) => {
      // An attacker with only the phone must not hide the factors that they added.
      const { person } = await access.requireRemoving(c, null);
      await removeUserNotices(deps.store, person.canonical);
      return c.json({ removed: true });
    })
    .route("/", createUnconfirmedRoutes(access))
    .route("/", createPhoneRoutes(access))
    .put("/preference", jsonBody(PREFERENCE), async (c) => {
      const { factor } = c.req.valid("json");
      const me = await access.requirePreferring(c, factor);
      await access.factors().prefer(access.requestOf(c, me), factor);
      return c.json({ preference: factor });
    })
    .route("/", createTotpRoutes(access))
    .route("/tokens", createAccountTokenRoutes(deps))
    .delete("/bypass", async (c) => {
      // An attacker with only the phone must not take away the user's other way to sign in.
      const me = await access.requireRemoving(c, null);
      const request = await access.removalOf(c, me, "bypass");
      await revokeBypassCode({ ...deps, people: requireUsers(deps.people) }, request);
      return c.json({ revoked: true });
    })
    .post("/recovery-codes", jsonBody(EMPTY), async (c) => {
      const request = await access.newRecoveryCodes(c);
      return c.json({ codes: await access.factors().makeRecoveryCodes(request) });
    });
}

function createUnconfirmedRoutes(access: OwnFactors) {
  return new Hono<HttpEnv>()
    .post("/unconfirmed/:id/keep", jsonBody(EMPTY), async (c) => {
      const me = await access.requireAdding(c);
      const { id } = access.unconfirmed(me, c.req.param("id"));
      await access.factors().confirmFactor(access.requestOf(c, me), id);
      return c.json({ confirmed: c.req.param("id") });
    })
    .delete("/unconfirmed/:id", async (c) => {
      const me = await access.requireRemoving(c, null);
      const { id, kind } = access.unconfirmed(me, c.req.param("id"));
      await access.factors().removeUnconfirmed(await access.removalOf(c, me, kind), id);
      return c.json({ removed: c.req.param("id") });
    });
}

function createPhoneRoutes(access: OwnFactors) {
  return new Hono<HttpEnv>()
    .post("/devices/invitation", jsonBody(EMPTY), async (c) => {
      const me = await access.requireAdding(c);
      const { link, qr, deadlineMs } = await access.factors().invite(access.requestOf(c, me));
      return c.json({ url: link, qr, deadlineMs });
    })
    .put("/devices/:id", jsonBody(NAME), async (c) => {
      const me = await access.requireSession(c);
      const { name } = c.req.valid("json");
      await access.factors().rename(access.requestOf(c, me), { id: c.req.param("id"), name });
      return c.json({ renamed: c.req.param("id") });
    })
    .delete(
      "/devices/:id",
      async (c) => c.json(await access.remove(c, { id: c.req.param("id"), kind: "device" })),
    );
}

function createTotpRoutes(access: OwnFactors) {
  const { store, attempts } = access.deps;
  const enrolmentKey = ({ id }: AccountSession): Deno.KvKey => ["me_totp", id];
  return new Hono<HttpEnv>()
    .post("/totp", jsonBody(EMPTY), async (c) => {
      const me = await access.requireAdding(c);
      const { id, secret, uri, qr, deadlineMs } = await access.factors().beginTotp(access.requestOf(c, me));
      const key = enrolmentKey(me);
      await store.commit({ mutations: [{ type: "set", key, value: id, expireInMs: TOTP_ENROLMENT_MS }] });
      return c.json({ secret, uri, qr, deadlineMs });
    })
    .post("/totp/confirm", jsonBody(CODE), async (c) => {
      const me = await access.requireAdding(c);
      const attempt = await attempts.take({ source: null, name: me.person.canonical });
      try {
        const id = (await store.get<string>(enrolmentKey(me))).value;
        if (id === null) throw new Refusal("no_totp_begun");
        const { code } = c.req.valid("json");
        const pairing = await access.factors().confirmTotp(access.requestOf(c, me), { id, code });
        await attempt.forgive();
        return c.json({ pairingId: pairing.id });
      } catch (fault) {
        if (!(fault instanceof Refusal) || fault.code !== "wrong_totp") await attempt.forgive();
        throw fault;
      }
    })
    .delete(
      "/totp/:id",
      async (c) => c.json(await access.remove(c, { id: c.req.param("id"), kind: "totp" })),
    );
}

/** Factors whose codes are sent over the telephone network. */
const SENT_FACTORS: ReadonlySet<Factor | null> = new Set(["sms", "voice"]);
/** For the mail. It does not repeat the name of a phone, because a mail program makes a link of an address in it. */
const REMOVED_FACTORS: Readonly<Record<MailLanguage, Readonly<Record<UserNotice["what"], string>>>> = {
  en: {
    ...{
      device: "phone",
      sms: "number for text messages",
      voice: "number for calls",
      token: "hardware token",
    },
    ...{ totp: "authenticator app", recovery_codes: "recovery codes", bypass: "bypass code" },
  },
  de: {
    ...{
      device: "Telefon",
      sms: "Nummer für SMS",
      voice: "Nummer für Anrufe",
      token: "Hardware-Token",
    },
    ...{ totp: "Authenticator-App", recovery_codes: "Wiederherstellungscodes", bypass: "Ersatzcode" },
  },
};

/** The factors of the user of an account session, and what the session may change. */
class OwnFactors {
  readonly deps: AccountFactorDeps;

  constructor(deps: AccountFactorDeps) {
    this.deps = deps;
  }

  factors(): UserFactorCommands {
    return createUserFactorCommands({ ...this.deps, people: this.#people() });
  }

  requireSession(c: Context<HttpEnv>): Promise<AccountSession> {
    return this.deps.accountAuth().requireSession(c);
  }

  /** The session, if it may add a factor. @throws Refusal `me_over`, `me_step_up`. */
  async requireAdding(c: Context<HttpEnv>): Promise<AccountSession> {
    const me = await this.requireSession(c);
    if (!me.mayAddFactors) throw new Refusal("me_step_up");
    return me;
  }

  /**
   * The session, if it may remove or weaken a factor. A session by phone may remove this phone. For anything else, the user must have entered a code
   * of `removed`, or of a factor that is independent of this phone: an attacker with the phone has its codes and those of the factors that it added.
   *
   * @throws Refusal `me_over`, `me_step_up`.
   */
  async requireRemoving(c: Context<HttpEnv>, removed: string | null): Promise<AccountSession> {
    const me = await this.requireSession(c);
    if (!this.#mayRemove(me, removed)) throw new Refusal("me_step_up");
    return me;
  }

  /** The session, if it may change the preferred factor. A text or a call is weaker than a phone or an app. @throws Refusal `me_over`, `me_step_up`. */
  async requirePreferring(c: Context<HttpEnv>, factor: Factor | null): Promise<AccountSession> {
    const me = await this.requireSession(c);
    const before = this.#people().pairings.preferred(me.person.canonical);
    const isWeaker = SENT_FACTORS.has(factor) && !SENT_FACTORS.has(before);
    return isWeaker ? await this.requireRemoving(c, null) : me;
  }

  /** The request for new recovery codes, which end the codes that are left. @throws Refusal `me_over`, `me_step_up`. */
  async newRecoveryCodes(c: Context<HttpEnv>): Promise<FactorRequest> {
    const me = await this.requireAdding(c);
    if (this.#people().recoveryCodes.status(me.person.canonical).left === 0) return this.requestOf(c, me);
    if (!this.#mayRemove(me, RECOVERY_CODES)) throw new Refusal("me_step_up");
    return await this.removalOf(c, me, "recovery_codes");
  }

  /** The request of a removal, with the notice and the mail for the user. */
  async removalOf(c: Context<HttpEnv>, me: AccountSession, what: UserNotice["what"]): Promise<FactorRequest> {
    const request = this.requestOf(c, me);
    const { canonical, recordId } = me.person;
    const notice = factorNotice(this.deps, request, { what, recordId, isRemoved: true });
    const content = (await targetOf(this.#people(), undefined).directory.read("user", canonical))?.content;
    const mail = prepareUserMail(this.deps, content ?? null, {
      template: "factor_removed",
      valuesIn: (language) => ({
        factor: REMOVED_FACTORS[language][what],
        time: mailTime(this.deps.clock.nowMs(), language),
      }),
    });
    return { ...request, also: [notice, ...mail?.mutations ?? []] };
  }

  requestOf(c: Context<HttpEnv>, me: AccountSession): FactorRequest {
    const { userName } = me.person;
    return {
      user: userName,
      actor: `user:${userName}`,
      source: c.env.remoteAddress,
      browser: browserLabel(c),
      addedBy: this.#addingPhone(me),
    };
  }

  /** @throws Refusal `unknown_pairing` if the factor does not wait for a confirmation. */
  unconfirmed({ person }: AccountSession, id: string): UnconfirmedFactor {
    const waiting = unconfirmedFactors(this.#people(), person.canonical).find((one) => one.id === id);
    if (waiting === undefined) throw new Refusal("unknown_pairing");
    return waiting;
  }

  /** @throws Refusal `unknown_pairing`, `last_own_factor`, `me_step_up`. */
  async remove(c: Context<HttpEnv>, { id, kind }: { id: string; kind: Pairing["kind"] }) {
    const me = await this.requireSession(c);
    const own = this.#people().pairings.of(me.person.canonical);
    if (!own.some((pairing) => pairing.id === id && pairing.kind === kind)) {
      throw new Refusal("unknown_pairing");
    }
    // A thief with only the phone must not lock out its owner. A session by link may: an administrator can send another link.
    if (isLastFactor(this.#people(), me, id)) throw new Refusal("last_own_factor");
    if (!this.#mayRemove(me, id)) throw new Refusal("me_step_up");
    const confirmsAdded = this.#confirmsAdded(me, id);
    await this.factors().revoke(await this.removalOf(c, me, kind), id, { confirmsAdded });
    this.deps.mail?.wake();
    return { removed: id };
  }

  #people(): People {
    return requireUsers(this.deps.people);
  }

  #mayRemove(
    { via, pairingId, shownFactor, person: { canonical } }: AccountSession,
    removed: string | null,
  ): boolean {
    if (via === "link" || pairingId === null) return true;
    const here = new Set([pairingId, ...this.deps.secondFactorAdmin()?.pairingsOfSamePhone(pairingId) ?? []]);
    if (removed !== null && (here.has(removed) || shownFactor?.id === removed)) return true;
    const { pairings } = this.#people();
    const origins = pairings.of(canonical).filter(({ id }) => here.has(id))
      .map((pairing) => pairings.originOf(canonical, pairing));
    return shownFactor !== null && !here.has(shownFactor.id) && !origins.includes(shownFactor.origin);
  }

  #addingPhone({ person, pairingId }: AccountSession): AddingPhone | undefined {
    if (pairingId === null) return undefined;
    const phone = this.#people().pairings.of(person.canonical).find(({ id }) => id === pairingId);
    const name = phone?.kind === "device" ? phone.name : undefined;
    return { id: pairingId, ...(name === undefined ? {} : { name }) };
  }

  /**
   * Whether the factors that the phone `removed` added remain valid: only if the user entered a code of a factor that is
   * independent of that phone. The cookie and a code of the phone are not enough, because an attacker with the phone has both.
   *
   * @throws Refusal `me_step_up` if the user can enter such a code and has not yet.
   */
  #confirmsAdded(me: AccountSession, removed: string): boolean {
    const { canonical } = me.person;
    if (addedByPhone(this.#people(), { canonical, phone: removed }).length === 0) return false;
    const independent = independentOf(this.#people(), canonical, removed);
    const hasCodes = independent.some(({ kind }) => kind === "device" || kind === "totp");
    if (me.via === "phone" && me.shownFactor === null && hasCodes) throw new Refusal("me_step_up");
    return independent.some(({ id }) => id === me.shownFactor?.id);
  }
}

/** The usable factors of a user without `removed` and without the factors that it added. An administrator assigned each hardware token. */
function independentOf(
  { pairings, hardwareTokens }: People,
  canonical: string,
  removed: string,
): { readonly id: string; readonly kind: Pairing["kind"] }[] {
  const others = pairings.usable(canonical)
    .filter(({ id }) => id !== removed && !pairings.wasAddedBy(canonical, { id, by: removed }));
  const tokens = hardwareTokens.usable(canonical);
  return [...others, ...tokens.map(({ id }) => ({ id: tokenFactorId(id), kind: "totp" as const }))];
}

/** Whether a session by phone may not remove this factor, because no other one would be usable. */
function isLastFactor(people: People, { via, person: { canonical } }: AccountSession, id: string): boolean {
  return via === "phone" && independentOf(people, canonical, id).length === 0;
}

function phoneOf({ phonePages }: AccountFactorDeps, pairingId: string): Pick<AccountDevice, "phone"> {
  const phone = phonePages?.()?.facts(pairingId) ?? null;
  return phone === null ? {} : { phone };
}

async function readFactors(deps: AccountFactorDeps, c: Context<HttpEnv>): Promise<AccountFactors> {
  const people = requireUsers(deps.people);
  const me = await deps.accountAuth().requireSession(c);
  const { canonical, recordId } = me.person;
  const own = people.pairings.of(canonical);
  const here = new Set(
    (await usersOfPhone({ people, phone: deps.phone }, phoneToken(c))).map((one) => one.pairingId),
  );
  const devices = own.filter((pairing) => pairing.kind === "device");
  const lastPushMs = devices.length === 0 ? null : await lastDeviceUse(deps, canonical);
  const { lockedUntilMs, hardLocked } = people.limits.failures(canonical);
  return {
    nowMs: deps.clock.nowMs(),
    devices: devices.map((pairing, at) => ({
      pairingId: pairing.id,
      ...(pairing.name === undefined ? {} : { name: pairing.name }),
      createdMs: pairing.createdMs,
      ...phoneOf(deps, pairing.id),
      // A login sends a push to the phone that was paired first.
      lastUsedMs: at === 0 ? lastPushMs : null,
      isThisPhone: here.has(pairing.id),
      isLast: isLastFactor(people, me, pairing.id),
    })),
    totp: own.flatMap((pairing) =>
      pairing.kind !== "totp" ? [] : [{
        pairingId: pairing.id,
        createdMs: pairing.createdMs,
        lastUsedMs: pairing.lastStep < 0 ? null : pairing.lastStep * appParameters(pairing).periodS * 1000,
        isLast: isLastFactor(people, me, pairing.id),
      }]
    ),
    numbers: own.flatMap((pairing) =>
      pairing.kind !== "sms" && pairing.kind !== "voice" ? [] : [{
        pairingId: pairing.id,
        kind: pairing.kind,
        number: maskPhoneNumber(pairing.number),
        createdMs: pairing.createdMs,
      }]
    ),
    tokens: accountTokens(people, canonical),
    notices: await readUserNotices(deps.store, { userName: canonical, recordId }),
    recovery: people.recoveryCodes.status(canonical),
    bypass: people.bypassCodes.status(canonical),
    unconfirmed: unconfirmedFactors(people, canonical),
    preference: people.pairings.preferred(canonical),
    enabled: people.factors.enabled,
    canInvite: deps.secondFactorAdmin() !== null,
    locked: people.limits.isLocked(canonical) ? { untilMs: hardLocked ? null : lockedUntilMs } : null,
  };
}

async function lastDeviceUse(deps: AccountFactorDeps, canonical: string): Promise<number | null> {
  const logins = await deps.history.of(canonical);
  return logins.find(({ outcome, factor }) => outcome === "accepted" && factor === "device")?.endedMs ?? null;
}

// A user's own hardware tokens: the list, and resynchronization with two codes. An administrator assigns and removes them.

const code = v.pipe(textUpTo(64), v.transform(readCode), v.regex(/^[0-9]{6,8}$/));
const CODES = v.strictObject({ codes: v.tuple([code, code]) });

type AccountTokenDeps = Omit<TokenCommandDeps, "people"> & {
  readonly people?: People;
  readonly accountAuth: () => AccountAuth;
};

function createAccountTokenRoutes(deps: AccountTokenDeps) {
  return new Hono<HttpEnv>()
    .post("/:id/resynchronize", jsonBody(CODES), async (c) => {
      const people = requireUsers(deps.people);
      const { person: { canonical, userName } } = await deps.accountAuth().requireSession(c);
      const id = c.req.param("id");
      const isOwn = people.hardwareTokens.of(canonical).some((token) => token.id === id);
      if (!isOwn) throw new Refusal("unknown_hardware_token");
      const caller = { actor: `user:${userName}`, source: c.env.remoteAddress, browser: browserLabel(c) };
      await new TokenCommands({ ...deps, people }).resynchronize(caller, id, c.req.valid("json").codes);
      return c.json({ resynchronized: id });
    });
}

/** The tokens of a user (canonical name), without their seeds. */
function accountTokens({ hardwareTokens }: People, canonical: string): AccountToken[] {
  return hardwareTokens.of(canonical).map((token) => {
    const { id, record: { serial, kind, digits, assignedMs }, use: { usedMs } } = token;
    return { id, serial, kind, digits, assignedMs, usedMs, isUsable: hardwareTokens.isUsable(token) };
  });
}
