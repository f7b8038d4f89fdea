// What the history is narrowed to: outcome, user, client, target and a span of time; all of it in the address alone.

import type { Models } from "../../models/models.ts";
import { OUTCOME_NAMES, outcomeWords } from "../../words.ts";
import { t } from "../../words/translate.ts";
import { SearchBox } from "../search_box.tsx";

export function HistoryFilters({ models }: { models: Models }) {
  const { router } = models;
  return (
    <div class="filters" role="search" aria-label={t("records.logins")}>
      <SearchBox models={models} label={t("records.filter_user")} name="user" />
      <select
        class="input"
        aria-label={t("records.outcome")}
        value={router.param("outcome")}
        onChange={(event) => router.setParams({ outcome: event.currentTarget.value })}
      >
        <option value="">{t("records.every_outcome")}</option>
        {OUTCOME_NAMES.map((name) => <option key={name} value={name}>{outcomeWords(name).label}</option>)}
      </select>
      <Named router={router} name="client" label={t("records.filter_client")} />
      <Named router={router} name="target" label={t("records.target")} />
      <Moment router={router} name="from" label={t("records.filter_from")} />
      <Moment router={router} name="to" label={t("records.filter_to")} />
    </div>
  );
}

/** A name as it is written, in full. */
function Named({ router, name, label }: { router: Models["router"]; name: string; label: string }) {
  return (
    <input
      class="input"
      aria-label={label}
      placeholder={label}
      maxLength={200}
      value={router.param(name)}
      onChange={(event) => router.setParams({ [name]: event.currentTarget.value.trim() })}
    />
  );
}

/** A date and time of the browser's own zone. */
export function Moment(
  { router, name, label }: { router: Models["router"]; name: string; label: string },
) {
  return (
    <label class="moment">
      <span>{label}</span>
      <input
        class="input"
        type="datetime-local"
        value={localText(router.param(name))}
        onChange={(event) => {
          const atMs = Date.parse(event.currentTarget.value);
          router.setParams({ [name]: Number.isNaN(atMs) ? "" : new Date(atMs).toISOString() });
        }}
      />
    </label>
  );
}

/** `datetime-local` takes the time of here, without a zone. */
function localText(value: string): string {
  const atMs = Date.parse(value);
  if (Number.isNaN(atMs)) return "";
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
