// The mark of a user whom a campaign invited.

import type { EnrolmentMark } from "../../../radius/factors/own_factors.ts";
import { commitChanges } from "../../../platform/table.ts";
import type { InProcess } from "./in_process.ts";

/** Marks a user as invited, with the deadline in `inMs`. */
export async function markInvited(world: InProcess, user: string, inMs: number | null): Promise<void> {
  const nowMs = world.clock.nowMs();
  const value: EnrolmentMark = {
    ...{ recordId: "1.none", campaign: "c", invitedMs: nowMs, linkUntilMs: nowMs, invitation: "i" },
    ...{ reminders: 0, remindedMs: null, deadlineMs: inMs === null ? null : nowMs + inMs },
  };
  const { enrolment } = world.radius;
  const change = enrolment.prepare(user, { read: enrolment.read(user), mark: value });
  if (!await commitChanges(world.store, [change])) throw new Error("Cannot store the mark");
}
