// What campaigns, reminders and the report of the enrolment need.

import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { EnrolmentSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { MailQueue } from "../../../platform/mail/mail.ts";
import type { MailLanguage } from "../../../platform/mail/mail_templates.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../deps.ts";

export interface EnrolmentDeps {
  readonly people: People;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly http: { readonly publicUrl: string };
  readonly enrolment: EnrolmentSettings;
  /** The queue of mails with its pace, and the language of users without one. */
  readonly mail: {
    readonly queue: MailQueue;
    readonly language: () => MailLanguage;
    readonly perMinute: () => number;
  };
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "openLease"> | undefined;
}
