// Buckets for the durations of logins, so that charts can add them up and read percentiles.

/** The bounds of the buckets grow by the square root of two, from 1 ms on. */
export const TIME_BUCKETS = 44;

/** Clients that are counted one by one; all further clients share {@link OTHER_CLIENTS}. */
export const MAX_COUNTED_CLIENTS = 200;
export const OTHER_CLIENTS = "(others)";

/** The bucket of a duration. */
export function bucketOf(tookMs: number): number {
  if (!(tookMs > 1)) return 0;
  return Math.min(TIME_BUCKETS - 1, Math.ceil(2 * Math.log2(tookMs)));
}
