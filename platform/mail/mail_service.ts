// The mail queue of a process: queues mails, sends them, shows them to administrators, and tests settings. Opened by compose.ts.

import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../log.ts";
import type { Clock, Random } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import { joinId, Table, type TableChange, type TableKind } from "../table.ts";
import type { FindUserRecord } from "../user_record.ts";
import type { Vault } from "../vault.ts";
import {
  checkedAddress,
  checkedValues,
  type MailQueue,
  MailRefusal,
  type MailStatus,
  type NewMail,
  type PreparedMail,
} from "./mail.ts";
import { mailDomain } from "./mail_address.ts";
import { MailAdmin } from "./mail_admin.ts";
import {
  contentMutation,
  FAILED_PREFIX,
  headKey,
  headMutation,
  type MailContent,
  type MailHead,
  MailIndex,
  type MailName,
  mailNameOf,
  mailNameText,
  MAX_WAITING_MS,
  newMailName,
  readHead,
  removalMutations,
  WAITING_PREFIX,
} from "./mail_records.ts";
import { MailPace, MailSender, MailStatusRecord } from "./mail_sender.ts";
import {
  type FilledMail,
  fillMail,
  type MailLanguage,
  type MailTemplateName,
  mailTemplateRow,
  type MailText,
  mailTime,
} from "./mail_templates.ts";
import {
  createSmtpTransport,
  type MailTransport,
  type SmtpOutcome,
  type SmtpTransportOptions,
} from "./smtp_transport.ts";

export interface MailServiceDeps {
  readonly settings: {
    readonly config: Pick<Config, "mail" | "factors">;
    onChange(listener: () => void): void;
  };
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly cluster: Pick<Cluster, "openLease">;
  readonly findUserRecord: FindUserRecord;
  /** Replaced in tests. */
  readonly openTransport?: (options: SmtpTransportOptions) => MailTransport;
}

/** Of waiting and failed mails together. */
const MAX_MAILS = 50_000;
const USER_PREFIX = "user:";
/** Everything is read again after this time, because entries that expire are not announced. */
const RESCAN_MS = 10 * 60_000;
/** A mail that was prepared and not committed is forgotten after this time. */
const PREPARED_MS = 60_000;
const PREPARED_RETRY_MS = 2000;

/** Loads the queue and starts to send. */
export async function openMailService(deps: MailServiceDeps): Promise<MailService> {
  const service = new MailService(deps);
  await service.load();
  return service;
}

export class MailService implements MailQueue {
  readonly templates: MailTemplateStore;
  readonly index = new MailIndex();
  readonly admin: MailAdmin;
  readonly #deps: MailServiceDeps;
  readonly #pace: MailPace;
  readonly #sender: MailSender;
  readonly #status: MailStatusRecord;
  /** Prepared on this node; not known to be committed. By name, with the time. */
  readonly #prepared = new Map<string, { readonly name: MailName; readonly atMs: number }>();
  #transport: MailTransport | null = null;
  #settingsText = "";
  #scannedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: MailServiceDeps) {
    this.#deps = deps;
    const { store, cluster, settings: { config } } = deps;
    this.templates = new MailTemplateStore(store);
    this.#pace = new MailPace({ ...deps, perMinute: () => config.mail.perMinute });
    this.#status = new MailStatusRecord(deps);
    const rescan = (): void => void (this.#scannedMs = Number.NEGATIVE_INFINITY);
    this.#sender = new MailSender({
      ...deps,
      lease: cluster.openLease("mail", {
        onAcquired: () => Promise.resolve(rescan()),
        onAbandoned: () => this.wake(),
      }),
      index: this.index,
      pace: this.#pace,
      status: this.#status,
      transport: () => this.#transport,
      fill: (head, content) => this.fill(head, content.values),
      isWanted: (about) => this.#isWanted(about),
      readQueued: () => this.#readQueued(),
    });
    this.admin = new MailAdmin({
      ...deps,
      index: this.index,
      resume: () => this.resume(),
    });
    this.#follow();
  }

  /** Reads the queue and the templates, and starts to send. */
  async load(): Promise<void> {
    await this.templates.load();
    await this.#status.load();
    await this.#scan();
    this.#deps.settings.onChange(() => this.#applySettings());
    this.#applySettings();
    this.#sender.start();
  }

  get config(): Pick<Config, "mail"> {
    return this.#deps.settings.config;
  }

  get isConfigured(): boolean {
    const { host, from } = this.#deps.settings.config.mail;
    return host !== "" && from !== null;
  }

  prepare(mail: NewMail): PreparedMail {
    const { vault, clock, random } = this.#deps;
    const { from } = this.#deps.settings.config.mail;
    if (!this.isConfigured || from === null) {
      throw new MailRefusal("mail_off", "no mail server is configured");
    }
    if (this.index.waiting + this.index.failed + this.#prepared.size >= MAX_MAILS) {
      throw new MailRefusal("mail_queue_full", `${MAX_MAILS} mails wait or failed`);
    }
    const content: MailContent = {
      to: checkedAddress(mail),
      values: checkedValues(mail),
      messageId: `${random.bytes(16).toHex()}@${mailDomain(from.address)}`,
    };
    const name = newMailName(mail, { vault, random });
    const nowMs = clock.nowMs();
    const expiresMs = mail.expiresMs ?? null;
    const head: MailHead = {
      ...{ template: mail.template, language: mail.language, about: mail.about },
      ...{ queuedMs: nowMs, untilMs: Math.min(nowMs + MAX_WAITING_MS, expiresMs ?? Infinity), expiresMs },
      ...{ attempts: 0, nextMs: nowMs, problem: null },
    };
    this.#prepared.set(mailNameText(name), { name, atMs: nowMs });
    const replaced = { type: "delete", key: headKey("failed", name) } as const;
    const mutations = [headMutation(name, head), contentMutation(vault, name, content)];
    return { id: name.id, mutations: mail.key === undefined ? mutations : [...mutations, replaced] };
  }

  prepareRemoval(mail: { readonly about: string; readonly key: string }): readonly Mutation[] {
    return removalMutations(newMailName(mail, this.#deps));
  }

  wake(): void {
    this.#sender.wake();
  }

  status(): MailStatus {
    const { waiting, failed, oldestMs } = this.index;
    const { lastSentMs, lastProblem, pausedUntilMs } = this.#status;
    return {
      isConfigured: this.isConfigured,
      waiting,
      failed,
      oldestMs,
      lastSentMs,
      lastProblem,
      pausedUntilMs,
    };
  }

  /** Applies changed settings of the server. Mails that are being sent end at the server that they were sent to. */
  #applySettings(): void {
    const { settings: { config: { mail } }, clock, openTransport = createSmtpTransport } = this.#deps;
    const wanted = JSON.stringify(Object.entries(mail));
    if (wanted === this.#settingsText) return;
    const isChange = this.#settingsText !== "";
    this.#settingsText = wanted;
    this.#transport?.close();
    const { from } = mail;
    this.#transport = mail.host === "" || from === null
      ? null
      : openTransport({ settings: { ...mail, from }, clock });
    // A start does not end the problem that another node has.
    if (isChange) this.resume();
  }

  /** Fills the template of a mail as it is now. */
  fill(
    { template, language }: Pick<MailHead, "template" | "language">,
    values: NewMail["values"],
  ): FilledMail {
    return this.preview(this.templates.textOf(template, language), values);
  }

  /** Fills a text that is not saved. */
  preview(text: MailText, values: NewMail["values"]): FilledMail {
    return fillMail(text, { ...values, organization: this.#deps.settings.config.factors.requesterName });
  }

  /** Tests settings, also before they are saved. See {@link tryMail}. */
  async try(config: Pick<Config, "mail">, message: TestMail | null): Promise<SmtpOutcome> {
    return await tryMail({ ...this.#deps, fill: (head, values) => this.fill(head, values) }, config, message);
  }

  /** A user was changed (canonical name). The mails of a deleted user are removed, with their addresses. */
  userChanged(user: string): void {
    const about = `user:${user}`;
    if (!this.index.hasAbout(about)) return;
    const removing = this.#isWanted(about).then((isWanted) =>
      isWanted ? undefined : this.admin.removeAbout(about)
    );
    removing.catch((fault: unknown) =>
      this.#deps.log.error("the mails of a removed user could not be removed", { fault: String(fault) })
    );
  }

  /** An administrator changed the queue: ends a pause. */
  resume(): void {
    this.#status.clear();
    this.#pace.reset();
    this.wake();
  }

  async close(): Promise<void> {
    await this.#sender.close();
    this.#transport?.close();
  }

  /** A mail about a user is not sent after the user was deleted or deactivated. */
  async #isWanted(about: string): Promise<boolean> {
    if (!about.startsWith(USER_PREFIX)) return true;
    const { status } = await this.#deps.findUserRecord(about.slice(USER_PREFIX.length));
    return status === "active" || status === "unknown";
  }

  /** Reads what was queued since the last call. Returns when to call it again. */
  async #readQueued(): Promise<number> {
    const { clock, store } = this.#deps;
    const nowMs = clock.nowMs();
    if (nowMs - this.#scannedMs >= RESCAN_MS) await this.#scan();
    await Promise.all([...this.#prepared].map(async ([text, { name, atMs }]) => {
      const head = readHead((await store.get<unknown>(headKey("waiting", name))).value);
      if (head !== null) this.index.add(name, head);
      if (head !== null || nowMs - atMs >= PREPARED_MS) this.#prepared.delete(text);
    }));
    return this.#prepared.size > 0 ? clock.nowMs() + PREPARED_RETRY_MS : Number.POSITIVE_INFINITY;
  }

  async #scan(): Promise<void> {
    const { store, clock } = this.#deps;
    const { additions } = this.index;
    const waiting: { name: MailName; head: MailHead }[] = [];
    for await (const { key, value } of store.list<unknown>(WAITING_PREFIX)) {
      const head = readHead(value);
      if (head !== null) waiting.push({ name: mailNameOf(key), head });
    }
    const failed: MailName[] = [];
    for await (const { key } of store.list<unknown>(FAILED_PREFIX)) failed.push(mailNameOf(key));
    this.index.replace(waiting, failed, additions);
    this.#scannedMs = clock.nowMs();
  }

  /** Changes of other nodes. */
  #follow(): void {
    const { store } = this.#deps;
    store.follow(WAITING_PREFIX, ({ key, value }) => {
      const head = readHead(value);
      if (head === null) this.index.remove(mailNameOf(key));
      else this.index.add(mailNameOf(key), head);
      this.wake();
    });
    store.follow(FAILED_PREFIX, ({ key, value }) => {
      if (readHead(value) === null) this.index.removeFailed(mailNameOf(key));
      else this.index.addFailed(mailNameOf(key));
    });
  }
}

interface MailTrialDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly openTransport?: ((options: SmtpTransportOptions) => MailTransport) | undefined;
  readonly fill: (
    template: { readonly template: "test"; readonly language: MailLanguage },
    values: Readonly<Record<string, string>>,
  ) => FilledMail;
}

interface TestMail {
  readonly to: string;
  readonly administrator: string;
  readonly language: MailLanguage;
}

/** An administrator waits for the result. */
const MAX_TRIAL_MS = 20_000;

/**
 * Tests settings. Without `message`, only the connection and the sign-in.
 *
 * @throws MailRefusal if no server is configured, or the address is not valid
 */
async function tryMail(
  { clock, random, fill, openTransport = createSmtpTransport }: MailTrialDeps,
  { mail }: Pick<Config, "mail">,
  message: TestMail | null,
): Promise<SmtpOutcome> {
  const { host, from, timeoutMs } = mail;
  if (host === "" || from === null) throw new MailRefusal("mail_off", "no mail server is configured");
  const to = message === null ? null : checkedAddress(message);
  const settings = { ...mail, from, timeoutMs: Math.min(timeoutMs, MAX_TRIAL_MS) };
  const transport = openTransport({ settings, clock });
  try {
    if (message === null || to === null) return await transport.verify();
    const { language, administrator } = message;
    const values = { administrator, time: mailTime(clock.nowMs(), language) };
    const messageId = `${random.bytes(16).toHex()}@${mailDomain(from.address)}`;
    return await transport.send({
      ...fill({ template: "test", language }, values),
      to,
      messageId,
      secrets: [],
    });
  } finally {
    transport.close();
  }
}

/** A text that administrators changed. */
interface StoredTemplate extends MailText {
  readonly atMs: number;
  readonly by: string;
}

/** The id is the name and the language. A stored value that is no text has the text of the table instead. */
const CHANGED_TEMPLATES: TableKind<StoredTemplate> = {
  prefix: ["mail_template"],
  read(value) {
    const { subject, body } = value as Partial<StoredTemplate>;
    if (typeof subject !== "string" || typeof body !== "string") throw new TypeError("it has no text");
    return value as StoredTemplate;
  },
  whenUnreadable: "forget",
};

/** The templates that administrators changed. One that is not changed has the text of the table. */
class MailTemplateStore {
  readonly #table: Table<StoredTemplate>;

  constructor(store: Store) {
    this.#table = new Table({ store }, CHANGED_TEMPLATES);
  }

  load(): Promise<void> {
    return this.#table.load();
  }

  /** The changed text, or `null` if the default is used. */
  changed(name: MailTemplateName, language: MailLanguage): StoredTemplate | null {
    return this.#table.get(joinId(name, language))?.value ?? null;
  }

  textOf(name: MailTemplateName, language: MailLanguage): MailText {
    return this.changed(name, language) ?? mailTemplateRow(name).texts[language];
  }

  /** A change of a text; of two at the same time the last one counts. `null` restores the default. */
  change(name: MailTemplateName, language: MailLanguage, text: StoredTemplate | null): TableChange {
    const id = joinId(name, language);
    return text === null ? this.#table.erase(id) : this.#table.put(id, text);
  }
}
