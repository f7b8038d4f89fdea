// What the list is narrowed to: a search, a state and a client. It lives in the address, so a filtered list is a link.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { countText } from "../format.ts";
import type { LiveModels as Models } from "../models/live_models.ts";
import { NODES, OUTCOMES } from "../words.ts";
import { Icon } from "./icon.tsx";

const TYPING_PAUSE_MS = 150;

export function FilterBar({ models }: { models: Models }) {
  const { router, board } = models;
  const state = router.param("state");
  const client = router.param("client");
  const shown = board.rows.value.length;
  const total = board.total.value;
  return (
    <div class="filters" role="search" aria-label="Logins">
      <Search models={models} />
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
        {shown === total ? loginsText(total) : `${countText(shown)} of ${loginsText(total)}`}
      </span>
    </div>
  );
}

function loginsText(count: number): string {
  return `${countText(count)} ${count === 1 ? "login" : "logins"}`;
}

/** The box is ahead of the address while somebody types, and follows it otherwise. */
function Search({ models: { router } }: { models: Models }) {
  const text = router.param("q");
  const typed = useSignal(text);
  const written = useRef(text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    typed.value = text;
  }, [text]);
  const write = () => {
    written.current = typed.value.trim();
    router.setParams({ q: written.current });
  };
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        aria-label="Search user, client or address"
        placeholder="User, client or address"
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = setTimeout(write, TYPING_PAUSE_MS);
        }}
      />
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
