// Authentication requests of the embedded second-factor service: created, then decided once or expired. The first
// committed decision wins, on whichever node; later callers receive that decision.

import { KeyedMutex } from "../../../platform/semaphore.ts";
import { type Clock, type Random, timeOrderedUuid } from "../../../platform/runtime.ts";
import type { ApprovalContext } from "../../../radius/ports.ts";
import type { Mutation } from "../../../platform/store.ts";
import { EventEmitter } from "../table.ts";
import type { TableChange } from "../table.ts";
import { byPairing, type SecondFactorContext, WAITING } from "./context.ts";
import { matchPasscode } from "./device_passcode.ts";
import { type ApprovalRecord, CAPS, type DecisionName, type PairingRecord, requestAt } from "./records.ts";

/** `won`: this decision counts. `late`: the request was decided or had expired. */
export type DecisionOutcome = "won" | "late" | "unknown";

/** Additions to the commit of a decision. */
interface DecisionOptions {
  readonly also?: readonly Mutation[];
  /** The administrator who decides, by name. */
  readonly by?: string;
}

interface RequestDecision {
  readonly decision: DecisionName;
  /** Changes that belong to the decision. */
  readonly changes: readonly TableChange[];
}

const ATTEMPTS = 5;
const LIST = "list";
const RETRY_AFTER_MS = 1000;
/** The store accepts 100 checks in one commit. */
const MAX_ENDED_AT_ONCE = 50;

export class ApprovalRequests {
  readonly #context: SecondFactorContext;
  readonly #mutex = new KeyedMutex();
  readonly #decided = new EventEmitter({ maxPerTopic: 10 });
  readonly #list = new EventEmitter({ maxPerTopic: 1000 });
  readonly #expiry: RequestExpiry;

  constructor(context: SecondFactorContext) {
    this.#context = context;
    this.#expiry = new RequestExpiry(context.clock, {
      nextMs: () => this.#table.list(WAITING, 1)[0]?.deadlineMs ?? null,
      expire: () => this.#expire(),
    });
    context.foreignRequests.add(({ before, after }) => {
      const request = after ?? before;
      if (request !== undefined) this.#announce(request);
      this.#expiry.arm();
    });
  }

  get #table() {
    return this.#context.tables.requests;
  }

  /** Sends a request to the phone of a pairing; `null` if there are too many requests in total. */
  async open(
    pairing: PairingRecord,
    { terminalName, login }: { terminalName: string; login: ApprovalContext },
  ): Promise<ApprovalRecord | null> {
    const { clock, random, settings } = this.#context;
    if (this.#table.size() >= CAPS.requests) return null;
    const nowMs = clock.nowMs();
    const request: ApprovalRecord = {
      id: timeOrderedUuid(nowMs, random),
      pairingId: pairing.id,
      userName: pairing.userName,
      terminalName,
      client: login.client,
      place: login.place,
      number: settings.numberMatching && login.hasPrompt ? randomTwoDigits(random) : null,
      createdMs: nowMs,
      modifiedMs: nowMs,
      deadlineMs: nowMs + settings.requestTtlMs,
      decision: null,
    };
    return await this.#mutex.run(pairing.id, () => this.#add(request));
  }

  /** The request in its current state. */
  find(id: string): ApprovalRecord | undefined {
    const request = this.#table.get(id);
    return request && requestAt(request, this.#context.clock.nowMs());
  }

  decide(id: string, decision: DecisionName, options?: DecisionOptions): Promise<DecisionOutcome> {
    return this.#settle(id, () => ({ decision, changes: [] }), options);
  }

  /** Decides by a device passcode: the right one that is not used grants the request. Any other one denies it. */
  decideByPasscode(id: string, code: string): Promise<DecisionOutcome> {
    const { pairings } = this.#context.tables;
    return this.#settle(id, ({ pairingId }) => {
      const pairing = pairings.get(pairingId);
      const step = pairing === undefined ? null : matchPasscode(this.#context, pairing, code);
      if (pairing === undefined || step === null) return { decision: "wrong_passcode", changes: [] };
      return { decision: "passcode", changes: [pairings.change(pairing.id, { ...pairing, lastStep: step })] };
    });
  }

  /** Pending requests, oldest first; with `newest`, only the newest ones. */
  waiting(newest = Infinity): ApprovalRecord[] {
    return this.#table.listNewest(WAITING, newest).filter((request) => this.#isInTime(request));
  }

  /** How many requests are pending. The number may include a request that has just expired. */
  waitingCount(): number {
    return this.#table.count(WAITING);
  }

  /** The pending requests of one pairing. */
  waitingFor(pairingId: string): ApprovalRecord[] {
    return this.#table.list(byPairing(pairingId)).filter((request) => this.#isInTime(request));
  }

  /** Changes that end the pending requests of a pairing. Call `announce` after their commit. */
  endingChanges(pairingId: string): { changes: TableChange[]; announce: () => void } {
    const ends = this.#table.list(byPairing(pairingId), MAX_ENDED_AT_ONCE)
      .map((request) => this.#end(request, "pairing_ended"));
    return {
      changes: ends.map(({ change }) => change),
      announce: () => ends.forEach(({ ended }) => this.#announce(ended)),
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

  #isInTime({ deadlineMs }: ApprovalRecord): boolean {
    return deadlineMs > this.#context.clock.nowMs();
  }

  #announce(request: ApprovalRecord): void {
    const { tables, phoneEvents } = this.#context;
    const phone = tables.pairings.get(request.pairingId)?.phone;
    if (phone !== undefined) phoneEvents.emit(phone);
    if (request.decision !== null) this.#decided.emitLast(request.id);
    this.#list.emit(LIST);
  }

  #end(request: ApprovalRecord, decision: DecisionName, by?: string) {
    const modifiedMs = this.#context.clock.nowMs();
    const decidedBy = by === undefined ? {} : { decidedBy: by };
    const ended: ApprovalRecord = { ...request, decision, modifiedMs, ...decidedBy };
    return { ended, change: this.#table.change(request.id, ended) };
  }

  /** Commits the result of `decide`, unless another decision was committed first. */
  async #settle(
    id: string,
    decide: (request: ApprovalRecord) => RequestDecision,
    { by, also }: DecisionOptions = {},
  ): Promise<DecisionOutcome> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const stored = this.#table.get(id);
      if (stored === undefined) return "unknown";
      if (requestAt(stored, this.#context.clock.nowMs()).decision !== null) return "late";
      const { decision, changes } = decide(stored);
      const { ended, change } = this.#end(stored, decision, by);
      if (!await this.#context.tables.commit([change, ...changes], { also })) continue;
      this.#announce(ended);
      return "won";
    }
    return "late";
  }

  async #add(request: ApprovalRecord): Promise<ApprovalRecord | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const superseded = this.#makeRoom(request.pairingId);
      const changes = [this.#table.add(request.id, request), ...superseded.map(({ change }) => change)];
      if (!await this.#context.tables.commit(changes)) continue;
      for (const { ended } of superseded) this.#announce(ended);
      this.#announce(request);
      this.#expiry.arm();
      return request;
    }
    return null;
  }

  /** Ends the oldest pending requests of a pairing that has too many. */
  #makeRoom(pairingId: string) {
    const excess = this.#table.count(byPairing(pairingId)) - CAPS.waitingPerPairing + 1;
    const oldest = this.#table.list(byPairing(pairingId), Math.min(Math.max(0, excess), MAX_ENDED_AT_ONCE));
    return oldest.map((request) => this.#end(request, "superseded"));
  }

  async #expire(): Promise<void> {
    const ends = this.#table.list(WAITING, MAX_ENDED_AT_ONCE)
      .filter((request) => !this.#isInTime(request))
      .map((request) => this.#end(request, "out_of_time"));
    if (ends.length === 0) return;
    if (!await this.#context.tables.commit(ends.map(({ change }) => change))) return;
    for (const { ended } of ends) this.#announce(ended);
  }
}

/** 10 to 99, by rejection: 180 is the largest multiple of 90 in an octet. */
function randomTwoDigits(random: Random): string {
  for (;;) {
    for (const octet of random.bytes(8)) if (octet < 180) return String(10 + octet % 90);
  }
}

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
