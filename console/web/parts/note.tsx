// A short message in the page: what is the matter, and what to do.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { failureText } from "../api_client.ts";
import type { IconName } from "../line_icons.ts";
import type { Tone } from "../words.ts";
import { Symbol } from "./symbol.tsx";

interface NoteProps {
  readonly tone: Tone;
  readonly icon?: IconName;
  /** `alert` is read out at once, `status` when it suits. */
  readonly role?: "alert" | "status";
  readonly children: ComponentChildren;
}

export function Note({ tone, icon = "alert", role, children }: NoteProps) {
  return (
    <div class={`note tone-${tone}`} role={role}>
      <Symbol name={`line-${icon}`} size={14} />
      <div>{children}</div>
    </div>
  );
}

interface ProblemProps {
  /** A sentence, or what was caught; nothing is shown for `null`. */
  readonly of: ReadonlySignal<unknown>;
  /** What it kept from being done. */
  readonly title?: string | undefined;
  readonly children?: ComponentChildren;
}

/** What went wrong with a deed, read out at once. */
export function Problem({ of: { value }, title, children }: ProblemProps) {
  if (value === null) return null;
  return (
    <Note tone="bad" role="alert">
      {title && <strong>{title}</strong>} {typeof value === "string" ? value : failureText(value)}
      {children}
    </Note>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly next: string;
  readonly children?: ComponentChildren;
}

/** Why there is nothing, and the next step. */
export function Empty({ title, next, children }: EmptyProps) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {next} {children}
    </div>
  );
}
