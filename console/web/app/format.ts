// Formats numbers and times for display.

import { locale } from "../i18n/translate.ts";
import { localMidnight } from "./time_range.ts";

const numberFormat = new Intl.NumberFormat("en", { useGrouping: true });
const timeFormat = perLocale((here) =>
  new Intl.DateTimeFormat(here, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
);
const fullFormat = perLocale((here) =>
  new Intl.DateTimeFormat(here, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })
);
const dateFormat = perLocale((here) => new Intl.DateTimeFormat(here, { dateStyle: "medium" }));
const dayFormat = perLocale((here) =>
  new Intl.DateTimeFormat(here, { weekday: "long", day: "numeric", month: "long", year: "numeric" })
);
const dayNameFormat = perLocale((here) => new Intl.RelativeTimeFormat(here, { numeric: "auto" }));
const zoneFormat = perLocale((here) => new Intl.DateTimeFormat(here, { timeZoneName: "shortOffset" }));
const relativeFormat = perLocale((here) =>
  new Intl.RelativeTimeFormat(here, { style: "short", numeric: "auto" })
);

/** A format of the current language. It is created once for each language, because that is slow. */
function perLocale<T>(make: (locale: string) => T): () => T {
  let made: { readonly locale: string; readonly format: T } | null = null;
  return () => {
    const here = locale();
    if (made?.locale !== here) made = { locale: here, format: make(here) };
    return made.format;
  };
}

const oneDecimalFormat = perLocale((here) =>
  new Intl.NumberFormat(here, { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false })
);

/** A number with one decimal in the chosen language: "2.9", in German "2,9". */
export function decimalText(value: number): string {
  return oneDecimalFormat().format(value);
}

/** Seconds with one decimal: "2.9 s". */
export function secondsText(spanMs: number): string {
  return `${decimalText(spanMs / 1000)} s`;
}

export function countText(count: number): string {
  return numberFormat.format(count).replaceAll(",", "\u202f");
}

/** The time of day, to the second. */
export function timeText(atMs: number): string {
  return timeFormat().format(atMs);
}

/** The time of day, to the minute: "14:03". */
export function minuteText(atMs: number): string {
  const format = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return new Date(atMs).toLocaleTimeString(locale(), format);
}

export function fullTimeText(atMs: number): string {
  return fullFormat().format(atMs);
}

/** A day, with its name if it is today or yesterday: "Today · Saturday 28 November 2026". */
export function dayText(atMs: number, nowMs: number): string {
  const day = dayFormat().format(atMs);
  const daysAgo = [0, -1].find((days) => localMidnight(nowMs, days) === localMidnight(atMs));
  if (daysAgo === undefined) return day;
  const name = dayNameFormat().format(daysAgo, "day");
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} · ${day}`;
}

/** The time zone of a time as a difference: "UTC+1". */
export function zoneText(atMs: number): string {
  const part = zoneFormat().formatToParts(atMs).find(({ type }) => type === "timeZoneName");
  return (part?.value ?? "UTC").replace("GMT", "UTC");
}

/** A duration in its largest useful unit: "6 s", "4 min", "2 h". */
export function durationText(spanMs: number): string {
  const seconds = Math.max(0, Math.floor(spanMs / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** A duration, with more precision for short ones: "41 ms", "6.2 s", "1 min 42 s". */
export function spanText(spanMs: number): string {
  return offsetText(spanMs).slice(1);
}

/** An amount of data in the unit that gives one to three digits: "980 B", "1.2 MB". */
export function octetsText(octets: number): string {
  let amount = octets;
  for (const unit of ["B", "kB", "MB", "GB", "TB"]) {
    if (amount < 1000) {
      return `${unit === "B" || amount >= 10 ? amount.toFixed(0) : decimalText(amount)} ${unit}`;
    }
    amount /= 1000;
  }
  return `${decimalText(amount)} PB`;
}

/** Minutes and seconds left: "0:42". */
export function countdownText(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The time since a start, with more precision for short ones: "+41 ms", "+6.2 s", "+1 min 42 s". */
export function offsetText(spanMs: number): string {
  if (spanMs < 1000) return `+${Math.max(0, Math.round(spanMs))} ms`;
  if (spanMs < 100_000) return `+${secondsText(spanMs)}`;
  const seconds = Math.floor(spanMs / 1000);
  const rest = seconds % 60;
  return seconds < 6000 && rest > 0
    ? `+${Math.floor(seconds / 60)} min ${rest} s`
    : `+${durationText(spanMs)}`;
}

/** The time from now: "3 min ago", "in 2 h". A date if it is more than 15 days away. */
export function relativeText(atMs: number, nowMs: number): string {
  const exactS = Math.round((atMs - nowMs) / 1000);
  // The page's clock ticks once a second, so the time of an answer can be slightly ahead of it.
  const spanS = exactS > 0 && exactS <= MAX_STEP_AHEAD_S ? 0 : exactS;
  for (const [unit, seconds, limit] of RELATIVE_UNITS) {
    if (Math.abs(spanS) < limit) {
      return withoutDots(relativeFormat().format(Math.trunc(spanS / seconds), unit));
    }
  }
  return dateFormat().format(atMs);
}

/** "3 min. ago" without the full stop. */
function withoutDots(text: string): string {
  return text.replace(/(\p{L})\./gu, "$1");
}

const MAX_STEP_AHEAD_S = 2;
const RELATIVE_UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number, number])[] = [
  ["second", 1, 60],
  ["minute", 60, 3600],
  ["hour", 3600, 48 * 3600],
  ["day", 86_400, 15 * 86_400],
];
