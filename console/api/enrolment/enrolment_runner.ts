// Runs campaigns and reminders on one node at a time, under a lease. What is done is in the store, so that another node, or this one after a
// restart, continues.

import { LeaseUnavailable, NO_LEASE, type WriteLease } from "../../../platform/cluster/lease.ts";
import { runCampaignSlice } from "./campaign_run.ts";
import { CampaignStore, type StoredCampaign } from "./campaign_store.ts";
import type { EnrolmentDeps } from "./enrolment_deps.ts";
import { RateBucket } from "./rate_bucket.ts";
import { endUnneededLinks, sendReminders } from "./reminders.ts";

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
  #running: Promise<void> | null = null;
  #isWoken = false;
  #isStopped = false;
  #stopTimer = () => {};

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
    this.#campaigns = new CampaignStore(deps);
    this.#lease = deps.cluster?.openLease("enrolment", { onAcquired: () => Promise.resolve() }) ??
      { ...NO_LEASE, claim: () => Promise.resolve(true) };
    this.#reminderBucket = new RateBucket({ clock: deps.clock, perMinute: deps.enrolment.perMinute });
    deps.store.follow(["enrolment_campaign"], () => this.wake());
  }

  start(): void {
    this.#schedule(SOON_MS);
  }

  /** Ends after the user in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer();
    await this.#running;
  }

  /** Call it after a campaign was stored. */
  wake(): void {
    this.#isWoken = true;
    if (this.#running === null) this.#schedule(SOON_MS);
  }

  /** Resolves when the work in progress ends. For tests. */
  async idle(): Promise<void> {
    await this.#running;
  }

  #schedule(delayMs: number): void {
    this.#stopTimer();
    if (this.#isStopped) return;
    this.#stopTimer = this.#deps.clock.after(delayMs, () => this.#begin());
  }

  #begin(): void {
    if (this.#running !== null) return;
    this.#isWoken = false;
    this.#running = this.#workLogged().then((delayMs) => {
      this.#running = null;
      this.#schedule(this.#isWoken ? SOON_MS : delayMs);
    });
  }

  /** Returns when to look for work again. */
  async #workLogged(): Promise<number> {
    try {
      if (!await this.#lease.claim()) return IDLE_MS;
      return await this.#lease.run(() => this.#work());
    } catch (fault) {
      if (fault instanceof LeaseUnavailable) return IDLE_MS;
      this.#deps.log.error("invitations could not be sent; they are tried again", { fault: String(fault) });
      return RETRY_MS;
    }
  }

  /** One slice of each running campaign, and the reminders that are due. */
  async #work(): Promise<number> {
    const { people } = this.#deps;
    const running = (await this.#campaigns.all())
      .filter(({ record }) => record.state === "running" && record.target === people.loginTarget());
    let delayMs = IDLE_MS;
    for (const campaign of running.toReversed()) {
      if (this.#isStopped) return SOON_MS;
      delayMs = Math.min(delayMs, await this.#runSlice(campaign));
    }
    for (const id of this.#buckets.keys()) {
      if (!running.some((one) => one.id === id)) this.#buckets.delete(id);
    }
    this.#reminderBucket.adjust(this.#deps.enrolment.perMinute);
    const work = { campaigns: this.#campaigns, lease: this.#lease, isStopped: () => this.#isStopped };
    const hasMoreLinks = await endUnneededLinks({ ...this.#deps, ...work });
    const hasMore = await sendReminders({ ...this.#deps, ...work }, {
      bucket: this.#reminderBucket,
      passed: this.#passed,
    });
    if (hasMoreLinks) return SOON_MS;
    return Math.min(delayMs, hasMore ? Math.max(SOON_MS, this.#reminderBucket.waitMs()) : IDLE_MS);
  }

  async #runSlice(campaign: StoredCampaign): Promise<number> {
    const { clock } = this.#deps;
    const { id, record: { options: { perMinute } } } = campaign;
    const bucket = this.#buckets.get(id) ?? new RateBucket({ clock, perMinute });
    this.#buckets.set(id, bucket);
    const work = { campaigns: this.#campaigns, lease: this.#lease, isStopped: () => this.#isStopped };
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
