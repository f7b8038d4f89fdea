// What a row of Authenticators is called: its number, the name of the phone, or when the phone was paired.

import type { DeviceRow } from "../../../api/groups/group_types.ts";
import { calledOf } from "../users/user_summary.ts";

/** "" for an authenticator app. */
export function deviceCalled({ kind, phone, number, createdMs }: DeviceRow): string {
  if (phone === "") return calledOf({ kind, createdMs });
  return number ?? phone ?? "";
}
