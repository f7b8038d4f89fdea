// Intents: what backends held before a write that calls them, kept until the write is recorded or taken back. What a crash leaves is put back.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import { parseContent } from "./backend_copies.ts";
import type { Link } from "./backend_client.ts";
import { deleteLongText, readLongText, setLongText } from "./chunked_values.ts";
import type { OutboxChange } from "./outbox.ts";
import { oweRestoring, type RestoringDeps } from "./compensation.ts";

interface IntentRecord {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: string;
  readonly atMs: number;
  /** In the order in which they are called. `parts`: of the former content's text; 0: the backend had nothing. */
  readonly backends: readonly { readonly name: string; readonly parts: number }[];
}

export interface Intent {
  readonly id: string;
  /** What ends it; goes into the commit that records the write, or its taking back. */
  readonly ending: readonly Mutation[];
}

export interface Intents {
  /** Durable when it resolves. */
  begin(intent: {
    readonly kind: ResourceKind;
    readonly name: string;
    readonly operation: string;
    readonly befores: ReadonlyMap<string, Content | null>;
  }): Promise<Intent>;
  /** Owes every backend of an intent what it held before, and ends it. */
  giveBack(id: string): Promise<void>;
  /** Gives back all that a former process left. */
  recover(): Promise<number>;
}

export interface IntentDeps extends RestoringDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly target: string;
  readonly links: ReadonlyMap<string, Link>;
  readonly orderedId: () => string;
}

/** A commit takes 800 KiB; a part up to 60. */
const PARTS_A_COMMIT = 10;

export function createIntents(deps: IntentDeps): Intents {
  const { store, clock, log, target, links, orderedId } = deps;
  const keyOf = (id: string): Deno.KvKey => ["intent", target, id];
  const beforeKeyOf = (id: string, backend: string): Deno.KvKey => ["intent", target, id, backend];

  const endingOf = (id: string, { backends }: IntentRecord): Mutation[] => [
    { type: "delete", key: keyOf(id) },
    ...backends.filter(({ parts }) => parts > 0)
      .flatMap(({ name, parts }) => deleteLongText(beforeKeyOf(id, name), parts)),
  ];
  const owe = async (id: string, { kind, name, backends }: IntentRecord): Promise<OutboxChange[]> => {
    const changes: OutboxChange[] = [];
    for (const { name: backend, parts } of backends.toReversed()) {
      const link = links.get(backend);
      if (link === undefined) continue;
      const kept = parts === 0 ? null : await readLongText(store, beforeKeyOf(id, backend));
      const before = kept === null ? null : parseContent(kept.text);
      // A former content that cannot be read must not become a removal.
      if (parts > 0 && before === null) continue;
      changes.push(await oweRestoring(deps, { link, kind, name, before }));
    }
    return changes;
  };
  const giveBack = async (id: string): Promise<void> => {
    const { value } = await store.get<IntentRecord>(keyOf(id));
    if (value === null) return;
    const changes = await owe(id, value);
    await store.commit({
      mutations: [...changes.flatMap(({ mutations }) => mutations), ...endingOf(id, value)],
    });
    for (const change of changes) change.committed();
    log.warn("a write that did not end is taken back", {
      target,
      [value.kind]: value.name,
      operation: value.operation,
      backends: value.backends.map(({ name }) => name).join(" "),
    });
  };

  /** Parts of an intent whose head was not written any more: nothing was called for it. */
  const sweep = async (): Promise<void> => {
    let strays: Mutation[] = [];
    for await (const { key } of store.list(["intent", target])) {
      strays.push({ type: "delete", key });
      if (strays.length < 200) continue;
      await store.commit({ mutations: strays });
      strays = [];
    }
    if (strays.length > 0) await store.commit({ mutations: strays });
  };

  return {
    async begin({ kind, name, operation, befores }) {
      const id = orderedId();
      const texts = [...befores].map(([backend, before]) => ({
        name: backend,
        written: before === null ? [] : setLongText(beforeKeyOf(id, backend), JSON.stringify(before)),
      }));
      const record: IntentRecord = {
        kind,
        name,
        operation,
        atMs: clock.nowMs(),
        backends: texts.map(({ name, written }) => ({ name, parts: written.length })),
      };
      const parts = texts.flatMap(({ written }) => written);
      const head: Mutation = { type: "set", key: keyOf(id), value: record };
      // The head comes last: without it there is no intent, and nothing was called yet.
      for (let from = 0; from < parts.length - PARTS_A_COMMIT; from += PARTS_A_COMMIT) {
        await store.commit({ mutations: parts.slice(from, from + PARTS_A_COMMIT) });
      }
      const last = parts.slice(parts.length - 1 - (parts.length - 1) % PARTS_A_COMMIT);
      await store.commit({ mutations: [...last, head] });
      return { id, ending: endingOf(id, record) };
    },
    giveBack,
    async recover() {
      const ids: string[] = [];
      for await (const { key } of store.list(["intent", target])) {
        if (key.length === 3 && typeof key[2] === "string") ids.push(key[2]);
      }
      for (const id of ids) await giveBack(id);
      await sweep();
      return ids.length;
    },
  };
}
