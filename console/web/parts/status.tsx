// How a state is shown: colour, shape and word together.

import type { StateWords } from "../words.ts";
import { Icon } from "./icon.tsx";

/** For rows: a shape and a word, no box. */
export function Status({ words }: { words: StateWords }) {
  return (
    <span class={`status tone-${words.tone}`}>
      <Icon name={words.shape} />
      <span>{words.label}</span>
    </span>
  );
}

/** For headings: the same in a box. */
export function Chip({ words }: { words: StateWords }) {
  return (
    <span class={`chip tone-${words.tone}`}>
      <Icon name={words.shape} size={12} />
      {words.label}
    </span>
  );
}
