// The count tiles of the Overview page. Each tile opens the list of what it counts.

import type { FactorlessAnswer, OverviewCounts } from "../../../api/overview/overview_types.ts";
import type { Models } from "../../app/app_context.ts";
import { countText, relativeText } from "../../app/format.ts";
import type { Resource } from "../../app/resource.ts";
import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";
import { type DayAnswer, sumOf } from "./overview_calls.ts";

interface TilesProps {
  readonly models: Models;
  readonly counts: Resource<OverviewCounts>;
  readonly factorless: Resource<FactorlessAnswer>;
  readonly day: Resource<DayAnswer>;
}

/** The content of a tile. */
interface TileValue {
  /** `null`: not known yet. */
  readonly count: number | null;
  /** The period, or the time of the count. */
  readonly note: string;
  /** The count is a lower bound. */
  readonly isCut?: boolean;
}

export function OverviewTiles({ models, counts, factorless, day }: TilesProps) {
  const since = `from=${encodeURIComponent(fromTime(day))}`;
  const lastDay = t("overview.last_day");
  const now = t("common.now");
  const isEmbedded = counts.state.value.kind !== "ready" || counts.state.value.value.pending.isEmbedded;
  return (
    <ul class="tiles" aria-label={t("overview.counts")}>
      <Tile
        label={t("common.sign_ins")}
        href={`/history?${since}`}
        of={day}
        value={({ outcomes }) => ({
          count: Object.values(outcomes).reduce((all, one) => all + sumOf(one), 0),
          note: lastDay,
        })}
      />
      <Tile
        label={t("overview.rejected")}
        href={`/history?outcome=rejected&${since}`}
        of={day}
        value={({ outcomes }) => ({ count: sumOf(outcomes.rejected), note: lastDay })}
      />
      <Tile
        label={t(isEmbedded ? "common.pending_approvals" : "overview.waiting")}
        href={isEmbedded ? "/live?approvals=open" : "/live?state=SECONDFACTOR_AWAIT_DEVICE_APPROVAL"}
        mark="waiting"
        of={counts}
        value={({ pending }) => ({ count: pending.count, note: now })}
      />
      <Tile
        label={t("overview.factorless")}
        href="/users?status=active&enrolled=no"
        mark="warning"
        of={factorless}
        value={(answer) => ({
          count: answer.count,
          note: factorlessNote(models, answer),
          isCut: answer.isCut,
        })}
      />
      <Tile
        label={t("overview.locked")}
        href="/users?status=locked"
        mark="problem"
        of={counts}
        value={({ locked }) => ({ count: locked?.count ?? null, note: now, isCut: locked?.isCut === true })}
      />
      <Tile
        label={t("overview.sync_problems")}
        href="/targets?sync=problem"
        mark="problem"
        of={counts}
        value={({ sync }) => ({ count: sync?.count ?? null, note: now })}
      />
    </ul>
  );
}

/** The start of the period that the counts cover, as the History page reads it; "" before they are loaded. */
function fromTime({ state: { value } }: Resource<DayAnswer>): string {
  return value.kind === "ready" ? new Date(value.value.fromMs).toISOString() : "";
}

/** A younger count is shown as one of now. */
const FRESH_MS = 60_000;

/** How fresh the number is, or the progress of the count. */
function factorlessNote({ clock }: Models, { count, countedMs, nowMs, progress }: FactorlessAnswer): string {
  if (progress !== null && count === null) {
    const share = progress.total === 0 ? 0 : Math.floor(100 * progress.counted / progress.total);
    return t("overview.counting", { share });
  }
  if (countedMs === null) return t("overview.not_counted");
  const atMs = Math.max(nowMs, clock.nowMs.value);
  return atMs - countedMs < FRESH_MS
    ? t("common.now")
    : t("overview.counted", { time: relativeText(countedMs, atMs) });
}

interface TileProps<T> {
  readonly label: string;
  readonly href: string;
  /** Of a count above zero. */
  readonly mark?: keyof typeof MARKS;
  readonly of: Resource<T>;
  readonly value: (answer: T) => TileValue;
}

const MARKS = {
  waiting: { tone: "wait", icon: "line-clock" },
  warning: { tone: "wait", icon: "line-alert" },
  problem: { tone: "bad", icon: "line-alert" },
} as const;

function Tile<T>({ label, href, mark, of, value }: TileProps<T>) {
  const state = of.state.value;
  const shown = state.kind === "ready" ? value(state.value) : null;
  const note = shown?.note ?? t(state.kind === "failed" ? "overview.unavailable" : "common.loading");
  const count = shown?.count ?? null;
  const marked = mark !== undefined && count !== null && count > 0 ? MARKS[mark] : null;
  return (
    <li>
      <a class={`tile ${marked === null ? "" : `tone-${marked.tone}`}`} href={href}>
        <span class="tile-label">{label}</span>
        <span class="tile-count">
          {count === null ? "–" : countText(count)}
          {shown?.isCut === true && "+"}
          {marked !== null && <Icon name={marked.icon} size={16} />}
        </span>
        <span class="tile-note">
          {of.problem.value !== null && shown !== null ? t("overview.old") : note}
        </span>
      </a>
    </li>
  );
}
