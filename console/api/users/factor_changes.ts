// Who changes a user's factors and what it needs, with the audit record and the notice of each change.

import type { Log } from "../../../platform/log.ts";
import { type AuditEntry, auditEntry } from "../../../platform/audit.ts";
import { type UserNotice, userNotice } from "../../../platform/user_notice.ts";
import type { AddingPhone } from "../../../radius/factors/pairing.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { People } from "./user_deps.ts";

export interface FactorDeps {
  readonly people: People;
  readonly desk: SecondFactorAdmin | null;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly http: { readonly publicUrl: string };
}

/** A user, and who asks. */
export interface FactorDeed {
  /** As the directory spells it. */
  readonly user: string;
  readonly actor: string;
  readonly source: string;
  /** The browser of the request: "Firefox on Windows". */
  readonly browser?: string;
  /** The phone that opened the visit to /me. */
  readonly addedBy?: AddingPhone | undefined;
}

/** The audit record of a change. */
export function factorAudit(
  { user, actor, source, browser }: FactorDeed,
  entry: Omit<AuditEntry, "actor" | "source" | "browser" | "object" | "how">,
): Mutation {
  return auditEntry({
    actor,
    source,
    browser,
    object: `user:${user}`,
    how: actor.startsWith("user:") ? "account" : actor === "command" ? "command" : "console",
    ...entry,
  });
}

/** The notice that tells the user what was added. */
export function factorNotice(
  { clock, random }: Pick<FactorDeps, "clock" | "random">,
  { user, actor }: FactorDeed,
  { what, recordId }: Pick<UserNotice, "what" | "recordId">,
): Mutation {
  const by = actor === `user:${user}` ? "self" : "administrator";
  return userNotice(user, { atMs: clock.nowMs(), what, by, recordId }, random.bytes(4).toHex());
}

/** The phone that added a factor, for an audit record. */
export function addedByDetail(
  { addedBy }: { readonly addedBy?: AddingPhone | undefined },
): { addedBy?: string } {
  return addedBy === undefined ? {} : { addedBy: addedBy.name ?? addedBy.id };
}
