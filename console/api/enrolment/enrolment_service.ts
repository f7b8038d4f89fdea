// Enrolment of many users: the campaigns with their figures, and the runner that sends invitations and reminders.

import { isLoopback } from "../../../platform/addresses.ts";
import type { Config, EnrolmentSettings } from "../../../platform/config/config.ts";
import type { MailQueue } from "../../../platform/mail/mail.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Services } from "../../../upstream/services.ts";
import type { People } from "../deps.ts";
import {
  CampaignStore,
  type CampaignView,
  type EnrolmentDeps,
  hasEnrolled,
  type StoredCampaign,
} from "./campaigns.ts";
import { EnrolmentRunner } from "./enrolment_runner.ts";
import { EnrolmentTable } from "./enrolment_report.ts";

export interface EnrolmentDefaults
  extends Pick<EnrolmentSettings, "perMinute" | "deadlineDays" | "reminderDays"> {
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
