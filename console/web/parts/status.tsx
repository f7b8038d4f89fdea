// How a state is shown: colour, shape and word together.

import type { StateWords } from "../words.ts";
import { Symbol } from "./symbol.tsx";

/** For rows: a shape and a word, no box. */
export function Status({ words }: { words: StateWords }) {
  return (
    <span class={`status tone-${words.tone}`}>
      <Symbol name={`line-${words.shape}`} size={14} />
      <span>{words.label}</span>
    </span>
  );
}

/** For headings: the same in a box. */
export function Chip({ words }: { words: StateWords }) {
  return (
    <span class={`chip tone-${words.tone}`}>
      <Symbol name={`line-${words.shape}`} size={12} />
      {words.label}
    </span>
  );
}
