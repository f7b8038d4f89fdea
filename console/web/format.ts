// Numbers and times as people read them.

const numberFormat = new Intl.NumberFormat("en", { useGrouping: true });
const timeFormat = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const fullFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});

export function countText(count: number): string {
  return numberFormat.format(count).replaceAll(",", "\u202f");
}

/** The time of day, to the second. */
export function timeText(atMs: number): string {
  return timeFormat.format(atMs);
}

export function fullTimeText(atMs: number): string {
  return fullFormat.format(atMs);
}

/** How long, in the largest unit that says enough: "6 s", "4 min", "2 h". */
export function durationText(spanMs: number): string {
  const seconds = Math.max(0, Math.floor(spanMs / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Minutes and seconds left: "0:42". */
export function countdownText(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Since the start, finer while short: "+41 ms", "+6.2 s". */
export function offsetText(spanMs: number): string {
  if (spanMs < 1000) return `+${Math.max(0, Math.round(spanMs))} ms`;
  const seconds = Math.max(0, spanMs) / 1000;
  return seconds < 100 ? `+${seconds.toFixed(1)} s` : `+${durationText(spanMs)}`;
}
