// The search of a list: ahead of the address while the user types, and following it otherwise. `/` comes here.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Models } from "../models/models.ts";
import { Symbol } from "./symbol.tsx";

const TYPING_PAUSE_MS = 150;

interface SearchProps {
  readonly models: Pick<Models, "router">;
  /** What is searched, for screen readers: "Search users". */
  readonly label: string;
  readonly placeholder?: string;
  /** The filter's name in the address. */
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
      <Symbol name="search" size={14} />
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        data-search=""
        maxLength={200}
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
