// Authentication requests of the embedded second-factor service: created, then decided once or expired. The first
// committed decision wins, on whichever node; later callers receive that decision.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { KeyedMutex } from "../../../platform/semaphore.ts";
import { type Clock, type Random, timeOrderedUuid } from "../../../platform/runtime.ts";
import type { ApprovalContext } from "../../../radius/ports.ts";
import type { Mutation } from "../../../platform/store.ts";
import { announceDenial, EventEmitter, type PhoneNews, type SecondFactorContext } from "./context.ts";
import type { MirroredRow, TableChange } from "../../../platform/table.ts";
import { matchPasscode } from "./device_passcode.ts";
import {
  type ApprovalRecord,
  byPairing,
  CAPS,
  type DecisionName,
  deniedRequest,
  isVerification,
  type PairingRecord,
  refusePhone,
  requestAt,
  verificationAudit,
  VERIFYING,
  WAITING,
} from "./records.ts";
import { timingSafeEqual } from "node:crypto";
import type { PersonDecision, PhoneResult } from "./interfaces.ts";

/** `won`: this decision counts. `late`: the request was decided or had expired. */
type DecisionOutcome = "won" | "late" | "unknown";

/** Additions to the commit of a decision. */
interface DecisionOptions {
  readonly also?: readonly Mutation[];
  /** The administrator who decides, by name. */
  readonly by?: string;
  /** The phone decides, and had shown a notification of the request. */
  readonly isNotified?: boolean | undefined;
}

/** What phones are told about the end of requests. */
type EndingNews = Pick<Extract<PhoneNews, { kind: "ended" }>, "isNotified" | "subscription">;

interface RequestDecision {
  readonly decision: DecisionName;
  /** Changes that belong to the decision. */
  readonly changes: readonly TableChange[];
  readonly passcodeOf?: string;
}

const ATTEMPTS = 5;
const LIST = "list";
/** Other phones of a user whose passcodes one answer is compared with. */
const MAX_PASSCODE_PAIRINGS = 20;
/** Each one is a check. A KV Connect server accepts nine in one commit. */
const MAX_ENDED_AT_ONCE = 9;

export class ApprovalRequests {
  readonly #context: SecondFactorContext;
  readonly #mutex = new KeyedMutex();
  readonly #decided = new EventEmitter({ maxPerTopic: 10 });
  readonly #list = new EventEmitter({ maxPerTopic: 1000 });
  readonly #expiry: RequestExpiry;

  constructor(context: SecondFactorContext) {
    this.#context = context;
    this.#expiry = new RequestExpiry(context.clock, {
      nextMs: () => this.#table.list(WAITING, 1)[0]?.value.deadlineMs ?? null,
      expire: () => this.#expire(),
    });
    context.foreignRequests.add(({ before, after }) => {
      const request = after ?? before;
      if (request !== undefined) this.#announce(request);
      if (before?.decision !== after?.decision) announceDenial(context, after && deniedRequest(after));
      this.#expiry.arm();
    });
  }

  get #table() {
    return this.#context.tables.requests;
  }

  /** Sends a request to the phone of a pairing; `null` if there are too many requests in total, or if the pairing has ended. */
  async open(
    pairing: PairingRecord,
    { terminalName, login }: { terminalName: string; login: ApprovalContext },
  ): Promise<ApprovalRecord | null> {
    const { random, settings } = this.#context;
    const number = settings.numberMatching && login.hasPrompt ? randomTwoDigits(random) : null;
    const { client, place } = login;
    return await this.#open({ ...this.#draft(pairing), terminalName, client, place, number });
  }

  /** Asks the phone of a pairing whether its user is on the telephone; `null` as for {@link open}. */
  async openVerification(
    pairing: PairingRecord,
    { by, also }: { by: string; also?: readonly Mutation[] | undefined },
  ): Promise<ApprovalRecord | null> {
    const number = randomTwoDigits(this.#context.random);
    const asking = { terminalName: "", client: "", place: "", number, kind: "verify", askedBy: by } as const;
    return await this.#open({ ...this.#draft(pairing), ...asking }, also);
  }

  /** The request in its current state. */
  find(id: string): ApprovalRecord | undefined {
    const request = this.#table.get(id)?.value;
    return request && requestAt(request, this.#context.clock.nowMs());
  }

  /** The same, if the request is about a login. */
  findLogin(id: string): ApprovalRecord | undefined {
    const request = this.find(id);
    return request === undefined || isVerification(request) ? undefined : request;
  }

  decide(id: string, decision: DecisionName, options?: DecisionOptions): Promise<DecisionOutcome> {
    return this.#settle(id, () => ({ decision, changes: [] }), options);
  }

  /**
   * Decides for the person whose phone was asked. The caller has checked that the request belongs to the person.
   *
   * @param options.also is committed together with the decision, unless a wrong number denies the request.
   */
  async decideAsPerson(
    request: ApprovalRecord,
    { decision, also = [], isNotified }: Pick<DecisionOptions, "also" | "isNotified"> & {
      readonly decision: PersonDecision;
    },
  ): Promise<PhoneResult<null>> {
    if (request.decision === "out_of_time") return refusePhone("expired");
    if (request.decision !== null) return refusePhone("already_decided");
    if (!decision.approve) {
      const denied = decision.notMe === true && isVerification(request) ? "not_me" : "denied";
      return toResult(await this.decide(request.id, denied, { also, isNotified }));
    }
    const verdict = checkNumber(request, decision.number);
    if (verdict === "right") {
      return toResult(await this.decide(request.id, "approved", { also, isNotified }));
    }
    if (verdict === "missing") return refusePhone("wrong_number");
    const denied = await this.decide(request.id, "wrong_number", { isNotified });
    return refusePhone(denied === "won" ? "wrong_number" : "already_decided");
  }

  /**
   * Decides by a device passcode: the right one that is not used grants the request. Any other one denies it.
   *
   * @param also other pairings of the same user whose passcodes count
   */
  decideByPasscode(id: string, code: string, also: readonly string[] = []): Promise<DecisionOutcome> {
    const { pairings } = this.#context.tables;
    return this.#settle(id, ({ pairingId, userName }) => {
      const user = canonicalName(userName);
      for (const candidate of new Set([pairingId, ...also.slice(0, MAX_PASSCODE_PAIRINGS)])) {
        const read = pairings.get(candidate);
        if (read === undefined || canonicalName(read.value.userName) !== user) continue;
        const lastStep = matchPasscode(this.#context, read.value, code);
        if (lastStep === null) continue;
        const changes = [pairings.replace(read, { ...read.value, lastStep })];
        return {
          decision: "passcode",
          changes,
          ...(candidate === pairingId ? {} : { passcodeOf: candidate }),
        };
      }
      return { decision: "wrong_passcode", changes: [] };
    });
  }

  /** Pending requests of logins, oldest first; with `newest`, only the newest ones. */
  waiting(newest = Infinity): ApprovalRecord[] {
    return this.#table.listNewest(WAITING, newest).map(({ value }) => value)
      .filter((request) => this.#isInTime(request) && !isVerification(request));
  }

  /** How many requests of logins are pending. The number may include a request that has just expired. */
  waitingCount(): number {
    return this.#table.count(WAITING) - this.#table.count(VERIFYING);
  }

  /** The pending requests of one pairing, of logins and of the help desk. */
  waitingFor(pairingId: string): ApprovalRecord[] {
    return this.#table.list(byPairing(pairingId)).map(({ value }) => value)
      .filter((request) => this.#isInTime(request));
  }

  /** Changes that end the pending requests of a pairing, and their audit records. Call `announce` after their commit. */
  endingChanges(
    pairingId: string,
  ): { changes: TableChange[]; also: Mutation[]; announce: (news: EndingNews) => void } {
    const ends = this.#table.list(byPairing(pairingId), MAX_ENDED_AT_ONCE)
      .map((row) => this.#end(row, { decision: "pairing_ended" }));
    return {
      changes: ends.map(({ change }) => change),
      also: ends.flatMap(({ ended }) => verificationAudit(ended)),
      announce: (news) => this.#announceEnded(ends, news),
    };
  }

  /** Calls back once when the request is no longer pending; in a microtask if it already is not. */
  onDecision(id: string, notify: () => void): () => void {
    const stop = this.#decided.on(id, notify);
    if (this.find(id)?.decision !== null) queueMicrotask(() => this.#decided.emitLast(id));
    return stop;
  }

  /** Calls back when the list of pending requests changed. */
  onChange(notify: () => void): () => void {
    return this.#list.on(LIST, notify);
  }

  /** Starts the timer for requests that were pending before a restart. */
  resume(): void {
    this.#expiry.arm();
  }

  /** Stops the timer, and waits for the commit that it started. */
  stop(): Promise<void> {
    return this.#expiry.stop();
  }

  #draft({ id: pairingId, userName }: PairingRecord) {
    const { clock, random, settings } = this.#context;
    const nowMs = clock.nowMs();
    return {
      id: timeOrderedUuid(nowMs, random),
      ...{ pairingId, userName, createdMs: nowMs, modifiedMs: nowMs },
      deadlineMs: nowMs + settings.requestTtlMs,
      decision: null,
    };
  }

  async #open(request: ApprovalRecord, also: readonly Mutation[] = []): Promise<ApprovalRecord | null> {
    if (this.#table.size >= CAPS.requests) return null;
    return await this.#mutex.run(request.pairingId, () => this.#add(request, also));
  }

  #isInTime({ deadlineMs }: ApprovalRecord): boolean {
    return deadlineMs > this.#context.clock.nowMs();
  }

  #announce(request: ApprovalRecord): void {
    const { tables, phoneEvents } = this.#context;
    const phone = tables.pairings.get(request.pairingId)?.value.phone;
    if (phone !== undefined) phoneEvents.emit(phone);
    if (request.decision !== null) this.#decided.emitLast(request.id);
    this.#list.emit(LIST);
  }

  #end(
    row: MirroredRow<ApprovalRecord>,
    decided: Pick<RequestDecision, "decision" | "passcodeOf">,
    by?: string,
  ) {
    const modifiedMs = this.#context.clock.nowMs();
    const decidedBy = by === undefined ? {} : { decidedBy: by };
    const ended: ApprovalRecord = { ...row.value, ...decided, modifiedMs, ...decidedBy };
    return { ended, change: this.#table.replace(row, ended) };
  }

  /** Commits the result of `decide`, unless another decision was committed first. */
  async #settle(
    id: string,
    decide: (request: ApprovalRecord) => RequestDecision,
    { by, also = [], isNotified }: DecisionOptions = {},
  ): Promise<DecisionOutcome> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const stored = this.#table.get(id);
      if (stored === undefined) return "unknown";
      if (requestAt(stored.value, this.#context.clock.nowMs()).decision !== null) return "late";
      const { changes, ...decided } = decide(stored.value);
      const { ended, change } = this.#end(stored, decided, by);
      const records = [...also, ...verificationAudit(ended)];
      if (!await this.#context.tables.commit([change, ...changes], { also: records })) continue;
      this.#announceEnded([{ ended }], { isNotified });
      return "won";
    }
    return "late";
  }

  async #add(request: ApprovalRecord, also: readonly Mutation[]): Promise<ApprovalRecord | null> {
    const { pairings, commit } = this.#context.tables;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const pairing = pairings.get(request.pairingId);
      if (pairing?.value.state !== "enabled") return null;
      const superseded = this.#makeRoom(request.pairingId);
      const changes = [this.#table.put(request.id, request), ...superseded.map(({ change }) => change)];
      const records = [...also, ...superseded.flatMap(({ ended }) => verificationAudit(ended))];
      // A pairing that ends meanwhile ends the requests that it knows.
      if (!await commit(changes, { also: records, checks: [pairings.unchanged(pairing)] })) continue;
      this.#announceEnded(superseded);
      this.#announce(request);
      this.#tellPhone({ kind: "request", request });
      this.#expiry.arm();
      return request;
    }
    return null;
  }

  /** Ends the oldest pending requests of a pairing that has too many. */
  #makeRoom(pairingId: string) {
    const excess = this.#table.count(byPairing(pairingId)) - CAPS.waitingPerPairing + 1;
    const oldest = this.#table.list(byPairing(pairingId), Math.min(Math.max(0, excess), MAX_ENDED_AT_ONCE));
    return oldest.map((row) => this.#end(row, { decision: "superseded" }));
  }

  async #expire(): Promise<void> {
    const ends = this.#table.list(WAITING, MAX_ENDED_AT_ONCE)
      .filter(({ value }) => !this.#isInTime(value))
      .map((row) => this.#end(row, { decision: "out_of_time" }));
    if (ends.length === 0) return;
    const also = ends.flatMap(({ ended }) => verificationAudit(ended));
    if (!await this.#context.tables.commit(ends.map(({ change }) => change), { also })) return;
    this.#announceEnded(ends);
  }

  #announceEnded(ends: readonly { readonly ended: ApprovalRecord }[], news: EndingNews = {}): void {
    for (const { ended } of ends) {
      this.#announce(ended);
      announceDenial(this.#context, deniedRequest(ended));
      this.#tellPhone({ kind: "ended", request: ended, ...news });
    }
  }

  /** Only the node that committed the change. */
  #tellPhone(news: PhoneNews): void {
    for (const notify of this.#context.phoneNews) notify(news);
  }
}

/** 10 to 99, by rejection: 180 is the largest multiple of 90 in an octet. */
function randomTwoDigits(random: Random): string {
  for (;;) {
    for (const octet of random.bytes(8)) if (octet < 180) return String(10 + octet % 90);
  }
}

const RETRY_AFTER_MS = 1000;

interface DueRequests {
  /** The deadline of the request that expires next, or `null`. */
  nextMs(): number | null;
  /** Records which requests expired. */
  expire(): Promise<void>;
}

/** One timer for the request that expires next. All requests live equally long, so they expire in the order of creation. */
class RequestExpiry {
  readonly #clock: Clock;
  readonly #due: DueRequests;
  #cancelTimer: (() => void) | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(clock: Clock, due: DueRequests) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Starts the timer, unless it runs or no request is pending. */
  arm(minDelayMs = 0): void {
    if (this.#stopped || this.#cancelTimer !== null) return;
    const nextMs = this.#due.nextMs();
    if (nextMs === null) return;
    this.#cancelTimer = this.#clock.after(Math.max(minDelayMs, nextMs - this.#clock.nowMs(), 1), () => {
      this.#running = this.#fire();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#running;
  }

  async #fire(): Promise<void> {
    let minDelayMs = 0;
    try {
      await this.#due.expire();
    } catch (_storeFailed) {
      // The requests count as expired, see requestAt(). Recording them waits for the store.
      minDelayMs = RETRY_AFTER_MS;
    }
    this.#cancelTimer = null;
    this.arm(minDelayMs);
  }
}

/** An empty field is no guess. Any wrong guess ends the request. */
function checkNumber({ number }: ApprovalRecord, typed: string | null): "right" | "missing" | "wrong" {
  if (number === null) return "right";
  if (typed === null || typed.trim() === "") return "missing";
  return isSame(typed.trim(), number) ? "right" : "wrong";
}

function toResult(outcome: DecisionOutcome): PhoneResult<null> {
  if (outcome === "won") return { ok: true, value: null };
  return refusePhone(outcome === "late" ? "already_decided" : "unknown_request");
}

function isSame(typed: string, expected: string): boolean {
  const [left, right] = [new TextEncoder().encode(typed), new TextEncoder().encode(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
