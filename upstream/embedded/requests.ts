// Authentication requests of the embedded second-factor service: created, then decided once or expired. The
// first committed decision wins; later callers receive that decision.

import { createKeyedMutex } from "../../platform/keyed_mutex.ts";
import type { ApprovalContext } from "../../radius/doing/ports.ts";
import type { Mutation } from "../../store.ts";
import { type House, matchPasscode } from "./house.ts";
import { timeOrderedUuid } from "./identifiers.ts";
import { createListeners } from "./listeners.ts";
import { CAPS, type DecisionName, type PairingRow, requestAt, type RequestRow } from "./rows.ts";
import { byPairing, WAITING } from "./shelves.ts";
import type { Change } from "./table.ts";

/** `won`: this decision counts. `late`: there was another one, or the time is over. */
export type DecisionOutcome = "won" | "late" | "unknown";

export interface Requests {
  /** Asks a pairing's phone; `null` when there are too many requests altogether. */
  open(
    pairing: PairingRow,
    options: { terminalName: string; context: ApprovalContext },
  ): Promise<RequestRow | null>;
  /** The request as it counts now. */
  find(id: string): RequestRow | undefined;
  /**
   * @param options.also written in the commit of the decision, and only with it.
   * @param options.by the administrator who decides, by name.
   */
  decide(
    id: string,
    decision: DecisionName,
    options?: { also?: readonly Mutation[]; by?: string },
  ): Promise<DecisionOutcome>;
  /** Decides by a device passcode: the right one, not used before, grants; any other denies. */
  decideByPasscode(id: string, code: string): Promise<DecisionOutcome>;
  /** Requests that wait, oldest first; with `newest` only so many, those that came last. */
  waiting(newest?: number): RequestRow[];
  /** How many wait; one that ran out a moment ago may still be among them. */
  waitingCount(): number;
  /** Those of one pairing. */
  waitingFor(pairingId: string): RequestRow[];
  /** Changes that end what waits for a pairing; `announce` what was committed. */
  endingChanges(pairingId: string): { changes: Change[]; announce: () => void };
  /** Calls back once when the request is no longer pending (at once, but later, when it is not). */
  onDecision(id: string, notify: () => void): () => void;
  /** Calls back when the list of waiting requests changed. */
  onChange(notify: () => void): () => void;
  /** Starts the clock for requests that were waiting before a restart. */
  resume(): void;
  /** Stops the clock. */
  stop(): Promise<void>;
}

const ATTEMPTS = 5;
const LIST = "list";
const RETRY_AFTER_MS = 1000;
/** The store takes 100 checks in one commit. */
const MAX_ENDED_AT_ONCE = 50;

export function createRequests(house: House): Requests {
  const { shelves, clock, random, settings } = house;
  const { requests, pairings } = shelves;
  const mutex = createKeyedMutex();
  const decided = createListeners({ perTopic: 10 });
  const list = createListeners({ perTopic: 1000 });

  const announce = (row: RequestRow): void => {
    const phone = pairings.get(row.pairingId)?.phone;
    if (phone !== undefined) house.phoneListeners.notify(phone);
    if (row.decision !== null) decided.notifyLast(row.id);
    list.notify(LIST);
  };

  const end = (row: RequestRow, decision: DecisionName, by?: string) => {
    const decidedBy = by === undefined ? {} : { decidedBy: by };
    const ended: RequestRow = { ...row, decision, modifiedMs: clock.nowMs(), ...decidedBy };
    return { ended, change: requests.change(row.id, ended) };
  };

  /** Takes the first decision that can be committed; `judge` may add changes that belong to it. */
  const settle = async (
    id: string,
    judge: (row: RequestRow) => { decision: DecisionName; alongside: Change[] },
    { by, ...options }: { also?: readonly Mutation[]; by?: string } = {},
  ): Promise<DecisionOutcome> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const kept = requests.get(id);
      if (kept === undefined) return "unknown";
      if (requestAt(kept, clock.nowMs()).decision !== null) return "late";
      const { decision, alongside } = judge(kept);
      const { ended, change } = end(kept, decision, by);
      if (!await shelves.commit([change, ...alongside], options)) continue;
      announce(ended);
      return "won";
    }
    return "late";
  };

  /** The oldest of a pairing's waiting requests make room for a new one. */
  const makeRoom = (pairingId: string) => {
    const excess = requests.count(byPairing(pairingId)) - CAPS.waitingPerPairing + 1;
    return requests.under(byPairing(pairingId), Math.min(Math.max(0, excess), MAX_ENDED_AT_ONCE))
      .map((row) => end(row, "superseded"));
  };

  const add = async (row: RequestRow): Promise<RequestRow | null> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const superseded = makeRoom(row.pairingId);
      const changes = [requests.add(row.id, row), ...superseded.map(({ change }) => change)];
      if (!await shelves.commit(changes)) continue;
      for (const { ended } of superseded) announce(ended);
      announce(row);
      expiry.arm();
      return row;
    }
    return null;
  };

  const expiry = createExpiry(house, {
    overdue: () =>
      requests.under(WAITING, MAX_ENDED_AT_ONCE).filter(({ deadlineMs }) => deadlineMs <= clock.nowMs()),
    nextMs: () => requests.under(WAITING, 1)[0]?.deadlineMs ?? null,
    async expire(rows) {
      const ends = rows.map((row) => end(row, "out_of_time"));
      if (!await shelves.commit(ends.map(({ change }) => change))) return;
      for (const { ended } of ends) announce(ended);
    },
  });

  return {
    async open(pairing, { terminalName, context }) {
      if (requests.size() >= CAPS.requests) return null;
      const nowMs = clock.nowMs();
      const asksNumber = settings.numberMatching && context.hasPrompt;
      const row: RequestRow = {
        id: timeOrderedUuid(nowMs, random),
        pairingId: pairing.id,
        userName: pairing.userName,
        terminalName,
        client: context.client,
        place: context.place,
        number: asksNumber ? twoDigits(house) : null,
        createdMs: nowMs,
        modifiedMs: nowMs,
        deadlineMs: nowMs + settings.requestTtlMs,
        decision: null,
      };
      return await mutex.run(pairing.id, () => add(row));
    },
    find(id) {
      const row = requests.get(id);
      return row && requestAt(row, clock.nowMs());
    },
    decide: (id, decision, options) => settle(id, () => ({ decision, alongside: [] }), options),
    decideByPasscode: (id, code) =>
      settle(id, (row) => {
        const pairing = pairings.get(row.pairingId);
        const step = pairing === undefined ? null : matchPasscode(house, pairing, code);
        if (pairing === undefined || step === null) return { decision: "wrong_passcode", alongside: [] };
        const used = pairings.change(pairing.id, { ...pairing, lastStep: step });
        return { decision: "passcode", alongside: [used] };
      }),
    waiting: (newest = Infinity) =>
      requests.newestUnder(WAITING, newest).filter((row) => row.deadlineMs > clock.nowMs()),
    waitingCount: () => requests.count(WAITING),
    waitingFor: (pairingId) =>
      requests.under(byPairing(pairingId)).filter((row) => row.deadlineMs > clock.nowMs()),
    endingChanges(pairingId) {
      const ends = requests.under(byPairing(pairingId), MAX_ENDED_AT_ONCE).map((row) =>
        end(row, "pairing_ended")
      );
      return {
        changes: ends.map(({ change }) => change),
        announce: () => {
          for (const { ended } of ends) announce(ended);
        },
      };
    },
    onDecision(id, notify) {
      const row = requests.get(id);
      const stop = decided.add(id, notify);
      const isDecided = row === undefined || requestAt(row, clock.nowMs()).decision !== null;
      if (isDecided) queueMicrotask(() => decided.notifyLast(id));
      return stop;
    },
    onChange: (notify) => list.add(LIST, notify),
    resume: () => expiry.arm(),
    stop: () => expiry.stop(),
  };
}

/** 10 to 99, by rejection: 180 is the largest multiple of 90 in an octet. */
function twoDigits({ random }: House): string {
  for (;;) {
    for (const octet of random.bytes(8)) if (octet < 180) return String(10 + octet % 90);
  }
}

interface Expiry {
  arm(): void;
  stop(): Promise<void>;
}

/** One timer for the request that runs out next; all live equally long, so they run out in the order of their coming. */
function createExpiry(
  { clock }: House,
  due: {
    overdue: () => RequestRow[];
    nextMs: () => number | null;
    expire: (rows: RequestRow[]) => Promise<void>;
  },
): Expiry {
  let cancelTimer: (() => void) | null = null;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;

  const fire = async (): Promise<void> => {
    let waitMs = 0;
    try {
      const rows = due.overdue();
      if (rows.length > 0) await due.expire(rows);
    } catch (_storeFailed) {
      // The rows count as run out all the same, see requestAt(); writing it down waits for the store.
      waitMs = RETRY_AFTER_MS;
    }
    cancelTimer = null;
    arm(waitMs);
  };

  const arm = (atLeastMs = 0): void => {
    if (stopped || cancelTimer !== null) return;
    const nextMs = due.nextMs();
    if (nextMs === null) return;
    cancelTimer = clock.after(Math.max(atLeastMs, nextMs - clock.nowMs(), 1), () => {
      running = fire();
    });
  };

  return {
    arm: () => arm(),
    async stop() {
      stopped = true;
      cancelTimer?.();
      await running;
    },
  };
}
