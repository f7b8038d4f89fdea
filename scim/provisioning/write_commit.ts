// The one commit of a write: the record, its copies, what backends are owed, the end of the intent, and the audit.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import type { PutResult } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { ReceiptEntry, Written } from "../ports.ts";
import { withMembersNotStored } from "../schema/members_not_stored.ts";
import type { BackendStates } from "../schema/resource.ts";
import { actionOf, contentEntries } from "./write_audit.ts";
import { type Copies, copyChanges } from "./backend_copies.ts";
import type { Intent } from "./intent_log.ts";
import { leaveGroups, type LeftGroupsDeps } from "./group_cleanup.ts";
import type { OutboxChange } from "./outbox.ts";
import type { PreparedWrite } from "./prepared_write.ts";

export interface CommitDeps extends LeftGroupsDeps {
  readonly copies: Copies;
  readonly target: string;
  /** Users sign in from this target. */
  readonly isLoginTarget: boolean;
}

/** What calling the backends gave: the intent that ends with the commit, and what each put resolved with. */
export interface CalledBackends {
  readonly intent?: Intent;
  readonly puts?: ReadonlyMap<string, PutResult>;
}

/**
 * The one commit of a write, with what a leaver's groups take.
 * @returns the resource as it is then, and the receipt
 * @throws ScimRefusal `changed` or `too_large`; otherwise what the store throws
 */
export async function commitWrite(
  deps: CommitDeps,
  prepared: PreparedWrite,
  called: CalledBackends,
): Promise<Written> {
  const { stored, plan: { after } } = prepared;
  const groups = await leaveGroups(deps, { stored, next: after.content });
  try {
    return await record(deps, prepared, { ...called, groups: groups.changes });
  } finally {
    groups.release();
  }
}

async function record(
  deps: CommitDeps,
  prepared: PreparedWrite,
  called: CalledBackends & { groups: readonly OutboxChange[] },
): Promise<Written> {
  const { job: { kind, name }, stored, plan: { after }, password, named } = prepared;
  const outboxes = [...outboxChanges(deps, prepared), ...called.groups];
  const also: Mutation[] = [
    ...await copyMutations(deps, prepared),
    ...outboxes.flatMap(({ mutations }) => mutations),
    ...(called.intent?.ending ?? []),
    ...auditOf(deps, prepared),
  ];
  const content = after.content;
  const backends = withPuts(after.backends, called.puts ?? new Map());
  const written = await deps.directory.write({
    kind,
    name: content?.name ?? stored?.content.name ?? name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    next: content === null ? null : { content, backends },
    ...(password === undefined ? {} : { password }),
    also,
  }).catch((fault) => {
    if (!(fault instanceof RangeError)) throw fault;
    throw new ScimRefusal("too_large", { detail: "The resource is too large to be kept.", cause: fault });
  });
  if (!written.ok) throw new ScimRefusal("changed");
  for (const change of outboxes) change.committed();
  return {
    stored: written.stored,
    receipt: { entries: named.map((backend) => entryOf(prepared, { backend, puts: called.puts })) },
  };
}

function entryOf(
  { plan }: PreparedWrite,
  { backend, puts }: { backend: string; puts: CalledBackends["puts"] },
): ReceiptEntry {
  if (plan.queued.some((call) => call.backend === backend)) return { backend, outcome: "queued" };
  const notStored = puts?.get(backend)?.notStored;
  return { backend, outcome: "done", ...(notStored === undefined ? {} : { notStored }) };
}

async function copyMutations({ copies }: CommitDeps, prepared: PreparedWrite): Promise<Mutation[]> {
  const { job: { kind, name }, before, plan: { after }, owed } = prepared;
  const canonical = canonicalName(name);
  const mutations = await copyChanges(copies, {
    kind,
    canonical,
    before: before.copies,
    after: after.copies,
  });
  for (const [backend, { entry }] of owed) {
    if (entry.restores === true && !before.copies.has(backend) && !after.copies.has(backend)) {
      mutations.push(...await copies.drop({ backend, kind, canonical }));
    }
  }
  return mutations;
}

/** Adds outbox entries for asynchronous backends, and removes the entries of backends that this write has reached. */
function outboxChanges({ outbox }: CommitDeps, prepared: PreparedWrite): OutboxChange[] {
  const { job: { kind }, options: { password }, plan, before, owed, stored, job } = prepared;
  const name = plan.after.content?.name ?? stored?.content.name ?? job.name;
  const added = plan.queued.map(({ backend, operation }) =>
    outbox.add({
      backend,
      kind,
      name,
      operation,
      remoteId: before.backends[backend]?.remoteId,
      password: operation === "put" ? password : undefined,
    }, owed.get(backend) ?? null)
  );
  const dropped = plan.calls.flatMap(({ backend }) => {
    const known = owed.get(backend);
    return known === undefined ? [] : [outbox.drop(known)];
  });
  return [...added, ...dropped];
}

function withPuts(states: BackendStates, puts: ReadonlyMap<string, PutResult>): BackendStates {
  if (puts.size === 0) return states;
  const named = Object.entries(states).map(([backend, state]) => {
    const put = puts.get(backend);
    if (put === undefined) return [backend, state] as const;
    return [backend, withMembersNotStored({ ...state, remoteId: put.remoteId }, put.notStored)] as const;
  });
  return Object.fromEntries(named);
}

function auditOf({ target, isLoginTarget }: CommitDeps, prepared: PreparedWrite): Mutation[] {
  const { job: { kind, operation, deed, name }, options, stored, plan, named } = prepared;
  return contentEntries({ name: target, isLoginTarget }, {
    actor: options.actor,
    action: actionOf(kind, deed ?? operation),
    kind,
    name: plan.after.content?.name ?? stored?.content.name ?? name,
    before: stored?.content ?? null,
    after: plan.after.content,
    setsPassword: options.password !== undefined,
    backends: named,
  });
}
