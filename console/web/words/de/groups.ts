// Words of groups, devices, import and export, in German.

import type { words as en } from "../en/groups.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "groups",
};
