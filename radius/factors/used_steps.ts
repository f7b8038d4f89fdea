// The time steps of authenticator apps that logins used. One node writes a used step as a line of the journal in the commit of the login, and
// the records of the pairings half a minute later. After a start, the lines are read before the gateway serves.

import { MINUTE_MS } from "../../platform/durations.ts";
import { LINE_KINDS, MAX_STEP_LINE_MS } from "../../platform/journal.ts";
import type { Log } from "../../platform/log.ts";
import { FieldReader, FieldsEndError, FieldWriter } from "../../platform/octet_fields.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import { type AppUse, usedApp } from "../tokens/token_codes.ts";
import type { Pairing, StepUse, TotpPairingRow } from "./pairing.ts";

interface UsedStepsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly logins: { readonly conversationTtlMs: number };
}

/** A used step whose pairing record may have an older one. */
interface WaitingStep extends AppUse {
  /** The key of the pairing is ["pairing", target, user, "totp", id]. */
  readonly target: string;
  readonly user: string;
}

const FLUSH_MS = 30_000;
/** Deno KV accepts 100 checks; `denokv` accepts ten, and one is that of the change log. */
const LOCAL_CHUNK = 90;
const SHARED_CHUNK = 8;
/** How much longer than a login takes its lines are needed: a minute after its end, and one more. */
const AFTER_LOGIN_MS = 2 * MINUTE_MS;
/** Journal values that are deleted in one commit. */
const DELETED_TOGETHER = 100;
/** Drifts are written as small numbers. */
const DRIFT_ZERO = 128;

const writer = new FieldWriter();

export class UsedSteps {
  readonly #deps: UsedStepsDeps;
  /** By the id of the pairing, which is random. */
  readonly #waiting = new Map<string, WaitingStep>();
  #stopTimer: (() => void) | null = null;
  /** The write of a pairing as memory has it; `null` if only the store can tell. A read costs three times as much as a write. */
  recordOf: (id: string, target: string) => Mutation | null = () => null;

  constructor(deps: UsedStepsDeps) {
    this.#deps = deps;
  }

  /** Prepares the use of a step, without other nodes. @param used the pairing after the use */
  prepare(used: TotpPairingRow, target: string): StepUse {
    const { lastStep, drift = 0, user, id } = used;
    const waiting = { step: lastStep, drift, user, target };
    return {
      mutations: [],
      journal: [{ octets: encodeStep(id, waiting), expireInMs: MAX_STEP_LINE_MS }],
      done: () => this.#note(id, waiting),
    };
  }

  /** A pairing as it was read from the store, with the newest step that is known. */
  applied(pairing: Pairing): Pairing {
    const waiting = this.#waiting.get(pairing.id);
    if (waiting === undefined || pairing.kind !== "totp" || pairing.lastStep >= waiting.step) return pairing;
    return usedApp(pairing, waiting);
  }

  /** Reads the journal. Call it before pairings are loaded. Returns how many lines cannot be read. */
  async load(): Promise<{ unreadable: number }> {
    let unreadable = 0;
    for await (const line of this.#deps.store.journal()) {
      if (line[0] !== LINE_KINDS.usedStep) continue;
      const read = decodeStep(line);
      if (read === null) unreadable++;
      else this.#note(read.id, read.waiting);
    }
    return { unreadable };
  }

  /** Writes what waits into the records of the pairings. Rejects if the store fails; the next call writes it too. */
  async flush(): Promise<void> {
    const steps = [...this.#waiting];
    const together = this.#deps.store.isShared ? SHARED_CHUNK : LOCAL_CHUNK;
    for (let at = 0; at < steps.length; at += together) await this.#write(steps.slice(at, at + together));
    const isDone = steps.every(([id, use]) => this.#waiting.get(id) !== use);
    // With several nodes, lines have no steps and expire. The clock of this node may be ahead of those that need them.
    if (isDone && !this.#deps.store.isShared) await this.#deleteLines();
  }

  /** Writes what waits, as far as the process has time. The next start reads the rest from the journal. */
  stop(): void {
    this.#stopTimer?.();
    this.flush().catch(() => undefined);
  }

  /** A record that was changed or removed meanwhile is never overwritten: the next flush reads it again. */
  async #write(steps: readonly (readonly [string, WaitingStep])[]): Promise<void> {
    const { store } = this.#deps;
    const unknown = steps.filter(([id, { target }]) => this.recordOf(id, target) === null);
    const { checks, mutations } = unknown.length === 0
      ? { checks: [], mutations: [] }
      : await this.#read(unknown);
    const written = [...unknown];
    // Nothing waits between this look at memory and the commit.
    for (const step of steps) {
      const record = unknown.includes(step) ? null : this.recordOf(step[0], step[1].target);
      if (record === null) continue;
      mutations.push(record);
      written.push(step);
    }
    if (mutations.length > 0 && !(await store.commit({ checks, mutations })).ok) return;
    // A step that was used meanwhile stays.
    for (const [id, use] of written) if (this.#waiting.get(id) === use) this.#waiting.delete(id);
  }

  /**
   * Deletes the values of the journal that no login needs. All their steps are in the records. They do not expire earlier: Deno KV would purge them
   * at a start with a clock that is ahead, and their codes could be used again once the clock is right.
   */
  async #deleteLines(): Promise<void> {
    const { store, clock, logins } = this.#deps;
    // See createJournalKeys().
    const end = ["journal", (clock.nowMs() - logins.conversationTtlMs - AFTER_LOGIN_MS) * 1024];
    for (let isMore = true; isMore;) {
      const mutations: Mutation[] = [];
      for await (const { key } of store.range({ start: ["journal"], end }, { limit: DELETED_TOGETHER })) {
        mutations.push({ type: "delete", key });
      }
      if (mutations.length > 0) await store.commit({ mutations });
      isMore = mutations.length === DELETED_TOGETHER;
    }
  }

  async #read(steps: readonly (readonly [string, WaitingStep])[]) {
    const { store } = this.#deps;
    const keys = steps.map(([id, { target, user }]) => ["pairing", target, user, "totp", id]);
    const entries = await Promise.all(keys.map((key) => store.get<Pairing>(key)));
    const checks: Check[] = [];
    const mutations: Mutation[] = [];
    for (const [at, [, use]] of steps.entries()) {
      const { key, value, versionstamp } = entries[at] as (typeof entries)[number];
      if (value?.kind !== "totp" || value.lastStep >= use.step) continue;
      checks.push({ key, versionstamp });
      mutations.push({ type: "set", key, value: usedApp(value, use) });
    }
    return { checks, mutations };
  }

  #note(id: string, use: WaitingStep): void {
    const known = this.#waiting.get(id);
    if (known !== undefined && known.step >= use.step) return;
    this.#waiting.set(id, use);
    this.#stopTimer ??= this.#deps.clock.after(FLUSH_MS, () => void this.#flushLogged());
  }

  async #flushLogged(): Promise<void> {
    await this.flush().catch((fault: unknown) =>
      this.#deps.log.error("the used time steps could not be written", { fault: String(fault) })
    );
    this.#stopTimer = this.#waiting.size === 0
      ? null
      : this.#deps.clock.after(FLUSH_MS, () => void this.#flushLogged());
  }
}

function encodeStep(id: string, { target, user, step, drift }: WaitingStep): Uint8Array<ArrayBuffer> {
  writer.begin();
  writer.small(LINE_KINDS.usedStep);
  writer.text(id);
  writer.text(target);
  writer.text(user);
  // A step is smaller than a time in milliseconds.
  writer.timeMs(step);
  writer.small(drift + DRIFT_ZERO);
  return writer.view().slice();
}

/** `null`: it is damaged. */
function decodeStep(line: Uint8Array): { readonly id: string; readonly waiting: WaitingStep } | null {
  const from = new FieldReader(line, 1);
  try {
    const [id, target, user] = [from.text(), from.text(), from.text()];
    const step = from.timeMs();
    return { id, waiting: { target, user, step, drift: from.small() - DRIFT_ZERO } };
  } catch (fault) {
    if (fault instanceof FieldsEndError) return null;
    throw fault;
  }
}
