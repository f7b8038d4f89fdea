// Counts rejected sign-ins: those of the last ten minutes, and the average of ten minutes over the last day. Pure, and stored with the position.

/** What is stored. Counts of times are in order; the last one is of `minute`. */
export interface RejectionCounts {
  /** The minute of the last count (minutes since the epoch). */
  readonly minute: number;
  /** The counts of the last ten minutes. */
  readonly minutes: readonly number[];
  /** The counts of the ten-minute periods of the last day, without the current one. */
  readonly periods: readonly number[];
  /** The count of the current period of ten minutes. */
  readonly current: number;
  /** Since when counts exist (minutes since the epoch). */
  readonly sinceMinute: number;
}

const MINUTE_MS = 60_000;
const WINDOW_MINUTES = 10;
const DAY_PERIODS = 144;
const DAY_MINUTES = DAY_PERIODS * WINDOW_MINUTES;
/** Clocks of nodes differ by less. */
const MAX_AHEAD_MINUTES = 5;

/** No sign-in was rejected. */
export function emptyCounts(nowMs: number): RejectionCounts {
  const minute = Math.floor(nowMs / MINUTE_MS);
  return {
    minute,
    minutes: zeros(WINDOW_MINUTES),
    periods: zeros(DAY_PERIODS),
    current: 0,
    sinceMinute: minute,
  };
}

/** The counts as of now. A clock that was set back by more than some minutes starts them again. */
export function countsAt(counts: RejectionCounts, nowMs: number): RejectionCounts {
  const minute = Math.floor(nowMs / MINUTE_MS);
  return minute < counts.minute - MAX_AHEAD_MINUTES ? emptyCounts(nowMs) : moveTo(counts, minute);
}

/** Moves the window forward. */
function moveTo(counts: RejectionCounts, minute: number): RejectionCounts {
  if (minute <= counts.minute) return counts;
  const passed = minute - counts.minute;
  const minutes = [...counts.minutes, ...zeros(Math.min(passed, WINDOW_MINUTES))].slice(-WINDOW_MINUTES);
  const ended = Math.floor(minute / WINDOW_MINUTES) - Math.floor(counts.minute / WINDOW_MINUTES);
  if (ended === 0) return { ...counts, minute, minutes };
  const added = [counts.current, ...zeros(Math.min(ended - 1, DAY_PERIODS))];
  return {
    ...counts,
    minute,
    minutes,
    periods: [...counts.periods, ...added].slice(-DAY_PERIODS),
    current: 0,
  };
}

/**
 * Counts a rejected sign-in at its time, so that those of an outage are counted as they were. One of the future counts as of now. One that is
 * older than the window counts only for the average.
 */
export function countRejection(counts: RejectionCounts, atMs: number, nowMs: number): RejectionCounts {
  const minute = Math.floor(Math.min(atMs, nowMs) / MINUTE_MS);
  const isSetBack = Math.floor(nowMs / MINUTE_MS) < counts.minute - MAX_AHEAD_MINUTES;
  const now = moveTo(isSetBack ? emptyCounts(nowMs) : counts, minute);
  const minutes = [...now.minutes];
  const at = minutes.length - 1 - (now.minute - minute);
  const before = minutes[at];
  if (before !== undefined) minutes[at] = before + 1;
  return { ...now, minutes, current: now.current + 1 };
}

/** The rejected sign-ins of the last ten minutes. */
export function inTenMinutes({ minutes }: RejectionCounts): number {
  return minutes.reduce((sum, count) => sum + count, 0);
}

/** The average of ten minutes over the day before; `null` before there are counts of a day. */
export function averageOf({ periods, minute, sinceMinute }: RejectionCounts): number | null {
  if (minute - sinceMinute < DAY_MINUTES) return null;
  return periods.reduce((sum, count) => sum + count, 0) / DAY_PERIODS;
}

export interface SpikeLimits {
  readonly spikeCount: number;
  readonly spikeFactor: number;
}

/** The count from which on the last ten minutes are a spike. */
export function spikeThreshold(counts: RejectionCounts, { spikeCount, spikeFactor }: SpikeLimits): number {
  return Math.max(spikeCount, spikeFactor * (averageOf(counts) ?? 0));
}

/**
 * Limits what an attack adds to the average: a period that is a spike counts as the threshold. Otherwise an attack of a day would hide the next
 * one.
 */
export function limitPeriod(counts: RejectionCounts, limits: SpikeLimits): RejectionCounts {
  const most = Math.ceil(spikeThreshold(counts, limits));
  return counts.current <= most ? counts : { ...counts, current: most };
}

/** Counts as stored; `null` if they cannot be used. */
export function readCounts(value: unknown): RejectionCounts | null {
  const { minute, minutes, periods, current, sinceMinute } = (value ?? {}) as Partial<RejectionCounts>;
  const numbers = [minute, current, sinceMinute, ...minutes ?? [], ...periods ?? []];
  const isUsable = minutes?.length === WINDOW_MINUTES && periods?.length === DAY_PERIODS &&
    numbers.every((number) => Number.isInteger(number) && Number(number) >= 0);
  return isUsable ? value as RejectionCounts : null;
}

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}
