// What the list is narrowed to: a search, a state and a client. It lives in the address, so a filtered list is a link.

import { useRef } from "preact/hooks";
import { countText } from "../format.ts";
import type { Models } from "../models/models.ts";
import { NODES, OUTCOMES } from "../words.ts";
import { Icon } from "./icon.tsx";

const TYPING_PAUSE_MS = 150;

export function FilterBar({ models }: { models: Models }) {
  const { router, board } = models;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const state = router.param("state");
  const client = router.param("client");
  const text = router.param("q");
  const shown = board.rows.value.length;
  const total = board.total.value;
  return (
    <div class="filters" role="search" aria-label="Logins">
      <div class="search">
        <Icon name="search" />
        <input
          class="input"
          type="search"
          aria-label="Search user, client or address"
          placeholder="User, client or address"
          defaultValue={text}
          onInput={(event) => {
            const { value } = event.currentTarget;
            clearTimeout(timer.current);
            timer.current = setTimeout(() => router.setParams({ q: value.trim() }), TYPING_PAUSE_MS);
          }}
        />
      </div>
      <select
        class="input"
        aria-label="State"
        value={state}
        onChange={(event) => router.setParams({ state: event.currentTarget.value })}
      >
        <option value="">Every state</option>
        <option value="live">Under way</option>
        <optgroup label="Step">
          {Object.entries(NODES).map(([name, { label }]) => <option key={name} value={name}>{label}</option>)}
        </optgroup>
        <optgroup label="Outcome">
          {Object.entries(OUTCOMES).map(([name, { label }]) => (
            <option key={name} value={name}>{label}</option>
          ))}
        </optgroup>
      </select>
      <select
        class="input"
        aria-label="Client"
        value={client}
        onChange={(event) => router.setParams({ client: event.currentTarget.value })}
      >
        <option value="">Every client</option>
        {withChosen(board.clients.value, client).map((name) => <option key={name} value={name}>{name}
        </option>)}
      </select>
      <ActiveFilters models={models} />
      <span class="shown">
        {shown === total ? `${countText(total)} logins` : `${countText(shown)} of ${countText(total)} logins`}
      </span>
    </div>
  );
}

/** A link may name a client that has not logged anybody in lately. */
function withChosen(names: readonly string[], chosen: string): readonly string[] {
  return chosen === "" || names.includes(chosen) ? names : [...names, chosen];
}

function ActiveFilters({ models: { router } }: { models: Models }) {
  const active = ["q", "state", "client"].filter((name) => router.param(name) !== "");
  if (active.length === 0) return null;
  return (
    <button
      type="button"
      class="filter-chip"
      onClick={() => router.setParams({ q: "", state: "", client: "" })}
    >
      {active.length === 1 ? "1 filter" : `${active.length} filters`}
      <Icon name="close" size={12} />
      <span class="unseen">Clear</span>
    </button>
  );
}
