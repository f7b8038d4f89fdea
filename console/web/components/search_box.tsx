// The search field of a list: it writes to the address after a pause, and its arrow key moves to the rows.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Models } from "../app/app_context.ts";
import { Icon } from "./icons.tsx";
import { focusRow } from "./table_keys.ts";

const TYPING_PAUSE_MS = 150;

interface SearchProps {
  readonly models: Pick<Models, "router">;
  /** For screen readers: "Search users". */
  readonly label: string;
  readonly placeholder?: string;
  /** The query parameter in the address. */
  readonly name?: string;
}

export function SearchBox({ models: { router }, label, placeholder = label, name = "q" }: SearchProps) {
  const text = router.param(name);
  const typed = useSignal(text);
  const written = useRef(text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    typed.value = text;
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const write = () => {
    written.current = typed.value.trim();
    router.setParams({ [name]: written.current, page: "" });
  };
  return (
    <div class="search">
      <Icon name="search" size={14} />
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        data-search=""
        maxLength={200}
        value={typed.value}
        onKeyDown={(event) => {
          // From the field to the rows it found, past the filters.
          const row = event.key === "ArrowDown" && !event.isComposing
            ? document.querySelector<HTMLElement>("main tbody tr[data-key]")
            : null;
          if (row === null) return;
          event.preventDefault();
          focusRow(row);
        }}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = setTimeout(write, TYPING_PAUSE_MS);
        }}
      />
    </div>
  );
}
