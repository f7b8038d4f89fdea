// Texts of any length in the store: a value of Deno KV takes 64 KiB, so a long one goes on in keys below its own.

import type { Mutation, Store } from "../../platform/store.ts";

/** A character takes two octets at most as V8 writes it. */
const CHARACTERS_EACH = 30_000;

interface Head {
  readonly parts: number;
  readonly text: string;
}

export interface LongText {
  readonly text: string;
  /** How many keys it takes. */
  readonly parts: number;
}

/** What writes `text` at `key`, over a text of `before` parts. */
export function setLongText(
  key: Deno.KvKey,
  text: string,
  { before = 0 }: { before?: number } = {},
): Mutation[] {
  const parts = Math.max(1, Math.ceil(text.length / CHARACTERS_EACH));
  const slice = (part: number) => text.slice(part * CHARACTERS_EACH, (part + 1) * CHARACTERS_EACH);
  const mutations: Mutation[] = [{ type: "set", key, value: { parts, text: slice(0) } satisfies Head }];
  for (let part = 1; part < parts; part++) {
    mutations.push({ type: "set", key: [...key, part], value: slice(part) });
  }
  for (let part = parts; part < before; part++) mutations.push({ type: "delete", key: [...key, part] });
  return mutations;
}

export function deleteLongText(key: Deno.KvKey, parts: number): Mutation[] {
  const mutations: Mutation[] = [{ type: "delete", key }];
  for (let part = 1; part < parts; part++) mutations.push({ type: "delete", key: [...key, part] });
  return mutations;
}

/** `null` when there is none, or when a part of it is missing. */
export async function readLongText(store: Store, key: Deno.KvKey): Promise<LongText | null> {
  const { value } = await store.get<Head>(key);
  if (value === null) return null;
  let text = value.text;
  for (let part = 1; part < value.parts; part++) {
    const { value: more } = await store.get<string>([...key, part]);
    if (more === null) return null;
    text += more;
  }
  return { text, parts: value.parts };
}
