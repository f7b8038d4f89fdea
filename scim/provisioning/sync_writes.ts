// Calls to the backends that must succeed before a write is recorded: in order, and taken back in reverse when one of them fails.

import type { Receipt, ReceiptEntry } from "../ports.ts";
import type { BackendFault, PutResult, Remote } from "../backend_port.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import { ScimRefusal } from "../http/refusals.ts";
import { isAway } from "./backoff.ts";
import type { Link } from "./backend_client.ts";
import type { BackendOperation } from "./plan_write.ts";

export interface SyncCall {
  readonly link: Link;
  readonly operation: BackendOperation;
  /** What the backend holds before. */
  readonly before: Remote | null;
}

export interface SyncWork {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly content: Content | null;
  readonly password: string | undefined;
  readonly calls: readonly SyncCall[];
}

export type SyncOutcome =
  /** Results of the puts, by backend. */
  | { readonly ok: true; readonly puts: ReadonlyMap<string, PutResult> }
  | {
    readonly ok: false;
    readonly fault: BackendFault;
    readonly failed: SyncCall;
    /** Those that did it, or may have, in the order of the calls. */
    readonly touched: readonly SyncCall[];
  };

/** Makes the calls one after the other; stops at the first that fails. */
export async function makeCalls(work: SyncWork): Promise<SyncOutcome> {
  const puts = new Map<string, PutResult>();
  const touched: SyncCall[] = [];
  for (const call of work.calls) {
    const outcome = await makeCall(work, call);
    if (!outcome.ok) {
      if (outcome.fault.unsure) touched.push(call);
      return { ok: false, fault: outcome.fault, failed: call, touched };
    }
    touched.push(call);
    if (outcome.value !== null) puts.set(call.link.name, outcome.value);
  }
  return { ok: true, puts };
}

async function makeCall({ kind, name, content, password }: SyncWork, { link, operation, before }: SyncCall) {
  const hint = before === null ? {} : { remoteId: before.remoteId };
  if (operation === "remove" || content === null) return await link.backend.remove(kind, name, hint);
  return await link.backend.put({ content, ...(password === undefined ? {} : { password }) }, hint);
}

/** Takes calls back, the last one first; returns those where that failed. */
export async function takeBack(
  { kind, name }: SyncWork,
  touched: readonly SyncCall[],
): Promise<SyncCall[]> {
  const left: SyncCall[] = [];
  for (const call of touched.toReversed()) {
    const { link, before } = call;
    const undone = before === null
      ? await link.backend.remove(kind, name)
      // No hint: a resource that was removed and is made again has another id.
      : await link.backend.put({ content: before.content });
    if (!undone.ok) left.push(call);
  }
  return left;
}

/** What happened at each named backend when `failed` stopped the write. */
export function failureReceipt(
  named: readonly string[],
  { failed, fault, touched, left }: {
    failed: string;
    fault: BackendFault;
    touched: readonly SyncCall[];
    left: readonly SyncCall[];
  },
): Receipt {
  const isLeft = (name: string) => left.some(({ link }) => link.name === name);
  const isTouched = (name: string) => touched.some(({ link }) => link.name === name);
  const entryOf = (backend: string): ReceiptEntry => {
    if (isLeft(backend)) return { backend, outcome: "undoing" };
    if (backend === failed) return { backend, outcome: "failed", detail: fault.detail };
    return { backend, outcome: isTouched(backend) ? "undone" : "untried" };
  };
  return { entries: named.map(entryOf) };
}

/** The refusal for a fault of a backend. */
export function refusalFor(
  backend: string,
  { fault, receipt = null }: { fault: BackendFault; receipt?: Receipt | null },
): ScimRefusal {
  const owed = receipt?.entries.filter(({ outcome }) => outcome === "undoing")
    .map(({ backend }) => `"${backend}"`) ?? [];
  const end = owed.length === 0
    ? "Nothing was changed."
    : `Nothing was recorded; what ${owed.join(", ")} may have done is still to be taken back.`;
  const reason = `${fault.detail.replace(/[.\s]+$/, "").slice(0, 300)}.`;
  const said = isAway(fault) ? "cannot be reached" : "refused the operation";
  const waitS = Math.ceil(Math.min(fault.retryAfterMs ?? 5000, 3600_000) / 1000);
  return new ScimRefusal(isAway(fault) ? "backend_unreachable" : "backend_failed", {
    detail: `The backend "${backend}" ${said}: ${reason} ${end}`,
    headers: isAway(fault) ? { "Retry-After": String(Math.max(1, waitS)) } : {},
    receipt,
  });
}
