// The words of each area in each language: what there is. Keys are checked by the compiler; a page brings the words of its
// own areas only, as files of JSON that the build makes of these tables.

import type { words as access } from "./en/access.ts";
import type { words as approve } from "./en/approve.ts";
import type { words as connect } from "./en/connect.ts";
import type { words as device } from "./en/device.ts";
import type { words as explain } from "./en/explain.ts";
import type { words as frame } from "./en/frame.ts";
import type { words as govern } from "./en/govern.ts";
import type { words as groups } from "./en/groups.ts";
import type { words as live } from "./en/live.ts";
import type { words as me } from "./en/me.ts";
import type { words as meanings } from "./en/meanings.ts";
import type { words as overlays } from "./en/overlays.ts";
import type { words as people } from "./en/people.ts";
import type { words as records } from "./en/records.ts";
import type { words as settings } from "./en/settings.ts";

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
  readonly explain: typeof explain;
  readonly people: typeof people;
  readonly groups: typeof groups;
  readonly access: typeof access;
  readonly records: typeof records;
  readonly connect: typeof connect;
  readonly govern: typeof govern;
  readonly settings: typeof settings;
  /** Sentences by a setting's key; empty where the server's own stand. */
  readonly meanings: typeof meanings;
  readonly me: typeof me;
  readonly device: typeof device;
  /** The server writes that page. */
  readonly approve: typeof approve;
}
export type Area = keyof Areas;

/** `area.key`, such as `people.title`. */
export type WordKey = { [A in Area]: `${A}.${keyof Areas[A] & string}` }[Area];
