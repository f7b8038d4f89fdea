// Picks one of many: what is typed is asked of the server, twenty at a time.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { failureText } from "../api_client.ts";
import { Button } from "./button.tsx";
import { TextField } from "./field.tsx";
import { Problem } from "./note.tsx";

export interface Offer {
  readonly name: string;
  /** What else tells it from others. */
  readonly more?: ComponentChildren;
}

interface SearchPickerProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  /** Said when nothing is found. */
  readonly none: string;
  /** What the offers are, for screen readers. */
  readonly offersLabel: string;
  readonly find: (text: string) => Promise<readonly Offer[]>;
  /** Where it is searched: another one asks anew. */
  readonly target: string;
  readonly onPick: (name: string) => Promise<void>;
  /** Why nothing can be picked. */
  readonly reason?: string | undefined;
}

const TYPING_PAUSE_MS = 150;

export function SearchPicker(props: SearchPickerProps) {
  const { id, label, hint, none, offersLabel, find, target, onPick, reason } = props;
  const typed = useSignal("");
  const found = useSignal<readonly Offer[] | null>(null);
  const problem = useSignal<string | null>(null);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    const text = typed.value.trim();
    if (text === "") {
      found.value = null;
      return;
    }
    const timer = setTimeout(async () => {
      try {
        const offers = await find(text);
        if (mine !== turn.current) return;
        found.value = offers;
        problem.value = null;
      } catch (fault) {
        if (mine === turn.current) problem.value = failureText(fault);
      }
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed.value, target]);
  const pick = (name: string) => {
    typed.value = "";
    found.value = null;
    void onPick(name);
  };
  return (
    <div class="people-picker" role="search" aria-label={label}>
      <TextField
        id={id}
        label={label}
        hint={reason ?? hint}
        text={typed}
        input={{ type: "search", disabled: reason !== undefined, title: reason, maxLength: 200 }}
      />
      <Problem of={problem} />
      {found.value?.length === 0 && <p class="quiet" role="status">{none}</p>}
      {found.value !== null && found.value.length > 0 && (
        <ul class="people-offers" aria-label={offersLabel}>
          {found.value.map(({ name, more }) => (
            <li key={name}>
              <Button small onClick={() => pick(name)}>
                <bdi>{name}</bdi>
                {more}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
