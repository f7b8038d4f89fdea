// Sign-ins by weekday and hour in the time zone of the browser: a grid whose fields are stronger for more sign-ins.

import { Fragment } from "preact";
import { DAY_MS } from "../../../../platform/durations.ts";
import type { HoursOfWeek } from "../../../api/charts/chart_summary.ts";
import { countText } from "../../app/format.ts";
import { locale, t } from "../../i18n/translate.ts";
import { ExportLinks } from "./report_table.tsx";
import type { ReportQuery } from "./report_range.ts";

const LEVELS = 5;
/** A Monday. */
const MONDAY_MS = Date.UTC(2024, 0, 1);

export function HoursPanel({ hours, query }: { hours: HoursOfWeek; query: ReportQuery }) {
  const title = t("reports.hours_title");
  const largest = Math.max(0, ...hours.total);
  const days = weekdays();
  const busiest = largest > 0 ? busiestText(hours, largest, days) : t("reports.none_in_range");
  return (
    <section class="panel report-panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        <span class="quiet small">{query.zone}</span>
        <div class="end">
          <ExportLinks report="hours" of={title} query={query} />
        </div>
      </div>
      <div class="hours-grid" role="img" aria-label={busiest}>
        <span />
        {[0, 6, 12, 18].map((hour) => <b key={hour} class="six">{hour}</b>)}
        {days.map(({ short, long }, day) => (
          <Fragment key={short}>
            <b>{short}</b>
            {Array.from({ length: 24 }, (_, hour) => {
              const at = day * 24 + hour;
              const total = hours.total[at] ?? 0;
              const rejected = hours.rejected[at] ?? 0;
              return (
                <i
                  key={hour}
                  class={`heat-${levelOf(total, largest)}`}
                  title={cellText({ day: long, hour, total, rejected })}
                />
              );
            })}
          </Fragment>
        ))}
      </div>
      <p class="report-empty quiet small">{busiest}</p>
    </section>
  );
}

function levelOf(total: number, largest: number): number {
  return total === 0 ? 0 : Math.max(1, Math.ceil(LEVELS * total / largest));
}

function weekdays(): { short: string; long: string }[] {
  const [short, long] = (["short", "long"] as const).map((weekday) =>
    new Intl.DateTimeFormat(locale(), { weekday, timeZone: "UTC" })
  );
  return Array.from({ length: 7 }, (_, day) => ({
    short: short?.format(MONDAY_MS + day * DAY_MS) ?? "",
    long: long?.format(MONDAY_MS + day * DAY_MS) ?? "",
  }));
}

function hoursText(hour: number): string {
  return `${hour}:00–${hour + 1}:00`;
}

function cellText({ hour, total, rejected, day }: {
  day: string;
  hour: number;
  total: number;
  rejected: number;
}): string {
  const counts = { total: countText(total), rejected: countText(rejected) };
  return t("reports.hours_cell", { day, hours: hoursText(hour), ...counts });
}

function busiestText({ total }: HoursOfWeek, largest: number, days: readonly { long: string }[]): string {
  const at = total.indexOf(largest);
  return t("reports.hours_busiest", {
    day: days[Math.floor(at / 24)]?.long ?? "",
    hours: hoursText(at % 24),
    count: countText(largest),
  });
}
