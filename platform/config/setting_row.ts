// A row of the table of settings: how the value of a key is parsed, its preset, and what the docs say about it.

import type { Kind } from "./value_types.ts";

/** One setting. */
export interface Row<T> {
  readonly kind: Kind<T>;
  /** As TOML would give it; `kind` parses it like any other value. */
  readonly preset: string | number | boolean | readonly string[];
  readonly doc: string;
  /** Must be given, and not empty. */
  readonly required?: true;
  /** Why it cannot have another value than its preset in this version. */
  readonly later?: string;
  /** What the page of settings shows instead of the preset. */
  readonly example?: string | number | readonly string[];
}

/** Rows by key. */
export type Rows = Readonly<Record<string, Row<unknown>>>;

/** The parsed values of some rows. */
export type ValuesOf<R extends Rows> = {
  readonly [K in keyof R]: R[K] extends Row<infer T> ? T : never;
};

/** Makes a row. */
export function row<T>(
  kind: Kind<T>,
  preset: Row<T>["preset"],
  about: Omit<Row<T>, "kind" | "preset">,
): Row<T> {
  return { kind, preset, ...about };
}
