// A state in the live list and the flow diagram, with an inline icon: a sprite costs more in a list that changes all the time.

import type { StateLabel } from "../../app/login_state_labels.ts";
import { InlineIcon } from "../../components/inline_icon.tsx";

export function LiveStatus({ words }: { words: StateLabel }) {
  return (
    <span class={`status tone-${words.tone}`}>
      <InlineIcon name={words.shape} />
      <span>{words.label}</span>
    </span>
  );
}
