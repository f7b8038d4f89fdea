// The changes of the help desk: bypass codes, and everything that a lost phone needs, each in one commit with its audit records and the notice
// for the user.

import type { Context } from "hono";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { addedByPhone, pairingDetails } from "../../../radius/factors/pairing.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import { type MailLanguage, mailTime } from "../../../platform/mail/mail_templates.ts";
import type { UserMailAddress } from "../../../platform/mail/mail_address.ts";
import type { BypassCodeStatus } from "../../../radius/factors/bypass_codes.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { createQrMatrix } from "../qr_svg.ts";
import { factorAudit, type FactorDeps, factorNotice, type FactorRequest } from "../users/factor_changes.ts";
import {
  type PreparedUserMail,
  prepareUserMail,
  userMailAddressOf,
  type UserMailDeps,
} from "../mail/user_mails.ts";
import type { People } from "../deps.ts";
import { isAllowed } from "../auth/admin_records.ts";
import type { HttpEnv } from "../hono_env.ts";
import { displayNameOf } from "../users/user_views.ts";
import { bypassLimits, type IssuedBypass, type LostPhoneResult } from "./help_desk_types.ts";

/** What the help desk asks for. `uses: null`: any number until the code expires. */
interface BypassWish {
  readonly uses: number | null;
  readonly minutes: number;
}

interface LostPhoneWish {
  /** The pairings of the lost phones. */
  readonly phones: readonly string[];
  /** `null`: no bypass code. */
  readonly bypass: BypassWish | null;
  /** Whether the link for the new phone is shown once or mailed. */
  readonly link: "show" | "mail";
  readonly reason: string;
}

/** A request about a user, and the user's entry in the directory. */
export interface HelpRequest extends FactorRequest {
  readonly content: Content | null;
}

type HelpDeskDeps = FactorDeps & HelpDeskMailDeps;

export class HelpDesk {
  readonly #deps: HelpDeskDeps;
  readonly #mails: HelpDeskMails;

  constructor(deps: HelpDeskDeps) {
    this.#deps = deps;
    this.#mails = new HelpDeskMails(deps);
  }

  /** @throws Refusal `bad_bypass`, `bypass_inactive`, `too_many_bypass_codes`, `changed_meanwhile`. */
  async issueBypass(request: HelpRequest, wish: BypassWish & { reason: string }): Promise<IssuedBypass> {
    const { store } = this.#deps;
    const issued = await this.#prepareBypass(request, wish, wish.reason);
    const { checks, mutations } = issued;
    const done = await store.commit({ checks, mutations });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    this.#mails.wake();
    return issued.adopt(done.versionstamp);
  }

  /**
   * Revokes phones, forgets remembered devices, issues a bypass code and makes an invitation, in one commit.
   *
   * @throws Refusal `bypass_inactive`, `unknown_pairing`, `no_lost_phone`, `no_mail_address`, and those of {@link issueBypass}.
   */
  async lostPhone(request: HelpRequest, wish: LostPhoneWish): Promise<LostPhoneResult> {
    const { people: { pairings, findUserRecord } } = this.#deps;
    const canonical = canonicalName(request.user);
    return await pairings.exclusive({ user: canonical }, async () => {
      // An invitation for any other name would add a phone to a user who does not exist.
      const owner = await findUserRecord(request.user);
      if (owner.status !== "active") throw new Refusal("bypass_inactive");
      const issued = wish.bypass === null
        ? null
        : await this.#prepareBypass(request, wish.bypass, wish.reason);
      // Nothing waits from here until the commit begins.
      const own = pairings.of(canonical);
      const isKnown = (id: string) => own.some((one) => one.id === id && one.kind === "device");
      if (!wish.phones.every(isKnown)) throw new Refusal("unknown_pairing");
      // Without a revoked phone, the invitation would add a further phone without a trace on the user's own.
      const hasPhone = own.some(({ kind }) => kind === "device");
      if (hasPhone && wish.phones.length === 0) throw new Refusal("no_lost_phone");
      return await this.#commitLostPhone(request, wish, issued);
    });
  }

  async #commitLostPhone(
    request: HelpRequest,
    { phones, link, reason }: LostPhoneWish,
    issued: PreparedBypass | null,
  ): Promise<LostPhoneResult> {
    const { people, secondFactorAdmin } = this.#deps;
    const canonical = canonicalName(request.user);
    const forgotten = people.policies.remembered.count(canonical);
    const unconfirmed = phones.flatMap((phone) => addedByPhone(people, { canonical, phone }));
    const revoked = people.pairings.prepareRevoke(canonical, phones);
    const forget = people.policies.remembered.prepareForget(canonical);
    const names = revoked.pairings.map((one) => one.kind === "device" ? one.name ?? one.id : one.id);
    const admin = secondFactorAdmin();
    const records = [
      factorAudit(request, {
        action: "user.lost_phone",
        phone: names.join(", "),
        count: revoked.pairings.length,
        bypass: issued?.id,
        reason,
      }),
      ...revoked.pairings.map((one) =>
        factorAudit(request, {
          action: "pairing.revoke",
          ...pairingDetails(one),
          because: "lost_phone",
          ...(unconfirmed.length === 0 ? {} : { unconfirmed }),
        })
      ),
      factorAudit(request, { action: "user.forget_devices", count: forgotten, because: "lost_phone" }),
      ...(admin === null ? [] : [factorAudit(request, { action: "invitation.make", because: "lost_phone" })]),
    ];
    const mutations = [...revoked.mutations, ...forget.mutations, ...issued?.mutations ?? [], ...records];
    try {
      const { versionstamp, invitation, mailedTo } = await this.#commitWithInvitation(request, {
        ...{ checks: issued?.checks ?? [], mutations, ends: phones, link },
      });
      forget.done();
      this.#mails.wake();
      const bypass = issued === null ? null : issued.adopt(versionstamp);
      return { revoked: names, forgotten, bypass, invitation, mailedTo };
    } catch (fault) {
      forget.undo();
      revoked.restore();
      throw fault;
    }
  }

  /** One commit, with an invitation unless an external service pairs phones. */
  async #commitWithInvitation(
    { user, content }: HelpRequest,
    { checks, mutations, ends, link: wanted }: {
      checks: readonly Check[];
      mutations: readonly Mutation[];
      ends: readonly string[];
      link: LostPhoneWish["link"];
    },
  ): Promise<{ versionstamp: string } & Pick<LostPhoneResult, "invitation" | "mailedTo">> {
    const { secondFactorAdmin, store, http } = this.#deps;
    const admin = secondFactorAdmin();
    if (admin === null) {
      const done = await store.commit({ checks, mutations });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      return { versionstamp: done.versionstamp, invitation: null, mailedTo: null };
    }
    const result = { versionstamp: "", mailedTo: "" };
    const linkOf = (invitation: string) => `${http.publicUrl}/device#invite=${invitation}`;
    const { invitation, deadlineMs } = await admin.invite(user, {
      ...{ also: mutations, checks, ends },
      onCommitted: (versionstamp) => void (result.versionstamp = versionstamp),
      alsoFor: ({ invitation, deadlineMs }) => {
        if (wanted === "show") return [];
        const mail = this.#mails.invitation(content, { link: linkOf(invitation), deadlineMs });
        result.mailedTo = mail.address;
        return mail.mutations;
      },
    });
    const { versionstamp } = result;
    if (wanted === "mail") return { versionstamp, invitation: null, mailedTo: result.mailedTo };
    const link = linkOf(invitation);
    return { versionstamp, invitation: { link, qr: createQrMatrix(link), deadlineMs }, mailedTo: null };
  }

  async #prepareBypass(request: HelpRequest, wish: BypassWish, reason: string): Promise<PreparedBypass> {
    const { people: { bypassCodes, findUserRecord }, clock } = this.#deps;
    const { minutes, uses } = this.#checked(wish);
    const owner = await findUserRecord(request.user);
    if (owner.status !== "active") throw new Refusal("bypass_inactive");
    if (bypassCodes.isFull()) throw new Refusal("too_many_bypass_codes");
    const canonical = canonicalName(request.user);
    const expiresMs = clock.nowMs() + minutes * MINUTE_MS;
    const made = await bypassCodes.create(canonical, { uses, expiresMs, by: request.actor });
    const record = factorAudit(request, {
      action: "bypass.issue",
      bypass: made.id,
      deadlineMs: expiresMs,
      ...(uses === null ? {} : { uses }),
      reason,
    });
    const mail = this.#mails.bypass(request.content, { by: request.actor, uses, expiresMs });
    return {
      id: made.id,
      checks: [...made.checks, owner.check],
      mutations: [
        ...made.mutations,
        ...mail?.mutations ?? [],
        record,
        factorNotice(this.#deps, request, { what: "bypass", recordId: owner.id }),
      ],
      adopt: (versionstamp) => {
        made.adopt(versionstamp);
        const bypass = bypassCodes.status(canonical);
        if (bypass === null) throw new Refusal("changed_meanwhile");
        return { code: made.code, bypass, mailedTo: mail?.address ?? null };
      },
    };
  }

  /** @throws DetailedRefusal `bad_bypass`. */
  #checked({ uses, minutes }: BypassWish): BypassWish {
    const { minMinutes, maxMinutes, maxUses, anyUses } = bypassLimits(this.#deps.people.helpDesk);
    if (minutes < minMinutes || minutes > maxMinutes) {
      const message = `A bypass code is valid for ${minMinutes} to ${maxMinutes} minutes.`;
      throw new DetailedRefusal("bad_bypass", { message });
    }
    if (uses === null ? !anyUses : uses < 1 || uses > maxUses) {
      throw new DetailedRefusal("bad_bypass", {
        message: `A bypass code is valid for 1 to ${maxUses} sign-ins.`,
      });
    }
    return { uses, minutes };
  }
}

interface PreparedBypass {
  readonly id: string;
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  adopt(versionstamp: string): IssuedBypass;
}

// Mails of the help desk to a user: a bypass code was issued, and the link for a new phone. A mail never contains the code. The user is helped
// also if no mail can be sent.

export type HelpDeskMailDeps = UserMailDeps;

const ANY_USES: Readonly<Record<MailLanguage, string>> = {
  en: "any number, until it ends",
  de: "beliebig viele, bis zum Ende",
};

class HelpDeskMails {
  readonly #deps: HelpDeskMailDeps;

  constructor(deps: HelpDeskMailDeps) {
    this.#deps = deps;
  }

  /** The address to which mails of this user go; `null` if no mail can be sent. */
  addressOf(content: Content | null): UserMailAddress | null {
    return userMailAddressOf(this.#deps, content);
  }

  /** Tells the user about a bypass code. `null` if no mail can be sent: the notices on the user's pages tell it, too. */
  bypass(
    content: Content | null,
    { by, uses, expiresMs }: { by: string; uses: number | null; expiresMs: number },
  ): PreparedUserMail | null {
    return prepareUserMail(this.#deps, content, {
      template: "bypass",
      valuesIn: (language) => ({
        administrator: by,
        until: mailTime(expiresMs, language),
        uses: uses === null ? ANY_USES[language] : String(uses),
      }),
    });
  }

  /** Mails a link instead of showing it. @throws Refusal `no_mail_address`. */
  invitation(
    content: Content | null,
    { link, deadlineMs }: { link: string; deadlineMs: number },
  ): PreparedUserMail {
    const mail = prepareUserMail(this.#deps, content, {
      template: "invitation",
      valuesIn: (language) => ({ link, until: mailTime(deadlineMs, language), deadline: "" }),
      expiresMs: deadlineMs,
    });
    if (mail === null) throw new Refusal("no_mail_address");
    return mail;
  }

  /** Call it after the commit. */
  wake(): void {
    this.#deps.mail?.wake();
  }
}

// The end of a bypass code, by the help desk or by its user.

/** @throws Refusal `no_bypass`. */
export async function revokeBypassCode(
  { people: { bypassCodes }, store }: { people: Pick<People, "bypassCodes">; store: Store },
  request: FactorRequest,
): Promise<void> {
  const canonical = canonicalName(request.user);
  const before = bypassCodes.status(canonical);
  if (before === null) throw new Refusal("no_bypass");
  const { mutations, restore } = bypassCodes.removeUser(canonical);
  const record = factorAudit(request, { action: "bypass.revoke", bypass: before.id, ...leftOf(before) });
  await store.commit({ mutations: [...mutations, record, ...request.also ?? []] }).catch((fault: unknown) => {
    restore();
    throw fault;
  });
}

function leftOf({ usesLeft }: BypassCodeStatus): { usesLeft?: number } {
  return usesLeft === null ? {} : { usesLeft };
}

// Users who are also administrators of the console. The help desk and operators must not change how such a user signs in: with the user's
// factors they could become that administrator.

/** The names of the administrators who can sign in. */
export interface AdministratorNames {
  activeNames(): Promise<readonly string[]>;
}

/** A user's name, and the entry in the directory. */
interface HelpedUser {
  readonly user: string;
  readonly content: Content | null;
}

/**
 * Allows the request if the caller manages users, or if the user is no administrator.
 *
 * @throws Refusal `administrator_user`
 */
export async function requireNoAdministrator(
  c: Context<HttpEnv>,
  admins: AdministratorNames,
  user: HelpedUser,
): Promise<void> {
  if (isAllowed(c.var.session.admin.role, "user_manager")) return;
  if (isAdministrator(user, await admins.activeNames())) throw new Refusal("administrator_user");
}

/**
 * Whether a user has the name of an administrator: as the user name, as an email address, with or without a domain, or as the display name. A
 * sign-in provider names administrators by one of them. Two persons may then look like one, which refuses more. Pure.
 */
export function isAdministrator({ user, content }: HelpedUser, administrators: readonly string[]): boolean {
  const shown = content === null ? "" : displayNameOf(content);
  const names = [user, ...emailsOf(content), ...(shown === "" ? [] : [shown])];
  const own = new Set(names.flatMap(formsOf));
  return administrators.some((name) => formsOf(name).some((form) => own.has(form)));
}

const MAX_EMAILS = 50;

function emailsOf(content: Content | null): string[] {
  const emails = content?.attributes.emails;
  if (!Array.isArray(emails)) return [];
  return emails.slice(0, MAX_EMAILS).flatMap((entry) => {
    const value = typeof entry === "string" ? entry : typeof entry === "object" && entry !== null &&
        "value" in entry
      ? entry.value
      : null;
    return typeof value === "string" ? [value] : [];
  });
}

/** The name, and the name without its domain: `CORP\ada` and `ada@corp.example` are `ada`. */
function formsOf(name: string): string[] {
  const whole = canonicalName(name.trim());
  const afterDomain = whole.slice(whole.indexOf("\\") + 1);
  const at = afterDomain.lastIndexOf("@");
  return [whole, at > 0 ? afterDomain.slice(0, at) : afterDomain];
}
