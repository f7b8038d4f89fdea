// The table of all ids, for tests.

import { assertEquals } from "@std/assert";
import type { Store } from "../../../platform/store.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { ResourceKind } from "../../../scim/schema/resource.ts";

export const KINDS = ["user", "group"] as const;

export const idIn = async (directory: TargetDirectory, kind: ResourceKind, name: string): Promise<string> =>
  (await directory.read(kind, name))?.id ?? "";

/** All ids: by the name of the resource, and of the index. They must be the same, and so must those of the members of groups. */
export async function tableOf(store: Store, directory: TargetDirectory): Promise<Record<string, string>> {
  const table: Record<string, string> = {};
  for (const kind of KINDS) {
    for await (const { id, content } of directory.all(kind)) table[id] = `${kind} ${content.name}`;
  }
  for await (const { content, memberIds = [] } of directory.all("group")) {
    const names = content.kind === "group" ? content.members : [];
    const users = await Promise.all(names.map((name) => directory.read("user", canonicalName(name))));
    assertEquals(memberIds, users.map((user) => user?.id ?? null));
  }
  const index: Record<string, string> = {};
  for await (const { key } of store.list<{ kind: ResourceKind }>(["resource_id"])) {
    const id = String(key[2]);
    const found = await directory.readById("user", id) ?? await directory.readById("group", id);
    index[id] = found === null ? "nothing" : `${found.content.kind} ${found.content.name}`;
  }
  assertEquals(index, table);
  return table;
}

export const LARGE = { photos: [{ value: "x".repeat(60_000) }] };
