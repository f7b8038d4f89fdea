// The time condition of policies: weekly periods in the local time of a zone.

import { MINUTE_MS } from "../../platform/durations.ts";
import { type PolicyTime, WEEKDAYS } from "./policy.ts";

const DAY_MINUTES = 24 * 60;

/** The minutes since midnight of `HH:MM`, up to `24:00`; `null` for anything else. */
export function minutesOf(text: string): number | null {
  const found = /^([01][0-9]|2[0-4]):([0-5][0-9])$/.exec(text);
  if (found === null) return null;
  const minutes = Number(found[1]) * 60 + Number(found[2]);
  return minutes <= DAY_MINUTES ? minutes : null;
}

/** The local day and minute of a zone. The last result is cached, because a conversion costs more than a decision, and zones change at minutes. */
export class ZoneClock {
  readonly #zone: string;
  #minute = Number.NaN;
  /** 0 for Monday. */
  day = 0;
  /** Since midnight. */
  minute = 0;

  constructor(zone: string) {
    this.#zone = zone;
  }

  setTime(atMs: number): void {
    const minute = Math.floor(atMs / MINUTE_MS);
    if (minute === this.#minute) return;
    const local = Temporal.Instant.fromEpochMilliseconds(minute * MINUTE_MS).toZonedDateTimeISO(this.#zone);
    this.#minute = minute;
    this.day = local.dayOfWeek - 1;
    this.minute = local.hour * 60 + local.minute;
  }
}

/** A {@link PolicyTime}, ready to be compared. */
export class TimeWindow {
  readonly clock: ZoneClock;
  /** Bit 0 is Monday. */
  readonly #days: number;
  readonly #from: number;
  readonly #to: number;

  constructor({ days, from, to }: PolicyTime, clock: ZoneClock) {
    this.clock = clock;
    this.#days = days.reduce((bits, day) => bits | (1 << WEEKDAYS.indexOf(day)), 0);
    this.#from = minutesOf(from) ?? 0;
    this.#to = minutesOf(to) ?? DAY_MINUTES;
  }

  /** @param atMs since the epoch */
  contains(atMs: number): boolean {
    const { clock } = this;
    clock.setTime(atMs);
    return this.containsLocal(clock.day, clock.minute);
  }

  /** @param day 0 for Monday @param minute since midnight */
  containsLocal(day: number, minute: number): boolean {
    const isToday = (this.#days & (1 << day)) !== 0;
    if (this.#from < this.#to) return isToday && minute >= this.#from && minute < this.#to;
    const wasYesterday = (this.#days & (1 << ((day + 6) % 7))) !== 0;
    return (isToday && minute >= this.#from) || (wasYesterday && minute < this.#to);
  }
}

/** Whether the periods leave no minute of a week out, apart from the hours that clocks skip. Periods of other zones are not added up. */
export function coverWeek(windows: readonly TimeWindow[]): boolean {
  const zones = Map.groupBy(windows, ({ clock }) => clock);
  return zones.values().some((ofZone) => {
    for (let minute = 0; minute < WEEKDAYS.length * DAY_MINUTES; minute++) {
      const day = Math.floor(minute / DAY_MINUTES);
      if (!ofZone.some((window) => window.containsLocal(day, minute % DAY_MINUTES))) return false;
    }
    return true;
  });
}
