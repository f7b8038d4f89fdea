// The keys of a table: j and k or the arrows move, Home and End jump, x selects. Enter opens the link of the row.

import type { Selection } from "../app/selection.ts";
import { useShortcuts } from "../app/shortcuts.ts";

interface TableKeys {
  readonly body: { readonly current: HTMLTableSectionElement | null };
  readonly keys: readonly string[];
  readonly selection: Selection | undefined;
}

/** Adds the shortcuts of a table. Returns the listener for keys in its rows. */
export function useTableKeys({ body, keys, selection }: TableKeys): (event: KeyboardEvent) => void {
  const rows = () => [...body.current?.rows ?? []].filter(({ dataset }) => dataset.key !== undefined);
  const rowNow = () => document.activeElement?.closest<HTMLElement>("tr[data-key]") ?? null;
  const move = (step: number) => {
    const all = rows();
    const at = all.findIndex((row) => row === rowNow());
    focusRow(all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))]);
  };
  const pick = (extend: boolean) => {
    const key = rowNow()?.dataset.key;
    if (key === undefined || selection === undefined) return;
    if (extend) selection.extend(key, keys);
    else selection.toggle(key);
  };
  const moves = [
    { keys: "j", label: "common.key_down", run: () => move(1) },
    { keys: "k", label: "common.key_up", run: () => move(-1) },
  ] as const;
  const picks = [
    { keys: "x", label: "common.key_choose", run: () => pick(false) },
    { keys: "X", label: "common.key_range", run: () => pick(true) },
  ] as const;
  useShortcuts(selection === undefined ? moves : [...moves, ...picks]);
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !isRowControl(event.target)) return;
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Home") focusRow(rows()[0]);
    else if (event.key === "End") focusRow(rows().at(-1));
    else return;
    event.preventDefault();
  };
}

/** Menus, selects and text fields use the arrow keys themselves. */
function isRowControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("[role=menu]") === null &&
    !target.matches("select, textarea, input:not([type=checkbox])");
}

/** The link is preferred to the checkbox, so that Enter opens the row. */
export function focusRow(row: HTMLElement | undefined): void {
  const target = row?.querySelector<HTMLElement>("a.row-link") ??
    row?.querySelector<HTMLElement>("input, button, a");
  target?.focus();
}
