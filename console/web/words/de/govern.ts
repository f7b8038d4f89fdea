// Words of the audit, in German.

import type { words as en } from "../en/govern.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "govern",
};
