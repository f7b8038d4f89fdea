// A state with its colour, shape and label.

import type { StateLabel } from "../app/login_state_labels.ts";
import { Icon } from "./icons.tsx";

/** For rows: a shape and a label. */
export function StateText({ words }: { words: StateLabel }) {
  return (
    <span class={`status tone-${words.tone}`}>
      <Icon name={`line-${words.shape}`} size={14} />
      <span>{words.label}</span>
    </span>
  );
}

/** For headings: a shape and a label in a box. */
export function Chip({ words }: { words: StateLabel }) {
  return (
    <span class={`chip tone-${words.tone}`}>
      <Icon name={`line-${words.shape}`} size={12} />
      {words.label}
    </span>
  );
}
