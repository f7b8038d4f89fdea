// A part that is fetched when it is needed.

import { useSignal } from "@preact/signals";
import { type ComponentType, createElement } from "preact";
import { useEffect } from "preact/hooks";
import type { Models } from "../models/models.ts";
import { t } from "../i18n/translate.ts";
import { Note } from "./note.tsx";

export type ModelsPart = ComponentType<{ readonly models: Models }>;

/** A part: on its way (`null`), here, or not to be had. */
type Arrival<P> = { readonly Part: ComponentType<P> } | "failed" | null;

function useArrival<P>(load: () => Promise<ComponentType<P>>): Arrival<P> {
  const arrival = useSignal<Arrival<P>>(null);
  useEffect(() => {
    load().then((Part) => arrival.value = { Part }, () => arrival.value = "failed");
  }, [load]);
  return arrival.value;
}

function drawn<P extends object>(arrival: Arrival<P>, props: P) {
  if (arrival === "failed") return <Note tone="bad" role="alert">{t("frame.page_unloaded")}</Note>;
  return arrival === null ? null : createElement(arrival.Part, props);
}

/**
 * A component whose file is fetched when it is first drawn, such as a dialog; nothing is shown until it is here.
 *
 * @example const BigDialog = late(async () => (await import(path)).BigDialog);
 */
export function late<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return (props: P) => drawn(useArrival(load), props);
}

interface LateProps {
  readonly load: () => Promise<ModelsPart>;
  readonly models: Models;
}

/** Nothing is shown until the part is here. */
export function Late({ load, models }: LateProps) {
  return drawn(useArrival(load), { models });
}
