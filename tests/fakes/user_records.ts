// Records of users for services without a directory: every name is active, unless a test says otherwise.

import type { FindUserRecord, UserRecord } from "../../platform/user_record.ts";

export interface FakeUserRecords {
  readonly find: FindUserRecord;
  /** From now on the user has this status, or another record. */
  set(userName: string, record: Partial<Pick<UserRecord, "id" | "status">>): void;
}

export function createFakeUserRecords(): FakeUserRecords {
  const records = new Map<string, Partial<UserRecord>>();
  return {
    find: (userName) =>
      Promise.resolve({
        id: "1.none",
        status: "active",
        createdMs: 1,
        check: { key: ["user_departure", "default", userName], versionstamp: null },
        ...records.get(userName),
      }),
    set: (userName, record) => void records.set(userName, { ...records.get(userName), ...record }),
  };
}
