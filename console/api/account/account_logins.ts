// A person's own logins: those under way, what waits for their phone, and how the last ones ended.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { createHistoryReader, type HistoryItem } from "../history/history.ts";
import type { Person } from "./account_owner.ts";
import type { OwnHistory } from "./account_history.ts";
import type { MeApproval, MeLogin, MeLogins, MeOpenLogin } from "./account_types.ts";

export interface MeLoginsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly watch: GatewayWatch;
  readonly desk: SecondFactorAdmin | null;
  readonly history: OwnHistory;
}

/** What is known of one login, to say which one was meant. */
export interface KnownLogin {
  readonly conversationId: string;
  readonly client: string;
  readonly place: string;
}

const MOST_OPEN = 20;
const LOOKED_THROUGH = 20_000;
const AT_THE_PHONE = new Set(["SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "pushing", "holding", "asking"]);

/** Everything of one person. What began before the person's record was created is of an earlier user of the name. */
export async function ownLogins(
  deps: MeLoginsDeps,
  { canonical, createdMs }: Pick<Person, "canonical" | "createdMs">,
): Promise<MeLogins> {
  const sinceMs = createdMs ?? 0;
  return {
    nowMs: deps.clock.nowMs(),
    open: openLogins(deps, canonical),
    approvals: approvalsOf(deps, canonical),
    recent: (await deps.history.of(canonical)).filter(({ startedMs }) => startedMs >= sinceMs).map(loginOf),
  };
}

/** A login of this user by its id, in progress or ended; `null` if there is none, or if it is another user's. */
export async function ownLogin(
  { store, watch }: MeLoginsDeps,
  { canonical, conversationId }: { canonical: string; conversationId: string },
): Promise<KnownLogin | null> {
  const login = watch.conversation(conversationId) ??
    await createHistoryReader({ store }).one(conversationId);
  if (login === null || canonicalName(login.user) !== canonical) return null;
  return { conversationId, client: login.client, place: login.place };
}

function openLogins({ watch }: MeLoginsDeps, canonical: string): MeOpenLogin[] {
  return watch.conversations(LOOKED_THROUGH)
    .filter(({ user, outcome }) => outcome === null && canonicalName(user) === canonical)
    .slice(0, MOST_OPEN)
    .map(({ id, startedMs, client, place, step }) => ({
      conversationId: id,
      startedMs,
      client,
      place,
      step,
      waitsForPhone: AT_THE_PHONE.has(step),
    }));
}

function approvalsOf({ desk }: MeLoginsDeps, canonical: string): MeApproval[] {
  return (desk?.pendingApprovals() ?? [])
    .filter(({ userName }) => canonicalName(userName) === canonical)
    .slice(-MOST_OPEN)
    .map(({ requestId, client, place, createdMs, deadlineMs }) => ({
      requestId,
      client,
      place,
      createdMs,
      deadlineMs,
    }));
}

function loginOf({ id, startedMs, endedMs, outcome, reason, factor, client, place }: HistoryItem): MeLogin {
  return {
    conversationId: id,
    startedMs,
    endedMs,
    outcome,
    reason: reason?.code ?? null,
    factor,
    client,
    place,
  };
}
