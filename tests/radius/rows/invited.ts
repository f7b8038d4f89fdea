// The mark of a user whom a campaign invited.

import type { EnrolmentMark } from "../../../radius/factors/enrolment_marks.ts";
import type { InProcess } from "./in_process.ts";

/** Marks a user as invited, with the deadline in `inMs`. */
export async function markInvited(world: InProcess, user: string, inMs: number | null): Promise<void> {
  const nowMs = world.clock.nowMs();
  const value: EnrolmentMark = {
    ...{ recordId: "1.none", campaign: "c", invitedMs: nowMs, linkUntilMs: nowMs, invitation: "i" },
    ...{ reminders: 0, remindedMs: null, deadlineMs: inMs === null ? null : nowMs + inMs },
  };
  const change = world.radius.enrolment.prepare(user, value);
  const done = await world.store.commit({ checks: [change.check], mutations: [change.mutation] });
  if (!done.ok) throw new Error("Cannot store the mark");
  change.done(done.versionstamp);
}
