// Words of RADIUS clients, targets, credentials and health, in German.

import type { words as en } from "../en/connect.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "connect",
};
