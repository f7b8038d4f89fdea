// The shortcuts that work on every page, and the overlays that they open: palette, help, look.

import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Models, Overlay } from "../../models/models.ts";
import { DENSITIES } from "../../preferences.ts";
import { railRows } from "../../places.ts";
import { activeShortcuts, listenForShortcuts, type Shortcut, useShortcuts } from "../../shortcuts.ts";
import { Late, type ModelsPart } from "../late.tsx";

const overlays: Readonly<Record<Overlay, () => Promise<ModelsPart>>> = {
  palette: async () => (await import("./palette.tsx")).Palette,
  help: async () => (await import("./help_dialog.tsx")).HelpDialog,
  look: async () => (await import("./look_dialog.tsx")).LookDialog,
};

export function FrameKeys({ models }: { models: Models }) {
  const { overlay, preferences, session } = models;
  useShortcuts(frameRows(models));
  useEffect(() => {
    listenForShortcuts(document, {
      may: session.may,
      singleKeys: preferences.singleKeys,
      nowMs: () => performance.now(),
    });
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      if (event.key.toLowerCase() !== "k" || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      overlay.value = "palette";
    });
  }, []);
  // Parts bring theirs a moment after the page: from outside nothing else shows which of them are on.
  useEffect(() =>
    effect(() => {
      document.documentElement.dataset.keys = activeShortcuts().map(({ keys }) => keys).join("\n");
    }), []);
  const open = overlay.value;
  return open === null ? null : <Late key={open} load={overlays[open]} models={models} />;
}

function frameRows({ overlay, preferences, router }: Models): Shortcut[] {
  const go = railRows().flatMap(([, { rail, pattern, title, needs }]): Shortcut[] =>
    rail.key === undefined || needs === "anyone"
      ? []
      : [{ keys: `g ${rail.key}`, does: title, needs, run: () => router.go(pattern) }]
  );
  const flipDensity = () => {
    const next = DENSITIES.find((one) => one !== preferences.density.value);
    if (next !== undefined) preferences.setDensity(next);
  };
  return [
    { keys: "?", does: "frame.key_help", run: () => overlay.value = "help" },
    { keys: "/", does: "frame.key_search", run: focusSearch },
    ...go,
    { keys: "t", does: "frame.key_theme", run: preferences.switchTheme },
    { keys: ".", does: "frame.key_density", run: flipDensity },
    { keys: "Escape", does: "frame.key_back", run: goBack },
  ];
}

function focusSearch(): void {
  document.querySelector<HTMLElement>("main input[type=search]")?.focus();
}

/** From one of a list to the list; what is open over the page closes first, by the browser's own hand. */
function goBack(): void {
  if (document.querySelector("[popover=auto]:popover-open") !== null) return;
  document.querySelector<HTMLElement>("main a.back")?.click();
}
