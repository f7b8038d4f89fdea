// The journal: small new records that share the values of the store. A value of the store costs about as much as a hundred records inside it.

import { DAY_MS } from "./durations.ts";

/** The first octet of a line says what it is. A reader skips the lines of other kinds. */
export const LINE_KINDS = { conversation: 2, usedStep: 3 } as const;

/** A small new record of a frequent kind, which shares a value with the records of the same batch. */
export interface JournalLine {
  /** At most {@link MAX_LINE_OCTETS}. */
  readonly octets: Uint8Array;
  readonly expireInMs: number;
}

/** Receives the result of a line. Exactly one function is called, once. One object for each line, and no promise. */
export interface JournalListener {
  /** The line is durable. */
  recorded(): void;
  notRecorded(fault: unknown): void;
}

/** Lines of used steps are deleted when the steps are in their records. They do not expire before, because the clock of the next start may be ahead. */
export const MAX_STEP_LINE_MS = 400 * DAY_MS;

/** Deno KV accepts values of 64 KiB. */
const MAX_VALUE_OCTETS = 65_536;
/** Each line begins with its length. */
const LENGTH_OCTETS = 2;
export const MAX_LINE_OCTETS = 60_000;

/** A value to write, and who receives the result. */
export interface JournalValue {
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly expireInMs: number;
  readonly listeners: readonly JournalListener[];
}

/** Collects the lines that wait for a commit, as the octets of the values that it will write. */
export class JournalBuffer {
  #full: JournalValue[] = [];
  readonly #value = new Uint8Array(MAX_VALUE_OCTETS);
  #used = 0;
  #expireInMs = 0;
  #listeners: JournalListener[] = [];
  #lines = 0;

  get lines(): number {
    return this.#lines;
  }

  /** Copies a line. @throws RangeError if the line is too long */
  append({ octets, expireInMs }: JournalLine, listener: JournalListener): void {
    const length = octets.length;
    if (length > MAX_LINE_OCTETS) throw new RangeError("Cannot write a journal line of over 60,000 octets");
    if (this.#used + LENGTH_OCTETS + length > MAX_VALUE_OCTETS) this.#endValue();
    this.#value[this.#used] = length >>> 8;
    this.#value[this.#used + 1] = length;
    this.#value.set(octets, this.#used + LENGTH_OCTETS);
    this.#used += LENGTH_OCTETS + length;
    this.#expireInMs = Math.max(this.#expireInMs, Math.round(expireInMs), 1);
    this.#listeners.push(listener);
    this.#lines++;
  }

  /** Drops the lines that wait. */
  clear(): void {
    this.take(Infinity);
  }

  /** Takes the oldest values, at most `maxValues`. */
  take(maxValues: number): readonly JournalValue[] {
    if (this.#used > 0 && this.#full.length < maxValues) this.#endValue();
    const taken = this.#full.slice(0, maxValues);
    this.#full = this.#full.slice(maxValues);
    for (const { listeners } of taken) this.#lines -= listeners.length;
    return taken;
  }

  #endValue(): void {
    const octets = this.#value.slice(0, this.#used);
    this.#full.push({ octets, expireInMs: this.#expireInMs, listeners: this.#listeners });
    this.#listeners = [];
    this.#used = 0;
    this.#expireInMs = 0;
  }
}

/** Calls the listeners. An error of one must not keep the result from the others. It ends as an uncaught error, as in a promise. */
export function tellRecorded({ listeners }: JournalValue): void {
  for (const listener of listeners) {
    try {
      listener.recorded();
    } catch (fault) {
      reportError(fault);
    }
  }
}

/** Calls the listeners after a failure, as {@link tellRecorded} does. */
export function tellNotRecorded({ listeners }: JournalValue, reason: unknown): void {
  for (const listener of listeners) {
    try {
      listener.notRecorded(reason);
    } catch (fault) {
      reportError(fault);
    }
  }
}

/** The lines of a value. Values of another type have none; the rest of a damaged one is skipped. */
export function* readJournalValue(value: unknown): Generator<Uint8Array> {
  if (!(value instanceof Uint8Array)) return;
  for (let at = 0; at + LENGTH_OCTETS <= value.length;) {
    const length = ((value[at] as number) << 8) | (value[at + 1] as number);
    at += LENGTH_OCTETS;
    if (at + length > value.length) return;
    yield value.subarray(at, at + length);
    at += length;
  }
}

/** Keys that grow with time, so that they are written in order, and differ between nodes. */
export function createJournalKeys(nowMs: () => number, node: string): () => Deno.KvKey {
  let last = 0;
  return () => {
    last = Math.max(last + 1, nowMs() * 1024);
    return ["journal", last, node];
  };
}
