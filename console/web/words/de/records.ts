// Words of history and charts, in German.

import type { words as en } from "../en/records.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "records",
};
