// Names of time zones.

/** Whether a text is the IANA name of a time zone. An offset such as `+01:00` is none, because it ignores daylight saving time. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(text)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text);
    return true;
  } catch (_unknownZone) {
    return false;
  }
}
