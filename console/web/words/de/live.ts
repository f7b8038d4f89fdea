// Words of the live board, the inspector and explanations, in German.

import type { words as en } from "../en/live.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "live",
};
