// One invitation or reminder as changes of one commit: the link, the mail and the mark of the user.

import type { Mutation, Store, Transaction } from "../../../platform/store.ts";
import { helpTextIn, type MailLanguage, mailTime } from "../../../platform/mail/mail_templates.ts";
import { MailRefusal } from "../../../platform/mail/mail.ts";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import type { EnrolmentMark } from "../../../radius/factors/enrolment_marks.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { PreparedTableChange } from "../../../platform/table.ts";
import { displayNameOf } from "../users/user_views.ts";
import type { CampaignWait, EnrolmentDeps } from "./campaigns.ts";

/** The key of the mails about one user's enrolment: a reminder replaces an invitation that still waits. */
export const ENROLMENT_MAIL_KEY = "enrolment";

export interface InvitationRequest {
  readonly template: "invitation" | "reminder";
  /** The name in the directory, canonical. */
  readonly canonical: string;
  readonly stored: Stored;
  readonly record: UserRecord;
  /** The mark without the new link. */
  readonly mark: Omit<EnrolmentMark, "invitation" | "linkUntilMs">;
}

export type InvitationOutcome =
  | { readonly ok: true; readonly change: PreparedTableChange }
  | { readonly ok: false; readonly wait: CampaignWait }
  | { readonly ok: false; readonly reason: "no_address" | "mail_refused" };

/** Prepares an invitation. The caller commits it together with the progress of its campaign. */
export function prepareInvitationMail(deps: EnrolmentDeps, request: InvitationRequest): InvitationOutcome {
  const { people, secondFactorAdmin, enrolment: { invitationMs } } = deps;
  const { canonical, stored, record, mark } = request;
  const admin = secondFactorAdmin();
  if (admin === null) return { ok: false, wait: "no_phone_service" };
  const to = stored.content.kind === "user" ? userMailAddress(stored.content) : null;
  if (to === null) return { ok: false, reason: "no_address" };
  const before = people.enrolment.of(canonical);
  const link = admin.prepareInvitation(stored.content.name, {
    recordId: record.id,
    lifetimeMs: invitationMs,
    replaces: before?.invitation ?? null,
  });
  if (link === null) return { ok: false, wait: "too_many_invitations" };
  const mail = queueMail(deps, request, { link: link.invitation, untilMs: link.deadlineMs, to });
  if (!mail.ok) return mail;
  const marked = people.enrolment.prepare(canonical, {
    ...mark,
    invitation: link.id,
    linkUntilMs: link.deadlineMs,
  });
  return {
    ok: true,
    change: {
      checks: [record.check, marked.check, ...link.checks],
      mutations: [marked.mutation, ...link.mutations, ...mail.mutations],
      done(versionstamp) {
        marked.done(versionstamp);
        link.done(versionstamp);
      },
      async raced() {
        await people.enrolment.reread(canonical);
        await link.raced();
      },
    },
  };
}

/** Commits a prepared change with others. Returns the versionstamp, or `null` if something changed meanwhile. */
export async function commitChange(
  store: Pick<Store, "commit">,
  change: PreparedTableChange,
  { checks = [], mutations }: Transaction,
): Promise<string | null> {
  try {
    const done = await store.commit({
      checks: [...checks, ...change.checks],
      mutations: [...mutations, ...change.mutations],
    });
    if (done.ok) {
      change.done(done.versionstamp);
      return done.versionstamp;
    }
  } catch (fault) {
    // The commit may have happened all the same.
    await change.raced().catch(() => undefined);
    throw fault;
  }
  await change.raced();
  return null;
}

type QueuedMail =
  | { readonly ok: true; readonly mutations: readonly Mutation[] }
  | Extract<InvitationOutcome, { ok: false }>;

function queueMail(
  deps: EnrolmentDeps,
  { template, stored: { content }, mark: { deadlineMs } }: InvitationRequest,
  { link, untilMs, to }: {
    link: string;
    untilMs: number;
    to: { readonly address: string; readonly language: MailLanguage | null };
  },
): QueuedMail {
  const { mail: { queue, language: preset }, http, enrolment: { helpText } } = deps;
  if (!queue.isConfigured) return { ok: false, wait: "mail_off" };
  const language = to.language ?? preset();
  try {
    const { mutations } = queue.prepare({
      ...{ template, language, to: to.address, about: `user:${content.name}`, key: ENROLMENT_MAIL_KEY },
      expiresMs: untilMs,
      values: {
        userName: content.name,
        displayName: displayNameOf(content) || content.name,
        link: `${http.publicUrl}/device#invite=${link}`,
        until: mailTime(untilMs, language),
        deadline: deadlineMs === null ? "" : mailTime(deadlineMs, language),
        helpText: helpTextIn(language, helpText),
      },
    });
    return { ok: true, mutations };
  } catch (fault) {
    if (!(fault instanceof MailRefusal)) throw fault;
    if (fault.reason === "mail_off" || fault.reason === "mail_queue_full") {
      return { ok: false, wait: fault.reason };
    }
    return { ok: false, reason: fault.reason === "bad_mail_address" ? "no_address" : "mail_refused" };
  }
}
