// What the list is narrowed to: a search, a state, a client and a target. It lives in the address, so a filtered list is a link.

import { useComputed } from "@preact/signals";
import { countText } from "../format.ts";
import type { LiveModels as Models } from "../models/live_models.ts";
import { OUTCOME_NAMES, outcomeWords, STEP_NAMES, stepLabel } from "../words.ts";
import { t } from "../i18n/translate.ts";
import { SearchBox } from "./search_box.tsx";
import { Symbol } from "./symbol.tsx";

export function FilterBar({ models }: { models: Models }) {
  const { router, board } = models;
  const state = router.param("state");
  return (
    <div class="filters" role="search" aria-label={t("live.logins")}>
      <SearchBox models={models} label={t("live.search")} placeholder={t("live.search_short")} />
      <select
        class="input"
        aria-label={t("live.state")}
        value={state}
        onChange={(event) => router.setParams({ state: event.currentTarget.value })}
      >
        <option value="">{t("live.every_state")}</option>
        <option value="live">{t("live.state_live")}</option>
        <optgroup label={t("live.step")}>
          {(["start", ...STEP_NAMES] as const).map((name) => (
            <option key={name} value={name}>{stepLabel(name)}</option>
          ))}
        </optgroup>
        <optgroup label={t("live.outcome")}>
          {OUTCOME_NAMES.map((name) => <option key={name} value={name}>{outcomeWords(name).label}</option>)}
        </optgroup>
      </select>
      <Named router={router} name="client" names={board.clients.value} />
      <Named router={router} name="target" names={board.targets.value} />
      <ActiveFilters models={models} />
      <Shown board={board} />
    </div>
  );
}

interface NamedProps extends Pick<Models, "router"> {
  readonly name: "client" | "target";
  readonly names: readonly string[];
}

function Named({ router, name, names }: NamedProps) {
  const chosen = router.param(name);
  return (
    <select
      class="input"
      aria-label={t(`live.${name}`)}
      value={chosen}
      onChange={(event) => router.setParams({ [name]: event.currentTarget.value })}
    >
      <option value="">{t(`live.every_${name}`)}</option>
      {withChosen(names, chosen).map((name) => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}

/** How many of how many; drawn alone, because it changes with nearly every event. */
function Shown({ board }: { board: Models["board"] }) {
  const text = useComputed(() => {
    const [shown, total] = [board.rows.value.length, board.total.value];
    return shown === total
      ? t("live.shown_all", { count: total })
      : t("live.shown_some", { shown: countText(shown), count: total });
  });
  return <span class="shown">{text}</span>;
}

/** A link may name a client that has not logged anybody in lately. */
function withChosen(names: readonly string[], chosen: string): readonly string[] {
  return chosen === "" || names.includes(chosen) ? names : [...names, chosen];
}

function ActiveFilters({ models: { router } }: { models: Models }) {
  const active = ["q", "state", "client", "target"].filter((name) => router.param(name) !== "");
  if (active.length === 0) return null;
  return (
    <button
      type="button"
      class="filter-chip"
      onClick={() => router.setParams({ q: "", state: "", client: "", target: "" })}
    >
      {t("live.filters", { count: active.length })}
      <Symbol name="line-close" size={12} />
      <span class="unseen">{t("live.clear")}</span>
    </button>
  );
}
