// Media queries for what styles cannot decide, such as the address of a link.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Screens where the rail is a bar at the bottom. */
export const PHONE = "(max-width: 760px)";

/** Whether the query matches now. `false` where there are no media queries. */
export function useMedia(query: string): boolean {
  const matches = useSignal(globalThis.matchMedia?.(query).matches ?? false);
  useEffect(() => {
    const list = globalThis.matchMedia?.(query);
    if (list === undefined) return;
    const read = () => void (matches.value = list.matches);
    list.addEventListener("change", read);
    return () => list.removeEventListener("change", read);
  }, [query]);
  return matches.value;
}
