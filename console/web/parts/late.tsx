// A part that is fetched when it is needed.

import { useSignal } from "@preact/signals";
import { type ComponentType, createElement } from "preact";
import { useEffect } from "preact/hooks";
import type { Models } from "../models/models.ts";
import { loadWords, t } from "../words/translate.ts";
import type { Area } from "../words/words.ts";
import { Note } from "./note.tsx";

export type ModelsPart = ComponentType<{ readonly models: Models }>;

/**
 * A component whose file is fetched when it is first drawn, such as a dialog; nothing is shown until it is here.
 *
 * @example const BigDialog = late(async () => (await import(path)).BigDialog);
 */
export function late<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return function LateComponent(props: P) {
    const part = useSignal<{ readonly Part: ComponentType<P> } | "failed" | null>(null);
    useEffect(() => {
      load().then((Part) => part.value = { Part }, () => part.value = "failed");
    }, []);
    if (part.value === "failed") return <Note tone="bad" role="alert">{t("frame.page_unloaded")}</Note>;
    return part.value === null ? null : createElement(part.value.Part, props);
  };
}

interface LateProps {
  readonly load: () => Promise<ModelsPart>;
  readonly models: Models;
  /** Words that it needs besides the frame's. */
  readonly areas: readonly Area[];
}

/** Nothing is shown until the part and its words are here. */
export function Late({ load, models, areas }: LateProps) {
  const part = useSignal<{ readonly Part: ModelsPart } | "failed" | null>(null);
  useEffect(() => {
    Promise.all([load(), loadWords(areas)])
      .then(([Part]) => part.value = { Part }, () => part.value = "failed");
  }, [load]);
  if (part.value === "failed") return <Note tone="bad" role="alert">{t("frame.page_unloaded")}</Note>;
  if (part.value === null) return null;
  const { Part } = part.value;
  return <Part models={models} />;
}
