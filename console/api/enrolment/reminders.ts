// Reminders: a user who was invited and has no factor gets a new link on the days of the settings. Each reminder is one commit with the mark of the
// user, so that two nodes cannot send the same one. Also the end of links that are not needed any more.

import { auditEntry } from "../../../platform/audit.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { EnrolmentMark } from "../../../radius/factors/enrolment_marks.ts";
import { type People, targetOf } from "../deps.ts";
import {
  type CampaignRunDeps,
  commitChange,
  ENROLMENT_MAIL_KEY,
  prepareInvitationMail,
  type RateBucket,
} from "./enrolment_sender.ts";
import { candidateOf, hasEnrolled } from "./campaigns.ts";

/** Reminders of one slice. */
const SLICE_USERS = 500;

/** When the next reminder of a user is due, or `null`. @param days of the settings, ascending */
export function nextReminderMs(
  { invitedMs, remindedMs }: Pick<EnrolmentMark, "invitedMs" | "remindedMs">,
  days: readonly string[],
): number | null {
  const sinceMs = remindedMs ?? invitedMs;
  return days.map((day) => invitedMs + Number(day) * DAY_MS).find((dueMs) => dueMs > sinceMs) ?? null;
}

/** A user who cannot be reminded now, such as one without an address, is looked at again after this time. */
const RETRY_MS = 3600_000;

/**
 * Sends the reminders that are due. Returns whether some are left.
 *
 * @param passed when to look again at users who could not be reminded; empty at first
 */
export async function sendReminders(
  deps: CampaignRunDeps,
  { bucket, passed }: { bucket: RateBucket; passed: Map<string, number> },
): Promise<boolean> {
  const { people, clock, enrolment: { reminderDays }, isStopped } = deps;
  if (reminderDays.length === 0) return false;
  const nowMs = clock.nowMs();
  const reminding = await remindingCampaigns(deps);
  for (const [user, untilMs] of passed) if (untilMs <= nowMs) passed.delete(user);
  let sent = 0;
  for (const [user, mark] of dueMarks(people, { nowMs, days: reminderDays })) {
    if (!reminding.has(mark.campaign) || passed.has(user)) continue;
    if (isStopped()) return false;
    if (sent >= SLICE_USERS || !bucket.hasToken()) return true;
    const outcome = await remind(deps, user, mark);
    if (outcome === "waits") return true;
    if (outcome === "passed") passed.set(user, nowMs + RETRY_MS);
    if (outcome === "sent") {
      sent += 1;
      bucket.take();
    }
  }
  return false;
}

/** A copy, because the marks change while reminders are sent. */
function dueMarks(
  people: People,
  { nowMs, days }: { nowMs: number; days: readonly string[] },
): (readonly [user: string, mark: EnrolmentMark])[] {
  const due: (readonly [string, EnrolmentMark])[] = [];
  for (const entry of people.enrolment.all()) {
    const [user, mark] = entry;
    const dueMs = nextReminderMs(mark, days);
    if (dueMs !== null && dueMs <= nowMs && !hasEnrolled(people, user)) due.push(entry);
  }
  return due;
}

/** Campaigns that remind their users. After a campaign was removed, its users get no reminder. */
async function remindingCampaigns({ campaigns }: CampaignRunDeps): Promise<ReadonlySet<string>> {
  const all = await campaigns.all();
  return new Set(
    all.flatMap(({ id, record: { state, options } }) =>
      state !== "cancelled" && options.reminders ? [id] : []
    ),
  );
}

async function remind(
  deps: CampaignRunDeps,
  user: string,
  mark: EnrolmentMark,
): Promise<"sent" | "passed" | "raced" | "waits"> {
  const { people, store, clock, lease } = deps;
  const stored = await targetOf(people, undefined).directory.read("user", user);
  const candidate = candidateOf(deps, stored, user);
  if (stored === null || candidate.user?.isActive !== true || candidate.hasFactor) return "passed";
  const record = await people.findUserRecord(stored.content.name);
  const nowMs = clock.nowMs();
  const next = { ...mark, recordId: record.id, reminders: mark.reminders + 1, remindedMs: nowMs };
  const prepared = prepareInvitationMail(deps, {
    ...{ template: "reminder", canonical: user, stored, record, mark: next },
  });
  if (!prepared.ok) return "wait" in prepared ? "waits" : "passed";
  const { change } = prepared;
  const done = await commitChange(store, change, {
    checks: lease.check === null ? [] : [lease.check],
    mutations: [
      auditEntry({ action: "enrolment.remind", actor: "enrolment", object: `user:${stored.content.name}` }),
    ],
  });
  if (done === null) {
    await lease.confirm();
    return "raced";
  }
  deps.mail.queue.wake();
  return "sent";
}

/**
 * Ends the open links of users who enrolled in another way, and their mails that wait: with such a link, a reader of the mail could add a factor. Returns whether some are
 * left.
 */
export async function endUnneededLinks(
  { people, secondFactorAdmin, store, lease, mail, isStopped }: CampaignRunDeps,
): Promise<boolean> {
  const admin = secondFactorAdmin();
  const links = admin === null
    ? []
    : [...people.enrolment.all()].flatMap(([user, { invitation }]) =>
      admin.isInvitationOpen(invitation) && hasEnrolled(people, user) ? [{ user, invitation }] : []
    );
  for (const { user, invitation } of links.slice(0, SLICE_USERS)) {
    const change = admin?.prepareInvitationEnd(invitation) ?? null;
    if (change === null) continue;
    if (isStopped()) return true;
    const checks = lease.check === null ? [] : [lease.check];
    const mutations = mail.queue.prepareRemoval({ about: `user:${user}`, key: ENROLMENT_MAIL_KEY });
    if (await commitChange(store, change, { checks, mutations }) === null) await lease.confirm();
  }
  return links.length > SLICE_USERS;
}
