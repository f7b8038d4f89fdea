// "This was not me": the user is locked for an hour, what waits is denied and ended, and the administrators are told. Lock, notice
// and record stand in one commit.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { MeSessions } from "./account_sessions.ts";
import type { MeDisowned } from "./account_types.ts";
import { createNotices } from "../notices/notices.ts";
import type { People } from "../users/user_deps.ts";

export interface NotMeDeps {
  readonly people: People;
  readonly desk: SecondFactorAdmin | null;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly sessions: MeSessions;
}

/** Who says it, and of which login. */
export interface NotMeDeed {
  readonly user: string;
  readonly source: string;
  /** The visit that goes on; all others of this user end. */
  readonly keepSessionId: string | null;
  /** The login in question, where one is known. */
  readonly about: { readonly conversationId: string; readonly client: string; readonly place: string } | null;
}

export function createNotMe(deps: NotMeDeps): (deed: NotMeDeed) => Promise<MeDisowned> {
  const { people, store, log } = deps;
  const notices = createNotices(deps);
  return async ({ user, source, keepSessionId, about }) => {
    const canonical = canonicalName(user);
    const { conversationId = "", client = "", place = "" } = about ?? {};
    const ending = await deps.sessions.endingOf(canonical, { exceptId: keepSessionId });
    const disowning = people.prepareDisowning(canonical);
    const { lockedUntilMs } = disowning;
    const until = new Date(lockedUntilMs).toISOString();
    const record = auditEntry({
      actor: `user:${user}`,
      source,
      action: "user.not_me",
      object: `user:${user}`,
      ...(conversationId === "" ? {} : { before: `login ${conversationId}` }),
      after: `locked until ${until}`,
    });
    const notice = notices.prepare({
      kind: "not_me",
      user,
      source,
      conversationId,
      client,
      place,
      lockedUntilMs,
    });
    await store.commit({ mutations: [...disowning.mutations, notice, record, ...ending] })
      .catch((fault: unknown) => {
        disowning.undo();
        throw fault;
      });
    const denied = await denyAll(deps, canonical);
    const ended = disowning.done();
    log.warn("a user says that a login was not theirs", {
      reason: "not_me",
      user,
      source,
      conversation: conversationId,
      until,
    });
    return { lockedUntilMs, ended, denied };
  };
}

/** Denies the requests that wait for the user's phones. The lock is already in force, so a request that is missed cannot lead to an accept. */
async function denyAll({ desk, log }: NotMeDeps, canonical: string): Promise<number> {
  const waiting = desk?.pendingApprovals().filter(({ userName }) => canonicalName(userName) === canonical) ??
    [];
  let denied = 0;
  for (const { requestId } of waiting) {
    const outcome = await desk?.decide(requestId, { approve: false }).catch((fault: unknown) => {
      log.error("a disowned request could not be denied", { fault: String(fault) });
    });
    if (outcome?.ok === true) denied += 1;
  }
  return denied;
}
