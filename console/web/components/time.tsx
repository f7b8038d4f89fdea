// Times: relative or absolute, an expiry, and the time that is left.

import { countdownText, dayText, fullTimeText, relativeText, timeText, zoneText } from "../app/format.ts";
import { localMidnight } from "../app/time_range.ts";
import type { Models } from "../app/app_context.ts";
import { t } from "../i18n/translate.ts";

interface TimeProps {
  readonly models: Pick<Models, "clock">;
  /** In the server's time. */
  readonly atMs: number;
  /** Shows the date instead of "3 min ago". */
  readonly absolute?: boolean;
}

export function Time({ models, atMs, absolute = false }: TimeProps) {
  const full = fullTimeText(atMs);
  return (
    <time class="time" dateTime={new Date(atMs).toISOString()} title={full}>
      {absolute ? full : relativeText(atMs, models.clock.nowMs.value)}
    </time>
  );
}

interface ClockProps {
  readonly atMs: number;
  /** A time of the day that is clear from the context. Default: a {@link DayTitle} above has the day of `atMs`. */
  readonly dayOfMs?: number;
}

/** The time of day of a row of a log: "14:07:39". The date as well if it is another day. */
export function ClockTime({ atMs, dayOfMs = atMs }: ClockProps) {
  const full = fullTimeText(atMs);
  return (
    <time class="time" dateTime={new Date(atMs).toISOString()} title={full}>
      {isNewDay(atMs, dayOfMs) ? full : timeText(atMs)}
    </time>
  );
}

/** The day of the rows below, with the time zone of their times. */
export function DayTitle({ atMs, nowMs }: { atMs: number; nowMs: number }) {
  return (
    <span class="day-title">
      {dayText(atMs, nowMs)} <span class="quiet">{zoneText(atMs)}</span>
    </span>
  );
}

/** Whether a row begins a new day in the time zone of the browser. */
export function isNewDay(atMs: number, previousMs: number | undefined): boolean {
  return previousMs === undefined || localMidnight(atMs) !== localMidnight(previousMs);
}

export function Expiry({ models, atMs }: { models: Models; atMs: number }) {
  return (
    <p class="quiet small">
      {t("common.expires")} <Time models={models} atMs={atMs} absolute />
    </p>
  );
}

interface TimeLeftProps {
  readonly startMs: number;
  readonly deadlineMs: number;
  readonly nowMs: number;
  /** The label, for screen readers. */
  readonly label: string;
}

export function TimeLeft({ startMs, deadlineMs, nowMs, label }: TimeLeftProps) {
  const wholeMs = Math.max(1, deadlineMs - startMs);
  // The page's clock ticks once a second, so it can be slightly behind the start.
  const leftMs = Math.min(wholeMs, Math.max(0, deadlineMs - nowMs));
  const share = leftMs / wholeMs;
  return (
    <span class={`time-left ${share < 0.5 ? "tone-wait" : ""}`}>
      <span class="mono">
        <span class="unseen">{`${label} `}</span>
        {countdownText(leftMs)}
      </span>
      <ShareBar share={share} />
    </span>
  );
}

/** A share of 0 to 1 as a bar. Screen readers skip it. */
export function ShareBar({ share }: { share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <i style={{ transform: `scaleX(${share.toFixed(3)})` }} />
    </span>
  );
}
