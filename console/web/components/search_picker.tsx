// Picks one of many objects: the server finds up to twenty for the typed text.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { failureText } from "../app/api_client.ts";
import { runLater } from "../app/clock_model.ts";
import { TextField } from "./field.tsx";
import { ErrorAlert } from "./alert.tsx";

interface PickerOption {
  readonly name: string;
  /** Details that distinguish it from others. */
  readonly more?: ComponentChildren;
}

interface SearchPickerProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  /** The message if nothing is found. */
  readonly none: string;
  /** The label of the options, for screen readers. */
  readonly optionsLabel: string;
  readonly find: (text: string) => Promise<readonly PickerOption[]>;
  /** The target to search. Another target searches again. */
  readonly target: string;
  readonly onPick: (name: string) => Promise<void>;
  /** Why the field is disabled. */
  readonly reason?: string | undefined;
}

const TYPING_PAUSE_MS = 150;

/** The matches, and the text that they match. */
interface Found {
  readonly text: string;
  readonly offers: readonly PickerOption[];
}

type SearchProps = Pick<SearchPickerProps, "find" | "target"> & { readonly onPick: (name: string) => void };

/** Searches for the typed text after a pause, and handles the keys of the field. */
function useOptionSearch({ find, target, onPick }: SearchProps) {
  const typed = useSignal("");
  const found = useSignal<Found | null>(null);
  const problem = useSignal<string | null>(null);
  /** Where the arrow keys moved the highlight; `null` until they are used. */
  const moved = useSignal<number | null>(null);
  /** The text for which Enter was pressed before its matches arrived. Effects run late, so none may reset it. */
  const enteredFor = useRef<string | null>(null);
  const turn = useRef(0);
  const text = typed.value.trim();
  const pick = (name: string) => {
    enteredFor.current = null;
    typed.value = "";
    found.value = null;
    onPick(name);
  };
  useEffect(() => {
    const mine = ++turn.current;
    moved.value = null;
    if (text === "") {
      found.value = null;
      return;
    }
    return runLater(TYPING_PAUSE_MS, async () => {
      try {
        const offers = await find(text);
        if (mine !== turn.current) return;
        found.value = { text, offers };
        problem.value = null;
        const entered = enteredFor.current === text ? offers[matchOf(offers, text)] : undefined;
        if (entered !== undefined) pick(entered.name);
      } catch (fault) {
        if (mine === turn.current) problem.value = failureText(fault);
      }
    });
  }, [text, target]);
  const offers = found.value?.offers ?? [];
  const chosen = Math.min(moved.value ?? matchOf(offers, text), offers.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && offers.length > 0) {
      moved.value = chosen < 0 && step < 0
        ? offers.length - 1
        : (chosen + step + offers.length) % offers.length;
    } else if (event.key === "Enter") {
      // Enter only picks; it never sends the form around the field.
      const offer = offers[chosen];
      // Matches of an older text are never picked.
      if (text === "") enteredFor.current = null;
      else if (found.value?.text !== text) enteredFor.current = text;
      else if (offer !== undefined) pick(offer.name);
    } else if (event.key === "Escape" && text !== "") {
      typed.value = "";
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { typed, found: found.value, offers, chosen, moved: moved.value, problem, pick, onKeyDown };
}

/**
 * A combobox: the arrow keys move through the matches, and Enter picks the highlighted one. A single match and an exact
 * match are highlighted already. The focus stays in the field, so that the next name can be typed.
 */
export function SearchPicker(props: SearchPickerProps) {
  const { id, label, hint, none, optionsLabel, onPick, reason } = props;
  const frame = useRef<HTMLDivElement>(null);
  const { typed, found, offers, chosen, moved, problem, pick, onKeyDown } = useOptionSearch({
    ...props,
    onPick(name) {
      frame.current?.querySelector("input")?.focus();
      void onPick(name);
    },
  });
  return (
    <div class="picker" role="search" aria-label={label} ref={frame}>
      <TextField
        id={id}
        label={label}
        hint={reason ?? hint}
        text={typed}
        input={{
          type: "search",
          role: "combobox",
          list: undefined,
          disabled: reason !== undefined,
          title: reason,
          maxLength: 200,
          "aria-autocomplete": "list",
          "aria-expanded": offers.length > 0,
          "aria-controls": offers.length > 0 ? `${id}-offers` : undefined,
          "aria-activedescendant": chosen < 0 ? undefined : `${id}-offer-${chosen}`,
          onKeyDown,
        }}
      />
      <ErrorAlert of={problem} />
      {found !== null && offers.length === 0 && <p class="quiet" role="status">{none}</p>}
      {offers.length > 0 && (
        <ul class="picker-options" id={`${id}-offers`} role="listbox" aria-label={optionsLabel}>
          {offers.map(({ name, more }, at) => (
            <li
              key={name}
              id={`${id}-offer-${at}`}
              role="option"
              aria-selected={at === chosen}
              // Pressing an option must not move the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() =>
                pick(name)}
              ref={(element) => {
                if (at === moved) {
                  element?.scrollIntoView({ block: "nearest" });
                }
              }}
            >
              <bdi>{name}</bdi>
              {more}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The match that Enter picks without the arrow keys: the only one, or the one with exactly this name; -1 for none. */
function matchOf(offers: readonly PickerOption[], text: string): number {
  if (offers.length === 1) return 0;
  return offers.findIndex(({ name }) => name.toLowerCase() === text.toLowerCase());
}
