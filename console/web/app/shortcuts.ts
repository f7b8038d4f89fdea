// Keyboard shortcuts: the active rows of the frame and the open page, and the listener that runs them.

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Role } from "../../api/auth/admin_records.ts";
import type { MessageKey } from "../i18n/catalogue.ts";

/** One shortcut. `keys` is one `KeyboardEvent.key` (`j`, `?`) or a sequence of two (`g l`). */
export interface Shortcut {
  readonly keys: string;
  /** The description in the help dialog. */
  readonly label: MessageKey;
  /** The required role. Without it, the key does nothing and the help dialog shows the reason. */
  readonly needs?: Role;
  readonly run: () => void;
}

const active = signal<readonly (readonly Shortcut[])[]>([]);

/** All active shortcuts: those of the frame first, those of the open page last. */
export function activeShortcuts(): readonly Shortcut[] {
  return active.value.flat();
}

/**
 * Adds shortcuts. Returns a function that removes them.
 *
 * @param options.isFrame puts them first, so that a shortcut of the open page with the same keys wins. The page of a
 * link adds its shortcuts before the frame does.
 */
export function addShortcuts(rows: () => readonly Shortcut[], { isFrame = false } = {}): () => void {
  const mine = rows();
  active.value = isFrame ? [mine, ...active.peek()] : [...active.peek(), mine];
  return () => {
    active.value = active.peek().filter((one) => one !== mine);
  };
}

/** The shortcuts of a component. They always run the latest handlers. Options as for {@link addShortcuts}. */
export function useShortcuts(rows: readonly Shortcut[], options: { readonly isFrame?: boolean } = {}): void {
  const names = rows.map(({ keys }) => keys).join("|");
  const newest = useNewest(rows);
  useEffect(
    () =>
      addShortcuts(
        () => newest.current.map((row, at) => ({ ...row, run: () => newest.current[at]?.run() })),
        options,
      ),
    [names],
  );
}

function useNewest<T>(value: T): { current: T } {
  const holder = useRef(value);
  holder.current = value;
  return holder;
}

interface ListenDeps {
  readonly may: (role: Role) => boolean;
  /** Shortcuts without Ctrl can be disabled (WCAG 2.1.4). */
  readonly singleKeys: ReadonlySignal<boolean>;
  readonly nowMs: () => number;
  /** Removes the listener. */
  readonly signal: AbortSignal;
}

const SECOND_KEY_MS = 1500;

/** Runs shortcuts, but not in text fields or while a dialog is open. */
export function listenForShortcuts(document: Document, { may, singleKeys, nowMs, signal }: ListenDeps): void {
  let first = { key: "", atMs: 0 };
  document.addEventListener("keydown", (event) => {
    if (!singleKeys.peek() || event.defaultPrevented || event.isComposing) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTaken(document, event)) return;
    const before = nowMs() - first.atMs < SECOND_KEY_MS ? first.key : "";
    const row = rowFor(`${before} ${event.key}`) ?? rowFor(event.key);
    first = { key: event.key, atMs: nowMs() };
    if (row === null || (row.needs !== undefined && !may(row.needs))) return;
    first = { key: "", atMs: 0 };
    // With Escape, the browser also closes popovers.
    if (event.key !== "Escape") event.preventDefault();
    row.run();
  }, { signal });
}

/** The row of the pressed keys. The row that was added last wins. */
function rowFor(keys: string): Shortcut | null {
  return activeShortcuts().findLast((row) => row.keys === keys) ?? null;
}

/** Whether the focused element or an open dialog handles the key. */
function isTaken(document: Document, { key, target }: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("[role=menu]") !== null) return true;
  if (PRESS_KEYS.has(key) && target.closest(PRESSABLE) !== null) return true;
  return target.isContentEditable || target.matches(TEXT_INPUTS);
}

/** Keys that activate the focused element. */
const PRESS_KEYS: ReadonlySet<string> = new Set([" ", "Enter"]);
const PRESSABLE = "a, button, summary, input, [role=slider]";

const TEXT_INPUTS = "select, textarea, input:not([type=checkbox], [type=radio], [type=button])";
