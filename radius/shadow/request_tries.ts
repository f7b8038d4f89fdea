// How a client repeats a request while the present server has not answered: retransmissions, and the same login in a new packet (RFC 5080 §2.2.1).
// From the times follows how long the client waits.

import { gapKey, type ShadowDay } from "./shadow_record.ts";

/** The tries of one request. */
interface Series {
  /** Packets that wait for an answer. */
  open: number;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  readonly gapsMs: number[];
}

/** The part of a day that the tries of a request add. */
export type TryFigures = Pick<ShadowDay, "gaps" | "tries" | "gaveUp" | "patienceMs" | "quietMs">;

/** Tries of one request whose times are counted. */
const MAX_GAPS = 32;
/** A client that is this much later than its usual gap does not try again. */
const LATE_FACTOR = 1.5;
const LATE_MS = 500;

export class RequestTries {
  readonly #series = new Map<string, Series>();

  /** A packet arrived. @param key the same for all packets of one request */
  begin(key: string, nowMs: number): void {
    const known = this.#series.get(key);
    if (known === undefined) {
      this.#series.set(key, { open: 1, count: 1, firstMs: nowMs, lastMs: nowMs, gapsMs: [] });
      return;
    }
    known.open++;
    repeat(known, nowMs);
  }

  /** A packet arrived again. */
  again(key: string, nowMs: number): void {
    const known = this.#series.get(key);
    if (known !== undefined) repeat(known, nowMs);
  }

  /**
   * A packet was answered, or its time is over. Call it once for each packet.
   *
   * @returns what is learnt; `null` while another packet of the request waits
   */
  end(key: string, { nowMs, isAnswered }: { nowMs: number; isAnswered: boolean }): TryFigures | null {
    const series = this.#series.get(key);
    if (series === undefined || --series.open > 0) return null;
    this.#series.delete(key);
    return figuresOf(series, { nowMs, isAnswered });
  }

  get size(): number {
    return this.#series.size;
  }
}

function repeat(series: Series, nowMs: number): void {
  if (series.gapsMs.length < MAX_GAPS) series.gapsMs.push(Math.max(0, nowMs - series.lastMs));
  series.count++;
  series.lastMs = nowMs;
}

function figuresOf(
  { count, firstMs, lastMs, gapsMs }: Series,
  { nowMs, isAnswered }: { nowMs: number; isAnswered: boolean },
): TryFigures {
  const gaps: Record<string, number> = {};
  for (const gapMs of gapsMs) {
    const key = gapKey(gapMs);
    if (key !== null) gaps[key] = (gaps[key] ?? 0) + 1;
  }
  const lastGapMs = gapsMs.at(-1) ?? 0;
  const hasStopped = count > 1 && nowMs - lastMs > lastGapMs * LATE_FACTOR + LATE_MS;
  return {
    ...{ gaps, tries: count },
    ...hasStopped ? { gaveUp: 1, patienceMs: lastMs - firstMs + lastGapMs } : { gaveUp: 0, patienceMs: 0 },
    quietMs: isAnswered && count === 1 ? Math.max(0, nowMs - firstMs) : 0,
  };
}
