// A moment: how long ago in lists, the full time on hover and for those who ask.

import { fullTimeText, relativeText } from "../format.ts";
import type { Models } from "../models/models.ts";

interface TimeProps {
  readonly models: Pick<Models, "clock">;
  /** Milliseconds since the epoch, the server's. */
  readonly atMs: number;
  /** Written out instead of "3 min ago". */
  readonly absolute?: boolean;
}

export function Time({ models, atMs, absolute = false }: TimeProps) {
  const full = fullTimeText(atMs);
  return (
    <time class="mono time" dateTime={new Date(atMs).toISOString()} title={full}>
      {absolute ? full : relativeText(atMs, models.clock.nowMs.value)}
    </time>
  );
}
