// Direct writes and reads of a test in a directory, without the console.

import type { Store } from "../../platform/store.ts";
import type { Actor, Target } from "../../scim/ports.ts";
import { parseResource } from "../../scim/schema/parse_resource.ts";
import { auditRecordsOf } from "./audited.ts";

export const SCIM_ACTOR: Actor = { name: "scim:hr", source: "192.0.2.7" };

export function directoryCalls(target: Target, store: Store) {
  return {
    /** Creates a user. */
    async put(name: string, attributes: Record<string, unknown> = {}): Promise<void> {
      const read = parseResource("user", { userName: name, ...attributes } as never, {
        mapping: target.mapping,
        newName: () => name,
      });
      if (!read.ok) throw new Error(read.detail);
      await target.create(read.content, { actor: SCIM_ACTOR });
    },
    async putGroup(name: string, members: readonly string[] = []): Promise<void> {
      await target.create({ kind: "group", name, attributes: {}, members }, { actor: SCIM_ACTOR });
    },
    /** The members of a group in the directory. */
    async membersOf(name: string): Promise<readonly string[]> {
      const stored = await target.directory.read("group", name);
      return stored?.content.kind === "group" ? stored.content.members : [];
    },
    /** All audit records except sign-ins, oldest first. */
    async audits(): Promise<Record<string, unknown>[]> {
      const found = (await auditRecordsOf<unknown>(store)).flatMap(({ value }) =>
        value === null ? [] : [value]
      );
      return found.sort((a, b) => Number(a.atMs) - Number(b.atMs));
    },
  };
}
