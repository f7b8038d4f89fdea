// The words of each area in each language: what there is, and where it is loaded from. Keys are checked by the compiler;
// a page brings the words of its own area only.

import type { words as access } from "./en/access.ts";
import type { words as connect } from "./en/connect.ts";
import type { words as frame } from "./en/frame.ts";
import type { words as govern } from "./en/govern.ts";
import type { words as groups } from "./en/groups.ts";
import type { words as live } from "./en/live.ts";
import type { words as me } from "./en/me.ts";
import type { words as overlays } from "./en/overlays.ts";
import type { words as people } from "./en/people.ts";
import type { words as records } from "./en/records.ts";

export const LANGUAGES = ["en", "de"] as const;
export type Language = typeof LANGUAGES[number];

/** A word that depends on `values.count`, by the language's own rules. */
export interface Plural {
  readonly one: string;
  readonly other: string;
}
export type Word = string | Plural;
export type WordTable = Readonly<Record<string, Word>>;

/** The same keys and kinds in another language. */
export type SameWords<T> = { readonly [K in keyof T]: T[K] extends string ? string : Plural };

/** Every area, by the English table: the other languages are held to it. */
export interface Areas {
  /** The overlays' words are the frame's, in a file that comes when one of them is opened. */
  readonly frame: typeof frame & typeof overlays;
  readonly overlays: typeof overlays;
  readonly live: typeof live;
  readonly people: typeof people;
  readonly groups: typeof groups;
  readonly access: typeof access;
  readonly records: typeof records;
  readonly connect: typeof connect;
  readonly govern: typeof govern;
  readonly me: typeof me;
}
export type Area = keyof Areas;

/** `area.key`, such as `people.title`. */
export type WordKey = { [A in Area]: `${A}.${keyof Areas[A] & string}` }[Area];

type Loader = () => Promise<{ readonly words: WordTable }>;

/** One row an area; each loads as a file of its own. */
export const LOADERS: Readonly<Record<Area, Readonly<Record<Language, Loader>>>> = {
  frame: { en: () => import("./en/frame.ts"), de: () => import("./de/frame.ts") },
  overlays: { en: () => import("./en/overlays.ts"), de: () => import("./de/overlays.ts") },
  live: { en: () => import("./en/live.ts"), de: () => import("./de/live.ts") },
  people: { en: () => import("./en/people.ts"), de: () => import("./de/people.ts") },
  groups: { en: () => import("./en/groups.ts"), de: () => import("./de/groups.ts") },
  access: { en: () => import("./en/access.ts"), de: () => import("./de/access.ts") },
  records: { en: () => import("./en/records.ts"), de: () => import("./de/records.ts") },
  connect: { en: () => import("./en/connect.ts"), de: () => import("./de/connect.ts") },
  govern: { en: () => import("./en/govern.ts"), de: () => import("./de/govern.ts") },
  me: { en: () => import("./en/me.ts"), de: () => import("./de/me.ts") },
};
