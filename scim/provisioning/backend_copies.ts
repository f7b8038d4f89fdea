// Copies: what a backend holds, where that is not what the resource holds. Most resources have none.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Content, ResourceKind, Stored } from "../schema/resource.ts";
import { deleteLongText, readLongText, setLongText } from "./chunked_values.ts";
import type { Standing } from "./backend_status.ts";

export interface CopyOf {
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly canonical: string;
}

export interface Copies {
  read(of: CopyOf): Promise<Content | null>;
  /** What writes the copy over whatever is there. Throws the refusal `too_large` when it does not fit into a commit. */
  set(of: CopyOf, content: Content): Promise<Mutation[]>;
  /** What deletes the copy; nothing when there is none. */
  drop(of: CopyOf): Promise<Mutation[]>;
}

/** A commit takes 800 KiB, and the resource is in it too. */
const MAX_CHARACTERS = 200_000;

export function createCopies({ store, target }: { store: Store; target: string }): Copies {
  const keyOf = (
    { backend, kind, canonical }: CopyOf,
  ): Deno.KvKey => ["copy", target, backend, kind, canonical];
  return {
    async read(of) {
      const kept = await readLongText(store, keyOf(of));
      return kept === null ? null : parseContent(kept.text);
    },
    async set(of, content) {
      const text = JSON.stringify(content);
      if (text.length > MAX_CHARACTERS) {
        throw new ScimRefusal("too_large", {
          detail:
            `The resource is too large to differ between backends: name all backends, "${of.backend}" too.`,
        });
      }
      const kept = await readLongText(store, keyOf(of));
      return setLongText(keyOf(of), text, { before: kept?.parts ?? 0 });
    },
    async drop(of) {
      const kept = await readLongText(store, keyOf(of));
      return kept === null ? [] : deleteLongText(keyOf(of), kept.parts);
    },
  };
}

/** What brings the kept copies of one resource from one standing to the next. */
export async function copyChanges(
  copies: Copies,
  { kind, canonical, before, after }: {
    readonly kind: ResourceKind;
    readonly canonical: string;
    readonly before: ReadonlyMap<string, Content>;
    readonly after: ReadonlyMap<string, Content>;
  },
): Promise<Mutation[]> {
  const mutations: Mutation[] = [];
  for (const [backend, content] of after) {
    if (before.get(backend) === content) continue;
    mutations.push(...await copies.set({ backend, kind, canonical }, content));
  }
  for (const backend of before.keys()) {
    if (!after.has(backend)) mutations.push(...await copies.drop({ backend, kind, canonical }));
  }
  return mutations;
}

/** A resource as the store has it, with the contents that differ. */
export async function readStanding(copies: Copies, stored: Stored | null): Promise<Standing> {
  const found = new Map<string, Content>();
  if (stored === null) return { content: null, backends: {}, copies: found };
  const { content, backends } = stored;
  for (const [backend, state] of Object.entries(backends)) {
    if (state.differs === undefined) continue;
    const copy = await copies.read({ backend, kind: content.kind, canonical: canonicalName(content.name) });
    if (copy !== null) found.set(backend, copy);
  }
  return { content, backends, copies: found };
}

/** Texts in the store are our own. */
export function parseContent(text: string): Content {
  return JSON.parse(text) as Content;
}
