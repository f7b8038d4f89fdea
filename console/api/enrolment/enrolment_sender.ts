// Sends invitations and reminders. A slice of a campaign invites some users, each in one commit with the mark, the mail and the progress of the
// campaign. After a crash the campaign continues at the user after the last commit.

import { auditEntry } from "../../../platform/audit.ts";
import type { WriteLease } from "../../../platform/cluster/lease.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../platform/durations.ts";
import { MailRefusal } from "../../../platform/mail/mail.ts";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";
import { helpTextIn, type MailLanguage, mailTime } from "../../../platform/mail/mail_templates.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Mutation, Store, Transaction } from "../../../platform/store.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import type { EnrolmentMark } from "../../../radius/factors/own_factors.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { type MirroredRow, prepareChanges, type PreparedTableChange } from "../../../platform/table.ts";
import { targetOf } from "../deps.ts";
import { displayNameOf } from "../users/user_views.ts";
import {
  type CampaignRecord,
  type CampaignStore,
  type CampaignWait,
  candidateOf,
  type EnrolmentDeps,
  hasEnrolled,
  readCandidate,
  type SkipReason,
  type StoredCampaign,
  whyNotInvited,
} from "./campaigns.ts";

interface CampaignRunDeps extends EnrolmentDeps {
  readonly campaigns: CampaignStore;
  readonly lease: Pick<WriteLease, "check" | "confirm">;
  readonly isStopped: () => boolean;
}

/** How a slice ended. `paused`: the limit of invitations per minute is reached. */
type SliceEnd = "done" | "paused" | "waits" | "sliced";

/** A user who changes in the same moment is looked at again. */
const ATTEMPTS = 5;
/** Results of users who are not invited share commits. */
const MAX_RESULTS = 50;
/** After so many users the lease can change. */
const SLICE_USERS = 500;

/** The progress of a slice, before its commit. */
interface Progress {
  campaign: StoredCampaign;
  next: CampaignRecord;
  results: Mutation[];
}

/** The campaign changed or was cancelled, so the slice ends. */
class CampaignChanged extends Error {}

export async function runCampaignSlice(
  deps: CampaignRunDeps,
  campaign: StoredCampaign,
  bucket: RateBucket,
): Promise<SliceEnd> {
  const progress: Progress = { campaign, next: campaign.record, results: [] };
  try {
    const end = await inviteUsers(deps, progress, bucket);
    await flush(deps, progress);
    return end;
  } catch (fault) {
    if (fault instanceof CampaignChanged) return "sliced";
    throw fault;
  }
}

async function inviteUsers(deps: CampaignRunDeps, progress: Progress, bucket: RateBucket): Promise<SliceEnd> {
  const { campaign: { id, record: { next: from } } } = progress;
  let seen = 0;
  for await (const [at, name] of deps.campaigns.names(id, from)) {
    if (deps.isStopped() || seen++ >= SLICE_USERS) return "sliced";
    if (!bucket.hasToken()) return "paused";
    const wait = await inviteUser(deps, progress, { at, name, bucket });
    if (wait !== null) {
      progress.next = { ...progress.next, wait };
      return "waits";
    }
    if (progress.results.length >= MAX_RESULTS) await flush(deps, progress);
  }
  progress.next = { ...progress.next, state: "done", wait: null, endedMs: deps.clock.nowMs() };
  return "done";
}

interface CampaignUser {
  readonly at: number;
  readonly name: string;
  readonly bucket: RateBucket;
}

/** Invites a user, or notes why not. Returns why the campaign has to wait before this user, or `null`. */
async function inviteUser(
  deps: CampaignRunDeps,
  progress: Progress,
  user: CampaignUser,
): Promise<CampaignWait | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const done = await tryInvite(deps, progress, user);
    if (done === "raced") continue;
    return done;
  }
  skip(deps, progress, { ...user, reason: "changed_meanwhile" });
  return null;
}

async function tryInvite(
  deps: CampaignRunDeps,
  progress: Progress,
  user: CampaignUser,
): Promise<CampaignWait | null | "raced"> {
  const { people, store, clock, campaigns } = deps;
  const { campaign, next } = progress;
  const { options } = next;
  const nowMs = clock.nowMs();
  const { stored, canonical } = await readCandidate(targetOf(people, next.target), user.name);
  const read = people.enrolment.read(canonical);
  const candidate = candidateOf(deps, stored, canonical);
  const reason = next.invited >= options.maximum ? "over_maximum" : whyNotInvited(candidate, options);
  if (stored === null || reason !== null) {
    skip(deps, progress, { ...user, reason: reason ?? "unknown_user" });
    return null;
  }
  const record = await people.findUserRecord(stored.content.name);
  const deadlineMs = options.deadlineDays === 0 ? null : nowMs + options.deadlineDays * DAY_MS;
  const mark = {
    ...{ recordId: record.id, campaign: campaign.id, invitedMs: nowMs, deadlineMs },
    ...{ reminders: 0, remindedMs: null },
  };
  const prepared = prepareInvitationMail(deps, {
    ...{ template: "invitation", canonical, stored, record, read, mark },
  });
  if (!prepared.ok && "wait" in prepared) return prepared.wait;
  if (!prepared.ok) {
    skip(deps, progress, { ...user, reason: prepared.reason });
    return null;
  }
  const { change } = prepared;
  const { by, address, name } = next;
  const invited: CampaignRecord = { ...next, next: user.at + 1, invited: next.invited + 1, wait: null };
  const results = [
    ...progress.results,
    campaigns.result({ id: campaign.id, record: next }, { name: stored.content.name, reason: null }),
    auditEntry({
      ...{ action: "invitation.make", actor: by, source: address, object: `user:${stored.content.name}` },
      ...{ how: "campaign", campaign: name },
    }),
  ];
  const versionstamp = await commitChange(
    store,
    change,
    progressOf(deps, { ...progress, next: invited, results }),
  );
  if (versionstamp === null) {
    await requireUnchanged(deps, campaign);
    return "raced";
  }
  user.bucket.take();
  Object.assign(progress, {
    campaign: { ...campaign, record: invited, versionstamp },
    next: invited,
    results: [],
  });
  deps.mail.queue.wake();
  return null;
}

function skip(
  { campaigns }: CampaignRunDeps,
  progress: Progress,
  { at, name, reason }: { at: number; name: string; reason: SkipReason },
): void {
  const { next } = progress;
  const { id } = progress.campaign;
  progress.results.push(campaigns.result({ id, record: next }, { name, reason }));
  const skipped = { ...next.skipped, [reason]: (next.skipped[reason] ?? 0) + 1 };
  progress.next = { ...next, next: at + 1, skipped, wait: null };
}

/** Commits what waits. @throws CampaignChanged */
async function flush(deps: CampaignRunDeps, progress: Progress): Promise<void> {
  const { campaign, next } = progress;
  if (next === campaign.record) return;
  const done = await deps.store.commit(progressOf(deps, progress));
  if (!done.ok) {
    await deps.lease.confirm();
    throw new CampaignChanged();
  }
  const { versionstamp } = done;
  Object.assign(progress, { campaign: { ...campaign, record: next, versionstamp }, results: [] });
}

/** The progress of a campaign as a transaction. It is refused if another node changed the campaign. */
function progressOf(
  { campaigns, lease }: CampaignRunDeps,
  { campaign, next, results }: Progress,
): Transaction {
  return {
    checks: [campaigns.check(campaign), ...(lease.check === null ? [] : [lease.check])],
    mutations: [campaigns.setting(campaign.id, next), ...results],
  };
}

/** After a race: the campaign must be the one that the slice knows. @throws CampaignChanged, LeaseUnavailable */
async function requireUnchanged({ campaigns, lease }: CampaignRunDeps, known: StoredCampaign): Promise<void> {
  await lease.confirm();
  const now = await campaigns.read(known.id);
  if (now?.versionstamp !== known.versionstamp) throw new CampaignChanged();
}

/** The key of the mails about one user's enrolment: a reminder replaces an invitation that still waits. */
const ENROLMENT_MAIL_KEY = "enrolment";

interface InvitationRequest {
  readonly template: "invitation" | "reminder";
  /** The name in the directory, canonical. */
  readonly canonical: string;
  readonly stored: Stored;
  readonly record: UserRecord;
  /** The mark as it was read when the caller decided to send the mail. */
  readonly read: MirroredRow<EnrolmentMark> | undefined;
  /** The mark that replaces it, without the new link. */
  readonly mark: Omit<EnrolmentMark, "invitation" | "linkUntilMs">;
}

type InvitationOutcome =
  | { readonly ok: true; readonly change: PreparedTableChange }
  | { readonly ok: false; readonly wait: CampaignWait }
  | { readonly ok: false; readonly reason: "no_address" | "mail_refused" };

/** Prepares an invitation. The caller commits it together with the progress of its campaign. */
function prepareInvitationMail(deps: EnrolmentDeps, request: InvitationRequest): InvitationOutcome {
  const { people, secondFactorAdmin, enrolment: { invitationMs } } = deps;
  const { canonical, stored, record, read, mark } = request;
  const admin = secondFactorAdmin();
  if (admin === null) return { ok: false, wait: "no_phone_service" };
  const to = stored.content.kind === "user" ? userMailAddress(stored.content) : null;
  if (to === null) return { ok: false, reason: "no_address" };
  const link = admin.prepareInvitation(stored.content.name, {
    recordId: record.id,
    lifetimeMs: invitationMs,
    replaces: read?.value.invitation ?? null,
  });
  if (link === null) return { ok: false, wait: "too_many_invitations" };
  const mail = queueMail(deps, request, { link: link.invitation, untilMs: link.deadlineMs, to });
  if (!mail.ok) return mail;
  const marked = prepareChanges([
    people.enrolment.prepare(canonical, {
      read,
      mark: { ...mark, invitation: link.id, linkUntilMs: link.deadlineMs },
    }),
  ]);
  return {
    ok: true,
    change: {
      checks: [record.check, ...marked.checks, ...link.checks],
      mutations: [...marked.mutations, ...link.mutations, ...mail.mutations],
      done(versionstamp) {
        marked.done(versionstamp);
        link.done(versionstamp);
      },
      async raced() {
        await marked.raced();
        await link.raced();
      },
    },
  };
}

/** Commits a prepared change with others. Returns the versionstamp, or `null` if something changed meanwhile. */
async function commitChange(
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

/** When the next reminder of a user is due, or `null`. @param days of the settings, ascending */
export function nextReminderMs(
  { invitedMs, remindedMs }: Pick<EnrolmentMark, "invitedMs" | "remindedMs">,
  days: readonly string[],
): number | null {
  const sinceMs = remindedMs ?? invitedMs;
  return days.map((day) => invitedMs + Number(day) * DAY_MS).find((dueMs) => dueMs > sinceMs) ?? null;
}

/** A user who cannot be reminded now, such as one without an address, is looked at again after this time. */
const RETRY_MS = HOUR_MS;

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
  const isDue = (mark: EnrolmentMark): boolean => (nextReminderMs(mark, reminderDays) ?? Infinity) <= nowMs;
  const due = [...people.enrolment.all()].filter(([user, mark]) => isDue(mark) && !hasEnrolled(people, user));
  for (const [user] of due) {
    // The marks change while reminders are sent.
    const read = people.enrolment.read(user);
    if (read === undefined || !isDue(read.value)) continue;
    if (!reminding.has(read.value.campaign) || passed.has(user)) continue;
    if (isStopped()) return false;
    if (sent >= SLICE_USERS || !bucket.hasToken()) return true;
    const outcome = await remind(deps, read);
    if (outcome === "waits") return true;
    if (outcome === "passed") passed.set(user, nowMs + RETRY_MS);
    if (outcome === "sent") {
      sent += 1;
      bucket.take();
    }
  }
  return false;
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
  read: MirroredRow<EnrolmentMark>,
): Promise<"sent" | "passed" | "raced" | "waits"> {
  const { people, store, clock, lease } = deps;
  const { id: user, value: mark } = read;
  const stored = await targetOf(people, undefined).directory.read("user", user);
  const candidate = candidateOf(deps, stored, user);
  if (stored === null || candidate.user?.isActive !== true || candidate.hasFactor) return "passed";
  const record = await people.findUserRecord(stored.content.name);
  const nowMs = clock.nowMs();
  const next = { ...mark, recordId: record.id, reminders: mark.reminders + 1, remindedMs: nowMs };
  const prepared = prepareInvitationMail(deps, {
    ...{ template: "reminder", canonical: user, stored, record, read, mark: next },
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

/** A limit of operations per minute: a token bucket that holds the tokens of one second. */
export class RateBucket {
  readonly #clock: Pick<Clock, "nowMs">;
  #perMinute: number;
  #tokens = 1;
  #filledMs: number;

  constructor({ clock, perMinute }: { clock: Pick<Clock, "nowMs">; perMinute: number }) {
    this.#clock = clock;
    this.#perMinute = perMinute;
    this.#filledMs = clock.nowMs();
  }

  /** Changes the limit from now on. */
  adjust(perMinute: number): void {
    this.#fill();
    this.#perMinute = perMinute;
  }

  hasToken(): boolean {
    this.#fill();
    return this.#tokens >= 1;
  }

  take(): void {
    this.#tokens -= 1;
  }

  /** How long it takes until there is a token. */
  waitMs(): number {
    this.#fill();
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * MINUTE_MS / this.#perMinute);
  }

  #fill(): void {
    const nowMs = this.#clock.nowMs();
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    const most = Math.max(1, this.#perMinute / 60);
    this.#tokens = Math.min(most, this.#tokens + passedMs * this.#perMinute / MINUTE_MS);
  }
}
