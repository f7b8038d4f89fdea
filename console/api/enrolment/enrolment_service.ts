// Enrolment of many users: the campaigns with their figures, and the runner that sends invitations and reminders, on one node at a time, under a
// lease. What is done is in the store, so that another node, or this one after a restart, continues.

import { isLoopback } from "../../../platform/addresses.ts";
import { LeaseUnavailable, NO_LEASE, type WriteLease } from "../../../platform/cluster/lease.ts";
import type { Config, EnrolmentSettings } from "../../../platform/config/config.ts";
import type { MailQueue } from "../../../platform/mail/mail.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { WorkLoop } from "../../../platform/work_loop.ts";
import type { Services } from "../../../upstream/services.ts";
import type { People } from "../deps.ts";
import {
  CampaignStore,
  type CampaignView,
  type EnrolmentDeps,
  hasEnrolled,
  type StoredCampaign,
} from "./campaigns.ts";
import { endUnneededLinks, RateBucket, runCampaignSlice, sendReminders } from "./enrolment_sender.ts";
import { EnrolmentTable } from "./enrolment_report.ts";

interface EnrolmentDefaults extends Pick<EnrolmentSettings, "perMinute" | "deadlineDays" | "reminderDays"> {
  readonly isMailConfigured: boolean;
  readonly canInvite: boolean;
}

/** Invited users of a campaign who have a factor now, and who got a reminder. */
type CampaignFigures = Pick<CampaignView, "enrolled" | "reminded">;

const NO_FIGURES: CampaignFigures = { enrolled: 0, reminded: 0 };

export class EnrolmentService {
  readonly campaigns: CampaignStore;
  readonly runner: EnrolmentRunner;
  readonly table: EnrolmentTable;
  readonly #deps: EnrolmentDeps;

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
    this.campaigns = new CampaignStore(deps);
    this.runner = new EnrolmentRunner(deps);
    this.table = new EnrolmentTable(deps);
  }

  get people(): People {
    return this.#deps.people;
  }

  get store(): Store {
    return this.#deps.store;
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  get random(): Random {
    return this.#deps.random;
  }

  get enrolment(): EnrolmentSettings {
    return this.#deps.enrolment;
  }

  get secondFactorAdmin(): EnrolmentDeps["secondFactorAdmin"] {
    return this.#deps.secondFactorAdmin;
  }

  /** The address of the links, if only this host can open them. */
  get localUrl(): string | null {
    const { publicUrl } = this.#deps.http;
    return isLoopback(URL.parse(publicUrl)?.hostname ?? "") ? publicUrl : null;
  }

  get mailsPerMinute(): number {
    return this.#deps.mail.perMinute();
  }

  get isMailConfigured(): boolean {
    return this.#deps.mail.queue.isConfigured;
  }

  /** Whether phones pair with the embedded service. */
  get canInvite(): boolean {
    return this.#deps.secondFactorAdmin() !== null;
  }

  /** The defaults of a new campaign, and whether one can start. */
  options(): EnrolmentDefaults {
    const { perMinute, deadlineDays, reminderDays } = this.enrolment;
    const { isMailConfigured, canInvite } = this;
    return { perMinute, deadlineDays, reminderDays, isMailConfigured, canInvite };
  }

  /** Ends the work in progress. */
  async close(): Promise<void> {
    this.table.close();
    await this.runner.stop();
  }

  /** All campaigns, newest first. */
  async views(): Promise<CampaignView[]> {
    const all = await this.campaigns.all();
    const figures = this.#figures();
    return all.map((campaign) => campaignView(campaign, figures.get(campaign.id) ?? NO_FIGURES));
  }

  view(campaign: StoredCampaign): CampaignView {
    return campaignView(campaign, this.#figures().get(campaign.id) ?? NO_FIGURES);
  }

  #figures(): ReadonlyMap<string, CampaignFigures> {
    const { people } = this;
    const found = new Map<string, { enrolled: number; reminded: number }>();
    for (const [user, { campaign, reminders }] of people.enrolment.all()) {
      const figures = found.get(campaign) ?? { enrolled: 0, reminded: 0 };
      if (hasEnrolled(people, user)) figures.enrolled += 1;
      if (reminders > 0) figures.reminded += 1;
      found.set(campaign, figures);
    }
    return found;
  }
}

type SharedDeps = Omit<EnrolmentDeps, "http" | "enrolment" | "mail" | "secondFactorAdmin">;

/** Opens the enrolment and starts its runner. */
export function startEnrolment(
  { config, mail, services, ...deps }: SharedDeps & {
    readonly config: Pick<Config, "http" | "enrolment" | "mail">;
    readonly mail: MailQueue;
    readonly services: Pick<Services, "embedded">;
  },
): EnrolmentService {
  const service = new EnrolmentService({
    ...deps,
    http: config.http,
    enrolment: config.enrolment,
    mail: { queue: mail, language: () => config.mail.language, perMinute: () => config.mail.perMinute },
    secondFactorAdmin: () => services.embedded?.admin ?? null,
  });
  service.runner.wake();
  return service;
}

function campaignView({ id, record }: StoredCampaign, figures: CampaignFigures): CampaignView {
  const { name, source, by, state, wait, createdMs, endedMs, options, total, next, invited, skipped } =
    record;
  return {
    ...{ id, name, source, by, state, wait, createdMs, endedMs, options, total },
    ...{ done: next, invited, skipped },
    ...figures,
  };
}

/** Without a notice, the runner looks for work this often. */
const IDLE_MS = 60_000;
/** A campaign that waits, such as for the mail queue, is tried again after this time. */
const RETRY_MS = 10_000;
/** After a new campaign or a start. */
const SOON_MS = 50;

type ClaimedLease = WriteLease & { claim(): Promise<boolean> };

class EnrolmentRunner {
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
