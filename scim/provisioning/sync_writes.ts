// Calls synchronous backends in order before a write is recorded. If one fails, the earlier calls are undone in reverse order.

import { LeaseUnavailable, type WriteLease } from "../../platform/cluster/lease.ts";
import type { Receipt, ReceiptEntry } from "../ports.ts";
import type {
  Backend,
  BackendFault,
  BackendOutcome,
  ContentChanges,
  PutResult,
  RemoteResource,
} from "../backend_port.ts";
import { contentChanges } from "../schema/content_changes.ts";
import { type GroupMemberChange, withMemberChange } from "./member_change.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import { ScimRefusal } from "../http/refusals.ts";
import { renameAt } from "./deliver_rename.ts";
import { isUnavailable } from "./delivery.ts";
import type { BackendOperation } from "./plan_write.ts";

export interface SyncCall {
  readonly backend: Backend;
  readonly operation: BackendOperation;
  /** The previous content at the backend. */
  readonly before: RemoteResource | null;
  /** What the write changes there. `null`: it removes the resource. */
  readonly changes: ContentChanges | null;
}

export interface SyncWork {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The new name of a rename. */
  readonly to?: string | undefined;
  readonly content: Content | null;
  readonly password: string | undefined;
  /** A change of members only. */
  readonly members?: GroupMemberChange | undefined;
  readonly calls: readonly SyncCall[];
}

export type SyncOutcome =
  /** Results of the puts, by backend. */
  | { readonly ok: true; readonly puts: ReadonlyMap<string, PutResult> }
  | {
    readonly ok: false;
    readonly fault: BackendFault;
    readonly failed: SyncCall;
    /** The calls that took effect, or may have, in their order. */
    readonly touched: readonly SyncCall[];
  };

/** Makes the calls in order, and stops at the first failure. @throws LeaseUnavailable if this node has lost the lease */
export async function makeCalls(work: SyncWork, lease: Pick<WriteLease, "isHeld">): Promise<SyncOutcome> {
  const puts = new Map<string, PutResult>();
  const touched: SyncCall[] = [];
  for (const call of work.calls) {
    if (!lease.isHeld) {
      throw new LeaseUnavailable("Cannot call a backend: this node lost the lease of the target");
    }
    const outcome = await makeCall(work, call);
    if (!outcome.ok) {
      if (outcome.fault.unsure) touched.push(call);
      return { ok: false, fault: outcome.fault, failed: call, touched };
    }
    touched.push(call);
    if (outcome.value !== null) puts.set(call.backend.name, outcome.value);
  }
  return { ok: true, puts };
}

async function makeCall(
  { kind, name, content, password, members }: SyncWork,
  { backend, operation, before, changes }: SyncCall,
) {
  const hint = before === null ? {} : { remoteId: before.remoteId };
  if (operation === "remove" || content === null) return await backend.remove(kind, name, hint);
  const wanted = withOwnMembers(content, { members, before });
  const desired = {
    content: wanted,
    ...(password === undefined ? {} : { password }),
    ...(changes === null ? {} : { changes }),
  };
  if (operation === "rename") return await renameAt(backend, { from: name, desired, hint });
  return await backend.put(desired, hint);
}

/** After a change of members, the backend has its own other members: another client may have added some there. */
function withOwnMembers(
  content: Content,
  { members, before }: { members: GroupMemberChange | undefined; before: RemoteResource | null },
): Content {
  const held = before?.content;
  if (members === undefined || content.kind === "user" || held?.kind !== "group") return content;
  return { ...content, members: withMemberChange(held, { ...members, add: content.members }).members };
}

/** Undoes calls, the last one first, and returns those that could not be undone. */
export async function undoCalls(
  work: SyncWork,
  touched: readonly SyncCall[],
): Promise<SyncCall[]> {
  const left: SyncCall[] = [];
  for (const call of touched.toReversed()) {
    if (!(await undoCall(work, call)).ok) left.push(call);
  }
  return left;
}

function undoCall(
  { kind, name, to, content }: SyncWork,
  { backend, before }: SyncCall,
): Promise<BackendOutcome<PutResult | null>> {
  if (before === null) return backend.remove(kind, to ?? name);
  const changes = undoneChanges(content, before.content);
  const desired = { content: before.content, ...(changes === undefined ? {} : { changes }) };
  // Without a hint, because a resource that is created again has another id.
  return to === undefined ? backend.put(desired) : renameAt(backend, { from: to, desired, hint: {} });
}

/** What the rollback of a write changes. `undefined`: everything, because the write removed the resource. */
export function undoneChanges(content: Content | null, former: Content | null): ContentChanges | undefined {
  return content === null || former === null ? undefined : contentChanges(content, former);
}

/** The outcome at each named backend after `failed` stopped the write. */
export function failureReceipt(
  named: readonly string[],
  { failed, fault, touched, left }: {
    failed: string;
    fault: BackendFault;
    touched: readonly SyncCall[];
    left: readonly SyncCall[];
  },
): Receipt {
  const isLeft = (name: string) => left.some(({ backend }) => backend.name === name);
  const isTouched = (name: string) => touched.some(({ backend }) => backend.name === name);
  const entryOf = (backend: string): ReceiptEntry => {
    if (isLeft(backend)) return { backend, outcome: "undoing" };
    if (backend === failed) return { backend, outcome: "failed", detail: fault.detail };
    return { backend, outcome: isTouched(backend) ? "undone" : "untried" };
  };
  return { entries: named.map(entryOf) };
}

/** The refusal for a fault of a backend. */
export function backendRefusal(
  backend: string,
  { fault, receipt = null }: { fault: BackendFault; receipt?: Receipt | null },
): ScimRefusal {
  const pending = receipt?.entries.filter(({ outcome }) => outcome === "undoing")
    .map(({ backend }) => `"${backend}"`) ?? [];
  const end = pending.length === 0
    ? "Nothing was changed."
    : `The write failed. The rollback at ${pending.join(", ")} is pending.`;
  const reason = `${fault.detail.replace(/[.\s]+$/, "").slice(0, 300)}.`;
  const problem = isUnavailable(fault) ? "cannot be reached" : "refused the operation";
  if (fault.isInvalidValue === true) {
    return new ScimRefusal("invalid_value", {
      detail: `The connector "${backend}" does not accept a value: ${reason} ${end}`,
      receipt,
    });
  }
  if (fault.isTaken === true) {
    return new ScimRefusal("taken", {
      detail:
        `The connector "${backend}" has another resource with a value that must be unique: ${reason} ${end}`,
      receipt,
    });
  }
  const waitS = Math.ceil(Math.min(fault.retryAfterMs ?? 5000, 3600_000) / 1000);
  return new ScimRefusal(isUnavailable(fault) ? "backend_unreachable" : "backend_failed", {
    detail: `The connector "${backend}" ${problem}: ${reason} ${end}`,
    headers: isUnavailable(fault) ? { "Retry-After": String(Math.max(1, waitS)) } : {},
    receipt,
  });
}
