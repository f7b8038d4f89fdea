// A minimal directory without a cache: two nodes can share its store, like a KV server.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { DirectoryWrite, TargetDirectory, WriteResult } from "../../../scim/ports.ts";
import type { ResourceKind, Stored } from "../../../scim/schema/resource.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";

type Kept = Omit<Stored, "version">;
type Observer = Parameters<TargetDirectory["observe"]>[0];

export function createSmallDirectory(
  { store, clock, target }: { store: Store; clock: Clock; target: string },
): TargetDirectory {
  const observers = new Set<Observer>();
  const keyOf = (kind: ResourceKind, canonical: string) => [kind, target, canonical];
  const read = async (kind: ResourceKind, canonical: string): Promise<Stored | null> => {
    const { value, versionstamp } = await store.get<Kept>(keyOf(kind, canonical));
    return value === null || versionstamp === null ? null : { ...value, version: versionstamp };
  };
  const write = async (change: DirectoryWrite): Promise<WriteResult> => {
    const { kind, name, expected, next, password, also = [] } = change;
    const key = keyOf(kind, canonicalName(name));
    const before = await read(kind, canonicalName(name));
    const nowMs = clock.nowMs();
    const kept: Kept | null = next === null
      ? null
      : { ...next, groups: [], createdMs: before?.createdMs ?? nowMs, modifiedMs: nowMs };
    const mutations: Mutation[] = [
      kept === null ? { type: "delete", key } : { type: "set", key, value: kept },
      ...also,
    ];
    if (password !== undefined) {
      mutations.push({ type: "set", key: ["password", target, canonicalName(name)], value: password });
    }
    const outcome = await store.commit({ checks: [{ key, versionstamp: expected }], mutations });
    if (!outcome.ok) return { ok: false, reason: "changed" };
    for (const observer of observers) observer({ kind, name, deleted: kept === null });
    return { ok: true, stored: kept === null ? null : { ...kept, version: outcome.versionstamp } };
  };
  const unused = (): never => {
    throw new Error("Cannot do that: the small directory is for writes");
  };
  return {
    target,
    trash: { days: 30, maxEntries: 0, list: unused, read: unused, removal: unused },
    read,
    write,
    async readPassword(canonical) {
      const { value } = await store.get<never>(["password", target, canonical]);
      return value;
    },
    async *all(kind) {
      for await (const { value, versionstamp } of store.list<Kept>([kind, target])) {
        if (value !== null && versionstamp !== null) yield { ...value, version: versionstamp };
      }
    },
    async writeMany(writes) {
      const results: WriteResult[] = [];
      for (const one of writes) results.push(await write(one));
      return results;
    },
    async changeMembers({ group, add, remove, also }) {
      const before = await read("group", group);
      if (before?.content.kind !== "group") return { ok: false, reason: "changed" };
      const members = [...before.content.members.filter((name) => !remove.includes(name)), ...add];
      return await write({
        kind: "group",
        name: before.content.name,
        expected: before.version,
        next: { content: { ...before.content, members }, backends: before.backends },
        also: also?.(add, remove) ?? [],
      });
    },
    page: unused,
    search: unused,
    count: unused,
    login: unused,
    prepareLogin: unused,
    observe(observer) {
      observers.add(observer);
      return () => void observers.delete(observer);
    },
  };
}
