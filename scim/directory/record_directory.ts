// The directory of a target as `platform/user_record.ts` reads it: when a user's record was created, and whether a user was deleted.

import type { Store } from "../../platform/store.ts";
import { createUserRecords, type FindUserRecord, type RecordDirectory } from "../../platform/user_record.ts";
import type { Target } from "../ports.ts";

/** @param target the target whose users sign in. */
export function findUserRecordIn(target: Pick<Target, "name" | "directory">, store: Store): FindUserRecord {
  return createUserRecords({ store, target: target.name, directory: recordDirectoryOf(target) });
}

/** @param target the target whose users sign in. */
export function recordDirectoryOf({ directory }: Pick<Target, "directory">): RecordDirectory {
  return {
    async read(canonical) {
      const stored = await directory.read("user", canonical);
      return stored?.content.kind === "user"
        ? { createdMs: stored.createdMs, active: stored.content.active }
        : null;
    },
    async isDeleted(canonical) {
      await directory.prepareLogin(canonical);
      return directory.login(canonical).status === "deleted";
    },
  };
}
