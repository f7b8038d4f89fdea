// Words of a person's own page, in German.

import type { words as en } from "../en/me.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "me",
};
