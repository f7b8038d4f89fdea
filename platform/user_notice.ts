// Notices for a user about their own ways to sign in: "A factor was added for you." They are written in the commit of the change, and shown on the
// phone's page and on /me until the user confirms them.

import { canonicalName } from "./canonical_name.ts";
import type { KvMutation } from "./mutation.ts";

export interface UserNotice {
  readonly atMs: number;
  readonly what: "device" | "sms" | "voice" | "totp" | "recovery_codes";
  /** `self`: on the user's own page. `phone`: a phone used an invitation. */
  readonly by: "administrator" | "self" | "phone";
  /** The directory record that the notice is about. */
  readonly recordId: string;
}

const KEPT_MS = 30 * 24 * 3600_000;
const TIME_CHARACTERS = 11;

/** The prefix of a user's notices, oldest first. */
export function userNoticePrefix(userName: string): Deno.KvKey {
  return ["user_notice", canonicalName(userName)];
}

/** @param id tells notices of the same millisecond apart. */
export function userNotice(userName: string, notice: UserNotice, id: string): KvMutation {
  const time = notice.atMs.toString(36).padStart(TIME_CHARACTERS, "0");
  return {
    type: "set",
    key: [...userNoticePrefix(userName), `${time}${id}`],
    value: notice,
    expireInMs: KEPT_MS,
  };
}
