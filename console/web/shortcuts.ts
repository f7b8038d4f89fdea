// Which keys do something now: rows that the frame and the open page bring, and the one listener that runs them.

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Role } from "../api/auth/permissions.ts";
import type { MessageKey } from "./i18n/catalogue.ts";

/** One shortcut. `keys`: one key as `KeyboardEvent.key` has it (`j`, `?`), or two after one another (`g l`). */
export interface Shortcut {
  readonly keys: string;
  /** What it does, for the help. */
  readonly does: MessageKey;
  /** The role that it needs; without it the key does nothing and the help says why. */
  readonly needs?: Role;
  readonly run: () => void;
}

const active = signal<readonly (readonly Shortcut[])[]>([]);

/** All that are on: of the frame first, of the open page last. */
export function activeShortcuts(): readonly Shortcut[] {
  return active.value.flat();
}

/** Puts shortcuts on; the answer takes them off again. */
export function addShortcuts(rows: () => readonly Shortcut[]): () => void {
  const mine = rows();
  active.value = [...active.peek(), mine];
  return () => {
    active.value = active.peek().filter((one) => one !== mine);
  };
}

/** Shortcuts of a part for as long as it is drawn; what they run is always the newest. */
export function useShortcuts(rows: readonly Shortcut[]): void {
  const names = rows.map(({ keys }) => keys).join("|");
  const newest = useNewest(rows);
  useEffect(
    () =>
      addShortcuts(() => newest.current.map((row, at) => ({ ...row, run: () => newest.current[at]?.run() }))),
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
  /** Keys without Ctrl can be switched off (WCAG 2.1.4). */
  readonly singleKeys: ReadonlySignal<boolean>;
  readonly nowMs: () => number;
}

const SECOND_KEY_MS = 1500;

/** Runs shortcuts for keys outside of text fields; a dialog keeps its keys to itself. */
export function listenForShortcuts(document: Document, { may, singleKeys, nowMs }: ListenDeps): void {
  let first = { key: "", atMs: 0 };
  document.addEventListener("keydown", (event) => {
    if (!singleKeys.peek() || event.defaultPrevented || event.isComposing) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTaken(document, event)) return;
    const before = nowMs() - first.atMs < SECOND_KEY_MS ? first.key : "";
    const row = rowFor(`${before} ${event.key}`) ?? rowFor(event.key);
    first = { key: event.key, atMs: nowMs() };
    if (row === null || (row.needs !== undefined && !may(row.needs))) return;
    first = { key: "", atMs: 0 };
    // Escape also closes what is open over the page, which is the browser's to do.
    if (event.key !== "Escape") event.preventDefault();
    row.run();
  });
}

/** The row of what was pressed; the one put on last wins. */
function rowFor(keys: string): Shortcut | null {
  return activeShortcuts().findLast((row) => row.keys === keys) ?? null;
}

/** Whether the key belongs to what has the focus: something typed into, or an open dialog. */
function isTaken(document: Document, { key, target }: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (PRESSES.has(key) && target.closest(PRESSED) !== null) return true;
  return target.isContentEditable || target.matches(TYPED_INTO);
}

/** Keys that press what has the focus. */
const PRESSES: ReadonlySet<string> = new Set([" ", "Enter"]);
const PRESSED = "a, button, summary, input, [role=slider]";

const TYPED_INTO = "select, textarea, input:not([type=checkbox], [type=radio], [type=button])";
