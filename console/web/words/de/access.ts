// Words of sign-in, set-up, administrators, sessions and tokens, in German.

import type { words as en } from "../en/access.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "access",
};
