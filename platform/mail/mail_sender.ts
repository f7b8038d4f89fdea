// Sends the mails that wait: on one node at a time (a lease), a few at the same time, and at least once. A mail is removed in the commit that
// follows the answer of the server. If this commit is lost, for example because the process was killed, the mail is sent again with the same Message-ID.

import { auditEntry } from "../audit.ts";
import { type Backoff, backoffMs } from "../backoff.ts";
import { LeaseUnavailable, type NodeLease, type WriteLease } from "../cluster/lease.ts";
import type { CommitOutcome } from "../commit_queue.ts";
import { MINUTE_MS } from "../durations.ts";
import type { Log } from "../log.ts";
import { type Clock, pauseFor, type Random, withTimeout } from "../runtime.ts";
import type { Mutation, Store, StoreEntry } from "../store.ts";
import type { Vault } from "../vault.ts";
import { WorkLoop } from "../work_loop.ts";
import {
  contentKey,
  failedMutation,
  headKey,
  headMutation,
  MAIL_PROBLEMS,
  type MailContent,
  type MailHead,
  type MailIndex,
  type MailName,
  mailNameText,
  type MailProblem,
  type MailProblemCode,
  openContent,
  readHead,
  type WaitingMail,
} from "./mail_records.ts";
import type { FilledMail } from "./mail_templates.ts";
import { type MailTransport, MAX_MAIL_CONNECTIONS, type SmtpOutcome } from "./smtp_transport.ts";

type MailLease = WriteLease & Pick<NodeLease, "claim">;

interface MailSenderDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: MailLease;
  readonly index: MailIndex;
  readonly pace: MailPace;
  readonly status: MailStatusRecord;
  /** `null`: no server is configured. */
  readonly transport: () => MailTransport | null;
  readonly fill: (head: MailHead, content: MailContent) => FilledMail;
  /** Whether a mail about this object may still be sent. */
  readonly isWanted: (about: string) => Promise<boolean>;
  /** Reads what this node queued. Returns when to call it again; infinite if nothing is missing. */
  readonly readQueued: () => Promise<number>;
}

const POLL_INTERVAL_MS = 30_000;
const STORE_RETRY_MS = 5000;
const LEASE_RETRY_MS = 5000;
const CLOSE_TIMEOUT_MS = 5000;
/** After so many refusals in a row, the cause is probably not the recipients. */
const MAX_REFUSALS = 10;

/** A shorter part of a link is a word. */
const MIN_SECRET_CHARACTERS = 16;

/** What one attempt means for the records of a mail. */
type Ending = "sent" | "later" | "failed" | "dropped";

export class MailSender {
  readonly #deps: MailSenderDeps;
  readonly #loop: WorkLoop;
  #refusals = 0;

  constructor(deps: MailSenderDeps) {
    this.#deps = deps;
    this.#loop = new WorkLoop({
      clock: deps.clock,
      intervalMs: POLL_INTERVAL_MS,
      pass: () => this.#startDue(),
      onFault: (fault) => this.#logFault("the mails cannot be read", fault),
    });
  }

  /** Starts to send. Call it once, after the index was loaded. */
  start(): void {
    this.#loop.wake();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Waits for the mails in progress, up to a limit. The others stay in the store. */
  async close(): Promise<void> {
    await withTimeout(this.#loop.close(), { clock: this.#deps.clock, timeoutMs: CLOSE_TIMEOUT_MS });
  }

  async #startDue(): Promise<void> {
    const { clock, index, pace, lease, transport, readQueued } = this.#deps;
    const loop = this.#loop;
    loop.dueAt(await readQueued());
    if (transport() === null || index.waiting === 0) return;
    if (!lease.isHeld && !await lease.claim()) return loop.dueAt(clock.nowMs() + LEASE_RETRY_MS);
    while (!loop.isClosed && loop.active.size < (pace.isFailing ? 1 : MAX_MAIL_CONNECTIONS)) {
      if (pace.nextMs > clock.nowMs()) return loop.dueAt(pace.nextMs);
      const mail = index.next(clock.nowMs(), (name) => loop.active.has(mailNameText(name)));
      if (mail === null) return loop.dueAt(index.nextDueMs);
      if (!this.#start(mail)) return loop.dueAt(clock.nowMs() + LEASE_RETRY_MS);
    }
  }

  /** Returns `false` if this node does not hold the lease, or must hand it over. */
  #start(mail: WaitingMail): boolean {
    const { lease, pace, index, clock } = this.#deps;
    const attempt = lease.runIfHeld(() => this.#attempt(mail));
    if (attempt === null) return false;
    pace.take();
    const task = attempt.catch((fault) => {
      if (!(fault instanceof LeaseUnavailable)) this.#logFault("a mail was not recorded", fault);
      index.postpone(mail.name);
      this.#loop.dueAt(clock.nowMs() + STORE_RETRY_MS);
    });
    this.#loop.track(mailNameText(mail.name), task);
    return true;
  }

  async #attempt({ name }: WaitingMail): Promise<void> {
    const { store, vault, clock, index, transport, fill, isWanted } = this.#deps;
    const [stored, sealed] = await Promise.all([
      store.get<unknown>(headKey("waiting", name)),
      store.get<unknown>(contentKey(name)),
    ]);
    const head = readHead(stored.value);
    if (head === null) return index.remove(name);
    // It was sent again or replaced; the next pass finds out whether it is due.
    if (head.nextMs > clock.nowMs()) return index.add(name, head);
    const mail = { name, head, stored };
    if (clock.nowMs() >= head.untilMs) {
      return await this.#fail(
        mail,
        head.untilMs === head.expiresMs ? "expired" : "gave_up",
        head.problem?.detail,
      );
    }
    if (!await isWanted(name.about)) return await this.#record(mail, "dropped", null);
    const content = openContent(vault, name, sealed.value);
    if (content === null) return await this.#fail(mail, "unreadable");
    const service = transport();
    if (service === null) return;
    await this.#finish(
      mail,
      await service.send({ ...fill(head, content), ...content, secrets: linkSecrets(content) }),
    );
  }

  async #finish(mail: StoredMail, outcome: SmtpOutcome): Promise<void> {
    const { pace, index, clock, status } = this.#deps;
    if (outcome.ok) {
      pace.succeeded();
      this.#refusals = 0;
      status.sent();
      return await this.#record(mail, "sent", null);
    }
    const { code, detail } = outcome;
    const { scope } = MAIL_PROBLEMS[code];
    if (scope === "server") {
      this.#serverFailed(code, detail);
      return index.postpone(mail.name);
    }
    if (scope === "final") {
      this.#refusals++;
      if (this.#refusals >= MAX_REFUSALS) this.#serverFailed("refuses_all", detail);
      else pace.succeeded();
      return await this.#fail(mail, code, detail);
    }
    pace.succeeded();
    await this.#record(mail, "later", { code, detail, atMs: clock.nowMs() });
  }

  #serverFailed(code: MailProblemCode, detail: string): void {
    const { pace, log, clock, status } = this.#deps;
    const isKnown = status.lastProblem?.code === code;
    pace.failed(code);
    status.failed({ code, detail, atMs: clock.nowMs() }, pace.pausedUntilMs);
    if (!isKnown) log.warn("mails cannot be sent", { problem: code, detail });
  }

  #fail(mail: StoredMail, code: MailProblemCode, detail = ""): Promise<void> {
    return this.#record(mail, "failed", { code, detail, atMs: this.#deps.clock.nowMs() });
  }

  /** Writes what became of a mail. While the store fails, it is tried again: the mail must not be sent twice. */
  async #record(mail: StoredMail, ending: Ending, problem: MailProblem | null): Promise<void> {
    const { store, lease, clock, index } = this.#deps;
    const { mutations, done } = this.#changes(mail, ending, problem);
    const checks = [{ key: mail.stored.key, versionstamp: mail.stored.versionstamp }];
    const commit = (): Promise<CommitOutcome> =>
      store.commit({ checks: [...checks, ...lease.check === null ? [] : [lease.check]], mutations });
    const outcome = await commit().catch(async (fault) => {
      this.#logFault("a mail was not recorded; the write is repeated", fault);
      while (!this.#loop.isClosed) {
        await pauseFor(clock, STORE_RETRY_MS);
        const repeated = await commit().catch(() => null);
        if (repeated !== null) return repeated;
      }
      throw fault;
    });
    if (outcome.ok) return done();
    // It was replaced, removed or renamed meanwhile, or another node has the lease.
    const { value } = await store.get<unknown>(mail.stored.key);
    const head = readHead(value);
    if (head === null) index.remove(mail.name);
    else index.add(mail.name, head);
    await lease.confirm();
  }

  #changes(
    { name, head }: StoredMail,
    ending: Ending,
    problem: MailProblem | null,
  ): { mutations: Mutation[]; done: () => void } {
    const { clock, index, log } = this.#deps;
    const { template, about } = head;
    const attempts = head.attempts + 1;
    if (ending === "later") {
      const next = { ...head, attempts, problem, nextMs: clock.nowMs() + retryAfterMs(attempts) };
      return { mutations: [headMutation(name, next)], done: () => index.add(name, next) };
    }
    const removed: Mutation = { type: "delete", key: headKey("waiting", name) };
    const event = { actor: "mail", object: about, template };
    if (ending === "failed") {
      const failed = { ...head, attempts, problem };
      const audit = auditEntry({ action: "mail.failed", ...event, problem: problem?.code ?? "" });
      log.warn("a mail failed", {
        about,
        template,
        problem: problem?.code ?? "",
        detail: problem?.detail ?? "",
      });
      return { mutations: [removed, failedMutation(name, failed), audit], done: () => index.addFailed(name) };
    }
    const content: Mutation = { type: "delete", key: contentKey(name) };
    const audit = ending === "sent" ? [auditEntry({ action: "mail.sent", ...event })] : [];
    return { mutations: [removed, content, ...audit], done: () => index.remove(name) };
  }

  #logFault(message: string, fault: unknown): void {
    this.#deps.log.error(message, { fault: fault instanceof Error ? fault.message : "unknown" });
  }
}

/** The link of a mail, and the parts of it that are long enough for a secret. */
function linkSecrets({ values: { link = "" } }: MailContent): string[] {
  const parts = link.split(/[^A-Za-z0-9_-]+/).filter((part) => part.length >= MIN_SECRET_CHARACTERS);
  return [link, ...parts, ...parts.map((part) => part.toLowerCase())];
}

interface StoredMail {
  readonly name: MailName;
  readonly head: MailHead;
  readonly stored: StoreEntry<unknown>;
}

/** Attempts that a late timer missed are made up for within this time. */
const MAX_LAG_MS = 1000;

const PAUSES: Backoff = { firstMs: 5000, longestMs: 5 * MINUTE_MS, factors: [0.75, 1] };
/** A wrong password is not tried often: the server could lock the account. */
const CONFIGURATION_PAUSES: Backoff = { ...PAUSES, firstMs: MINUTE_MS, longestMs: 15 * MINUTE_MS };
/** Problems that last until an administrator changes something. */
const CONFIGURATION_PROBLEMS: ReadonlySet<MailProblemCode> = new Set([
  "sign_in",
  "sender_refused",
  "tls",
  "no_starttls",
  "refuses_all",
]);
/** Greylisting accepts a second attempt after a few minutes. */
const RETRY_MS = [1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * MINUTE_MS);

/** When a mail is tried again that its recipient's server refused for now. @param attempts those that failed, this one included */
function retryAfterMs(attempts: number): number {
  return RETRY_MS[Math.min(attempts, RETRY_MS.length) - 1] ?? MINUTE_MS;
}

/** How fast mails are sent: the limit per minute, and pauses after problems of the server. A new sender starts without a pause. */
export class MailPace {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #random: Random;
  readonly #perMinute: () => number;
  #nextSlotMs = 0;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(
    { clock, random, perMinute }: { clock: Pick<Clock, "nowMs">; random: Random; perMinute: () => number },
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#perMinute = perMinute;
  }

  /** From when the next mail may be sent. */
  get nextMs(): number {
    return Math.max(this.#nextSlotMs, this.#pausedUntilMs);
  }

  /** The end of the pause; `null` without one. */
  get pausedUntilMs(): number | null {
    return this.#pausedUntilMs > this.#clock.nowMs() ? this.#pausedUntilMs : null;
  }

  /** Whether the last attempt failed because of the server. One mail at a time is tried then. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** A mail is sent now. */
  take(): void {
    const slotMs = Math.max(this.#nextSlotMs, this.#clock.nowMs() - MAX_LAG_MS);
    this.#nextSlotMs = slotMs + MINUTE_MS / this.#perMinute();
  }

  /** The server answered as it should. */
  succeeded(): void {
    this.#failures = 0;
    this.#pausedUntilMs = 0;
  }

  /** The server failed. Failures of mails that were sent at the same time count once. */
  failed(code: MailProblemCode): void {
    if (this.pausedUntilMs !== null) return;
    const pauses = CONFIGURATION_PROBLEMS.has(code) ? CONFIGURATION_PAUSES : PAUSES;
    this.#pausedUntilMs = this.#clock.nowMs() + backoffMs(pauses, ++this.#failures, this.#random);
  }

  /** The settings changed, or an administrator wants an attempt now. */
  reset(): void {
    this.#pausedUntilMs = 0;
  }
}

/** The value under ["mail_status"]. */
interface StatusRecord {
  readonly lastSentMs: number | null;
  readonly lastProblem: MailProblem | null;
  readonly pausedUntilMs: number | null;
}

interface MailStatusDeps {
  readonly store: Pick<Store, "follow" | "get" | "commit">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
}

const KEY: Deno.KvKey = ["mail_status"];
/** Deliveries without a problem are stored this often. */
const STORE_EVERY_MS = 60_000;

/** The last delivery and the last problem. The node that sends stores them, so that every node shows them, also after a restart. */
export class MailStatusRecord {
  readonly #deps: MailStatusDeps;
  #record: StatusRecord = { lastSentMs: null, lastProblem: null, pausedUntilMs: null };
  #storedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: MailStatusDeps) {
    this.#deps = deps;
    deps.store.follow(KEY, ({ value }) => this.#read(value));
  }

  async load(): Promise<void> {
    this.#read((await this.#deps.store.get<unknown>(KEY)).value);
  }

  get lastSentMs(): number | null {
    return this.#record.lastSentMs;
  }

  /** The last problem that concerns all mails; `null` after a mail was accepted. */
  get lastProblem(): MailProblem | null {
    return this.#record.lastProblem;
  }

  /** The end of the pause of the node that sends; `null` without one. */
  get pausedUntilMs(): number | null {
    const { pausedUntilMs } = this.#record;
    return pausedUntilMs !== null && pausedUntilMs > this.#deps.clock.nowMs() ? pausedUntilMs : null;
  }

  /** A mail was accepted. */
  sent(): void {
    const hadProblem = this.lastProblem !== null;
    const nowMs = this.#deps.clock.nowMs();
    this.#record = { lastSentMs: nowMs, lastProblem: null, pausedUntilMs: null };
    if (hadProblem || nowMs - this.#storedMs >= STORE_EVERY_MS) this.#write();
  }

  failed(lastProblem: MailProblem, pausedUntilMs: number | null): void {
    this.#record = { ...this.#record, lastProblem, pausedUntilMs };
    this.#write();
  }

  /** The settings changed, or a test succeeded. */
  clear(): void {
    if (this.lastProblem === null) return;
    this.#record = { ...this.#record, lastProblem: null, pausedUntilMs: null };
    this.#write();
  }

  #write(): void {
    const { store, clock, log } = this.#deps;
    this.#storedMs = clock.nowMs();
    store.commit({ mutations: [{ type: "set", key: KEY, value: this.#record }] }).catch((fault: unknown) =>
      log.warn("the state of mail was not stored", {
        fault: fault instanceof Error ? fault.message : "unknown",
      })
    );
  }

  #read(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const { lastSentMs, lastProblem, pausedUntilMs } = value as StatusRecord;
    const isKnown = lastProblem === null || Object.hasOwn(MAIL_PROBLEMS, lastProblem?.code);
    this.#record = { lastSentMs, pausedUntilMs, lastProblem: isKnown ? lastProblem : null };
  }
}
