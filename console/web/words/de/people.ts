// Words of the pages of users, in German.

import type { words as en } from "../en/people.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "people",
};
