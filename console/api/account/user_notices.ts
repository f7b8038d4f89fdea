// Reads the notices of a user, and removes those that the user confirmed.

import { type UserNotice, userNoticePrefix } from "../../../platform/user_notice.ts";
import type { Store } from "../../../platform/store.ts";
import type { PhoneView } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../users/user_deps.ts";
import type { PhoneNotice } from "../devices/device_api.ts";

const MAX_NOTICES = 50;

/** The newest notices about this directory record, newest first. */
export async function readUserNotices(
  store: Store,
  { userName, recordId }: { userName: string; recordId: string },
): Promise<UserNotice[]> {
  const found: UserNotice[] = [];
  const entries = store.list<UserNotice>(userNoticePrefix(userName), { limit: MAX_NOTICES, reverse: true });
  for await (const { value } of entries) {
    if (value?.recordId === recordId) found.push(value);
  }
  return found;
}

export async function removeUserNotices(store: Store, userName: string): Promise<void> {
  const keys: Deno.KvKey[] = [];
  for await (const { key } of store.list(userNoticePrefix(userName), { limit: MAX_NOTICES, reverse: true })) {
    keys.push(key);
  }
  if (keys.length > 0) await store.commit({ mutations: keys.map((key) => ({ type: "delete", key })) });
}

/** @returns reads the notices for the users of a phone; `undefined` without a directory. */
export function phoneNoticesOf({ people, store }: { people?: People; store: Store }) {
  if (people === undefined) return undefined;
  return async (view: PhoneView | null): Promise<PhoneNotice[]> => {
    const found: PhoneNotice[] = [];
    const paired = (view?.pairings ?? []).filter(({ status }) => status === "enabled");
    for (const userName of new Set(paired.map((one) => one.userName))) {
      const { id: recordId } = await people.findUserRecord(userName);
      const notices = await readUserNotices(store, { userName, recordId });
      found.push(...notices.map((notice) => ({ ...notice, userName })));
    }
    return found;
  };
}
