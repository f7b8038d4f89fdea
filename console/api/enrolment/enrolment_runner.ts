// Runs campaigns and reminders on one node at a time, under a lease. What is done is in the store, so that another node, or this one after a
// restart, continues.

import { LeaseUnavailable, NO_LEASE, type WriteLease } from "../../../platform/cluster/lease.ts";
import { WorkLoop } from "../../../platform/work_loop.ts";
import { endUnneededLinks, RateBucket, runCampaignSlice, sendReminders } from "./enrolment_sender.ts";
import { CampaignStore, type EnrolmentDeps, type StoredCampaign } from "./campaigns.ts";

/** Without a notice, the runner looks for work this often. */
const IDLE_MS = 60_000;
/** A campaign that waits, such as for the mail queue, is tried again after this time. */
const RETRY_MS = 10_000;
/** After a new campaign or a start. */
const SOON_MS = 50;

type ClaimedLease = WriteLease & { claim(): Promise<boolean> };

export class EnrolmentRunner {
  readonly #deps: EnrolmentDeps;
  readonly #campaigns: CampaignStore;
  readonly #lease: ClaimedLease;
  readonly #buckets = new Map<string, RateBucket>();
  #reminderBucket: RateBucket;
  /** Users who could not be reminded, and when to look at them again. */
  readonly #passed = new Map<string, number>();
  readonly #loop: WorkLoop;

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
    this.#campaigns = new CampaignStore(deps);
    this.#lease = deps.cluster?.openLease("enrolment", { onAcquired: () => Promise.resolve() }) ??
      { ...NO_LEASE, claim: () => Promise.resolve(true) };
    this.#reminderBucket = new RateBucket({ clock: deps.clock, perMinute: deps.enrolment.perMinute });
    this.#loop = new WorkLoop({
      clock: deps.clock,
      intervalMs: IDLE_MS,
      wakeDelayMs: SOON_MS,
      retryMs: RETRY_MS,
      pass: () => this.#pass(),
      onFault(fault) {
        if (fault instanceof LeaseUnavailable) return;
        deps.log.error("invitations could not be sent; they are tried again", { fault: String(fault) });
      },
    });
    deps.store.follow(["enrolment_campaign"], () => this.wake());
  }

  /** Ends after the user in progress. */
  stop(): Promise<void> {
    return this.#loop.close();
  }

  /** Starts the runner. Call it again after a campaign was stored. */
  wake(): void {
    this.#loop.wake();
  }

  /** Resolves when the work in progress ends. For tests. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  async #pass(): Promise<void> {
    if (await this.#lease.claim()) await this.#lease.run(() => this.#work());
  }

  /** One slice of each running campaign, and the reminders that are due. */
  async #work(): Promise<void> {
    const { people } = this.#deps;
    const running = (await this.#campaigns.all())
      .filter(({ record }) => record.state === "running" && record.target === people.loginTarget());
    for (const campaign of running.toReversed()) {
      if (this.#loop.isClosed) return;
      this.#continueIn(await this.#runSlice(campaign));
    }
    for (const id of this.#buckets.keys()) {
      if (!running.some((one) => one.id === id)) this.#buckets.delete(id);
    }
    this.#reminderBucket.adjust(this.#deps.enrolment.perMinute);
    const work = { campaigns: this.#campaigns, lease: this.#lease, isStopped: () => this.#loop.isClosed };
    const hasMoreLinks = await endUnneededLinks({ ...this.#deps, ...work });
    const hasMore = await sendReminders({ ...this.#deps, ...work }, {
      bucket: this.#reminderBucket,
      passed: this.#passed,
    });
    if (hasMoreLinks) this.#continueIn(SOON_MS);
    if (hasMore) this.#continueIn(Math.max(SOON_MS, this.#reminderBucket.waitMs()));
  }

  #continueIn(delayMs: number): void {
    this.#loop.dueAt(this.#deps.clock.nowMs() + delayMs);
  }

  /** Returns when the campaign continues. */
  async #runSlice(campaign: StoredCampaign): Promise<number> {
    const { clock } = this.#deps;
    const { id, record: { options: { perMinute } } } = campaign;
    const bucket = this.#buckets.get(id) ?? new RateBucket({ clock, perMinute });
    this.#buckets.set(id, bucket);
    const work = { campaigns: this.#campaigns, lease: this.#lease, isStopped: () => this.#loop.isClosed };
    switch (await runCampaignSlice({ ...this.#deps, ...work }, campaign, bucket)) {
      case "done":
        return IDLE_MS;
      case "waits":
        return RETRY_MS;
      case "paused":
        return Math.max(1, bucket.waitMs());
      case "sliced":
        return 0;
    }
  }
}
