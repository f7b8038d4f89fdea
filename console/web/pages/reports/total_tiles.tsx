// The totals of the range, each with the total of the same time before.

import type { RangeTotals } from "../../../api/charts/chart_summary.ts";
import { countText, secondsText } from "../../app/format.ts";
import { t } from "../../i18n/translate.ts";
import { historyHref } from "./report_range.ts";

interface TotalTilesProps {
  readonly totals: RangeTotals;
  /** `null`: the counts do not go back so far. */
  readonly previous: RangeTotals | null;
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly filter: { readonly client: string; readonly target: string };
}

interface TileProps {
  readonly label: string;
  readonly value: string;
  readonly before: string;
  readonly href?: string;
}

export function TotalTiles({ totals, previous, range, filter }: TotalTilesProps) {
  const count = (label: string, of: (of: RangeTotals) => number, outcome?: string) => (
    <Tile
      label={label}
      value={countText(of(totals))}
      before={beforeText(of(totals), previous === null ? null : of(previous), countText)}
      {...outcome === undefined ? {} : { href: historyHref(range, { ...filter, outcome }) }}
    />
  );
  const time = (label: string, of: (of: RangeTotals) => number | null) => {
    const [now, before] = [of(totals), previous === null ? null : of(previous)];
    return (
      <Tile
        label={label}
        value={now === null ? "–" : secondsText(now)}
        before={now === null ? t("common.no_sign_ins") : beforeText(now, before, secondsText)}
      />
    );
  };
  return (
    <ul class="report-tiles" aria-label={t("reports.totals")}>
      {count(t("common.sign_ins"), ({ total }) => total, "")}
      {count(t("reports.accepted"), ({ outcomes }) => outcomes.accepted, "accepted")}
      {count(t("reports.rejected"), ({ outcomes }) => outcomes.rejected, "rejected")}
      {count(
        t("reports.other"),
        ({ outcomes }) => outcomes.expired + outcomes.cancelled + outcomes.superseded,
      )}
      {time(t("reports.median"), ({ p50Ms }) => p50Ms)}
      {time(t("reports.p95"), ({ p95Ms }) => p95Ms)}
    </ul>
  );
}

function Tile({ label, value, before, href }: TileProps) {
  const inside = (
    <>
      <span class="quiet">{label}</span>
      <strong>{value}</strong>
      <span class="quiet small">{before}</span>
    </>
  );
  return (
    <li class="report-tile">
      {href === undefined ? <div>{inside}</div> : <a href={href}>{inside}</a>}
    </li>
  );
}

/** "1,020 before (+12 %)". */
function beforeText(now: number, before: number | null, text: (value: number) => string): string {
  if (before === null) return t("reports.no_earlier");
  if (before === 0) return t("reports.before_none", { before: text(0) });
  const change = Math.round(100 * (now - before) / before);
  return t("reports.before", { before: text(before), change: changeText(change) });
}

function changeText(percent: number): string {
  return `${percent > 0 ? "+" : percent < 0 ? "\u2212" : ""}${Math.abs(percent)}`;
}
