// The keys of the live board. They come while the board is drawn, with what opens its stream: before there are rows to move in.

import type { LiveModels as Models } from "../../models/live_models.ts";
import { focusInspector, moveInList } from "../../live_focus.ts";
import { type Shortcut, useShortcuts } from "../../shortcuts.ts";

interface KeysProps {
  readonly models: Models;
  /** "" while no login is chosen. */
  readonly chosenId: string;
}

/** Draws nothing. */
export function LiveKeys({ models: { board, router }, chosenId }: KeysProps) {
  /** Goes into the inspector: of the chosen login, or of the newest. */
  const choose = (also: Readonly<Record<string, string>>) => {
    const id = chosenId || board.rows.peek()[0]?.id;
    if (id === undefined) return;
    if (chosenId !== id) router.setParams({ c: id, ...also });
    focusInspector();
  };
  // The inspector of a chosen login brings the key itself, and plays.
  const replay: Shortcut = { keys: "r", does: "live.key_replay", run: () => choose({ t: "0" }) };
  useShortcuts([
    { keys: " ", does: "live.key_pause", run: () => board.pause(!board.paused.peek()) },
    { keys: "n", does: "live.key_newer", run: () => board.showNewer() },
    { keys: "j", does: "frame.key_down", run: () => moveInList(1) },
    { keys: "k", does: "frame.key_up", run: () => moveInList(-1) },
    { keys: "i", does: "live.key_inspector", run: () => choose({}) },
    ...(chosenId === "" ? [replay] : []),
  ]);
  return null;
}
