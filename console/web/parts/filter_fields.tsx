// Where a list's filters are set: a search, names, choices and moments, each from its row.

import type { Filter } from "../models/filters.ts";
import type { Models } from "../models/models.ts";
import { SearchBox } from "./search_box.tsx";

interface FieldsProps {
  readonly models: Pick<Models, "router">;
  /** What is narrowed, for screen readers. */
  readonly label: string;
  readonly filters: readonly Filter[];
  /** The bar's class. */
  readonly look?: string | undefined;
}

export function FilterFields({ models, label, filters, look = "people-filters" }: FieldsProps) {
  if (filters.every(({ by }) => by === undefined)) return null;
  return (
    <div class={look} role="search" aria-label={label}>
      {filters.map((filter) => <FilterField key={filter.name} models={models} filter={filter} />)}
    </div>
  );
}

interface FieldProps extends Pick<FieldsProps, "models"> {
  readonly filter: Filter;
}

function FilterField({ models, filter }: FieldProps) {
  const { name, label, by, options = [], every, text = String } = filter;
  const { router } = models;
  const set = (value: string) => router.setParams({ [name]: value, page: "" });
  if (by === "search") return <SearchBox models={models} label={label} name={name} />;
  if (by === "moment") return <Moment router={router} name={name} label={label} />;
  if (by === "name") {
    return (
      <input
        class="input"
        aria-label={label}
        placeholder={label}
        maxLength={200}
        value={router.param(name)}
        onChange={(event) => set(event.currentTarget.value.trim())}
      />
    );
  }
  return by === "choice" && (
    <select
      class="input"
      aria-label={label}
      value={router.param(name)}
      onChange={(event) => set(event.currentTarget.value)}
    >
      <option value="">{every}</option>
      {options.map((option) => <option key={option} value={option}>{text(option)}</option>)}
    </select>
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
