// A state with its colour, shape and label.

import type { StateLabel } from "../app/login_state_labels.ts";
import { Icon, type IconName } from "./icons.tsx";

interface StateProps {
  readonly words: Pick<StateLabel, "tone" | "label"> & { readonly shape: IconName };
}

/** For rows: a shape and a label. */
export function StateText({ words }: StateProps) {
  return (
    <span class={`status tone-${words.tone}`}>
      <Icon name={`line-${words.shape}`} size={14} />
      <span class="cut">{words.label}</span>
    </span>
  );
}

/** For headings: a shape and a label in a box. */
export function Chip({ words }: StateProps) {
  return (
    <span class={`chip tone-${words.tone}`}>
      <Icon name={`line-${words.shape}`} size={12} />
      {words.label}
    </span>
  );
}
