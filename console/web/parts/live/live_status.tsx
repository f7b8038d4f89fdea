// A state in a row of the live list: with an inline icon, which costs less there.

import type { StateWords } from "../../words.ts";
import { Icon } from "../icon.tsx";

export function LiveStatus({ words }: { words: StateWords }) {
  return (
    <span class={`status tone-${words.tone}`}>
      <Icon name={words.shape} />
      <span>{words.label}</span>
    </span>
  );
}
