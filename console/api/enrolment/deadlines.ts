// Changes the deadlines of invited users: selected ones, or those of a campaign. Some users share a commit; a change that is interrupted can be
// repeated.

import { auditEntry } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { MarkChange } from "../../../radius/factors/enrolment_marks.ts";
import type { Caller } from "../hono_env.ts";
import type { EnrolmentService } from "./enrolment_service.ts";

/** Deno KV limits the mutations and checks of a commit. */
const USERS_PER_COMMIT = 20;
const ATTEMPTS = 5;

export interface DeadlineChange {
  readonly choice: { readonly names: readonly string[] } | { readonly campaign: string };
  /** `null`: no deadline. */
  readonly deadlineMs: number | null;
  readonly caller: Caller;
}

/** Returns how many users have the new deadline. Users without an invitation have none. */
export async function changeDeadlines(
  { people: { enrolment }, store }: EnrolmentService,
  { choice, deadlineMs, caller }: DeadlineChange,
): Promise<{ changed: number }> {
  const users = "names" in choice
    ? [...new Set(choice.names.map(canonicalName))].filter((user) => enrolment.of(user) !== null)
    : [...enrolment.all()].flatMap(([user, { campaign }]) => campaign === choice.campaign ? [user] : []);
  let changed = 0;
  for (let at = 0; at < users.length; at += USERS_PER_COMMIT) {
    const some = users.slice(at, at + USERS_PER_COMMIT);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const changes = some.flatMap((user): MarkChange[] => {
        const mark = enrolment.of(user);
        return mark === null ? [] : [enrolment.prepare(user, { ...mark, deadlineMs })];
      });
      const done = await store.commit({
        checks: changes.map(({ check }) => check),
        mutations: [
          ...changes.map(({ mutation }) => mutation),
          auditEntry({
            ...{ action: "enrolment.change_deadline", objects: some.map((user) => `user:${user}`) },
            ...{ actor: caller.actor, source: caller.source },
            ...(deadlineMs === null ? {} : { deadlineMs }),
          }),
        ],
      });
      if (done.ok) {
        for (const change of changes) change.done(done.versionstamp);
        changed += changes.length;
        break;
      }
      for (const user of some) await enrolment.reread(user);
    }
  }
  return { changed };
}
