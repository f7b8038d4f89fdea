// Helpers for the tests of ids: the table of all ids, and a store of an earlier version.

import { assertEquals } from "@std/assert";
import type { Store } from "../../../platform/store.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { StoredMember } from "../../../scim/directory/member_sets.ts";
import type { ResourceRecord } from "../../../scim/directory/records.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { ResourceKind } from "../../../scim/schema/resource.ts";
import { until } from "../../fakes/scim_nodes.ts";
import { numbered, putGroup, putUser } from "./world.ts";

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

/** Removes what an earlier version does not write. */
export async function toEarlierVersion(store: Store): Promise<void> {
  for (const root of ["resource_id", "resource_id_task", "value_task", "value"]) {
    for await (const { key } of store.list([root])) {
      await store.commit({ mutations: [{ type: "delete", key }] });
    }
  }
  for (const root of ["index_log", "fence"]) {
    for await (const { key } of store.list([root])) {
      if (String(key[2]).endsWith(" values")) await store.commit({ mutations: [{ type: "delete", key }] });
    }
  }
  for await (const { key, value } of store.list<StoredMember>(["member"])) {
    const name = typeof value === "string" ? value : value?.[0];
    await store.commit({ mutations: [{ type: "set", key, value: name }] });
  }
  for (const kind of KINDS) {
    for await (const { key, value } of store.list<ResourceRecord>([kind])) {
      const { id: _id, ...record } = value ?? {};
      await store.commit({ mutations: [{ type: "set", key, value: record }] });
    }
  }
}

/** Waits until the task has stored the ids of earlier versions. */
export async function untilComplete(store: Store, target = "default"): Promise<void> {
  await until("the task is complete", async () => {
    const { value: ids } = await store.get<{ isComplete: boolean }>(["resource_id_task", target]);
    const { value } = await store.get<{ isComplete: boolean }>(["value_task", target, "progress"]);
    return ids?.isComplete === true && value?.isComplete === true;
  });
}

export const LARGE = { photos: [{ value: "x".repeat(60_000) }] };

/** Users and groups, as one in several parts. */
export async function fill(directory: TargetDirectory): Promise<void> {
  for (const name of numbered("u", 12)) await putUser(directory, name);
  await putUser(directory, "large", { attributes: LARGE });
  await putGroup(directory, "staff", numbered("u", 7));
  await putGroup(directory, "Ärzte", ["large"]);
}
