// A queue of mails that stores each mail as plain JSON in the commit of its reason, so that a test can read what was committed.

import { type MailQueue, MailRefusal, type NewMail } from "../../platform/mail/mail.ts";
import type { Store } from "../../platform/store.ts";

export interface FakeMailQueue extends MailQueue {
  isConfigured: boolean;
  isFull: boolean;
  /** Every committed mail, in the order in which they were prepared. */
  mails(): Promise<NewMail[]>;
  /** Every committed removal: what the mail was about, and its key. */
  removals(): Promise<string[]>;
}

const PREFIX: Deno.KvKey = ["fake_mail"];
const REMOVALS: Deno.KvKey = ["fake_mail_removal"];

export function createFakeMailQueue(store: Store): FakeMailQueue {
  let count = 0;
  return {
    isConfigured: true,
    isFull: false,
    prepare(mail) {
      if (!this.isConfigured) throw new MailRefusal("mail_off", "no server");
      if (this.isFull) throw new MailRefusal("mail_queue_full", "too many mails");
      if (mail.to.endsWith(".invalid")) throw new MailRefusal("bad_mail_address", "the address");
      const id = String(count++).padStart(8, "0") + crypto.randomUUID();
      return { id, mutations: [{ type: "set", key: [...PREFIX, id], value: mail }] };
    },
    prepareRemoval: ({ about, key }) => [{ type: "set", key: [...REMOVALS, about, key], value: true }],
    wake: () => undefined,
    status: () => ({
      ...{ isConfigured: true, waiting: 0, failed: 0, oldestMs: null, lastSentMs: null },
      ...{ lastProblem: null, pausedUntilMs: null },
    }),
    async removals() {
      const entries = await Array.fromAsync(store.list(REMOVALS));
      return entries.map(({ key }) => key.slice(REMOVALS.length).join(" "));
    },
    async mails() {
      const entries = await Array.fromAsync(store.list<NewMail>(PREFIX));
      return entries.flatMap(({ value }) => value ?? []);
    },
  };
}
