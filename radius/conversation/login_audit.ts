// Audit records of a login: the decision goes into the commit that makes it, a join has a commit of its own.

import type { Log } from "../../platform/log.ts";
import { type AuditEntry, auditEntry } from "../../platform/audit.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Conversation } from "./conversation.ts";
import type { Request } from "../server/request.ts";

/** The change that records what happened to a login. */
export function auditLogin(
  { orderedId, shownUser, client, source, place }: Conversation,
  what: Omit<AuditEntry, "actor" | "object">,
): Mutation {
  return auditEntry({
    actor: "radius",
    object: `user:${shownUser}`,
    client,
    source,
    caller: place,
    conversation: orderedId,
    ...what,
  });
}

/** Records that a re-issued login joined the one that waits for its answer, with both sources. */
export function recordJoin(
  { store, log }: { store: Store; log: Log },
  conversation: Conversation,
  { first, joined }: { first: Request; joined: Request },
): void {
  const { orderedId, shownUser: user, client } = conversation;
  const fields = {
    ...{ user, client, source: joined.source, firstSource: first.source },
    conversation: orderedId,
  };
  log[first.source === joined.source ? "info" : "warn"](
    "login joined: a re-issued login gets the answer of the login that is in progress",
    fields,
  );
  const record = auditLogin(conversation, {
    action: "login.joined",
    source: joined.source,
    sources: [first.source, joined.source],
  });
  store.commit({ mutations: [record] }).catch((fault: unknown) =>
    log.error("a joined login could not be recorded in the audit log", { ...fields, fault: String(fault) })
  );
}
