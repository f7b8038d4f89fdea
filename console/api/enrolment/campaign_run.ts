// One slice of a campaign: some users, each invited in one commit with the mark, the mail and the progress of the campaign. After a crash the
// campaign continues at the user after the last commit.

import { auditEntry } from "../../../platform/audit.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { Mutation, Transaction } from "../../../platform/store.ts";
import type { WriteLease } from "../../../platform/cluster/lease.ts";
import { targetOf } from "../deps.ts";
import {
  type CampaignRecord,
  type CampaignStore,
  type CampaignWait,
  candidateOf,
  type EnrolmentDeps,
  readCandidate,
  type SkipReason,
  type StoredCampaign,
  whyNotInvited,
} from "./campaigns.ts";
import { commitChange, prepareInvitationMail, type RateBucket } from "./enrolment_sender.ts";

export interface CampaignRunDeps extends EnrolmentDeps {
  readonly campaigns: CampaignStore;
  readonly lease: Pick<WriteLease, "check" | "confirm">;
  readonly isStopped: () => boolean;
}

/** How a slice ended. `paused`: the limit of invitations per minute is reached. */
export type SliceEnd = "done" | "paused" | "waits" | "sliced";

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
  const prepared = prepareInvitationMail(deps, { template: "invitation", canonical, stored, record, mark });
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
