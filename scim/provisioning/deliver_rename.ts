// One attempt to deliver an entry of a resource that may have another name at the backend.

import type { Backend, BackendOutcome, DesiredResource, PutResult, RemoteHint } from "../backend_port.ts";
import type { StoredEntry } from "./pending_writes.ts";

/** Renames or removes the resource, whichever of its names it has at the backend. It can be repeated. @param rename.desired `null`: it is removed */
export async function deliverRename(
  backend: Backend,
  { known: { entry }, desired, hint }: {
    known: StoredEntry;
    desired: DesiredResource | null;
    hint: RemoteHint;
  },
): Promise<BackendOutcome<Partial<PutResult>>> {
  const { kind, name, from = [], clears } = entry;
  if (desired === null) return await removeAll(backend, { kind, names: [...from, name], hint });
  let held: string | null = null;
  for (const one of from) {
    const read = await backend.read(kind, one, hint);
    if (!read.ok) return read;
    if (read.value === null) continue;
    held = one;
    break;
  }
  if (held === null) return await backend.put(desired, hint);
  if (clears === true) {
    const removed = await backend.remove(kind, name);
    if (!removed.ok) return removed;
  }
  return await renameAt(backend, { from: held, desired, hint });
}

async function removeAll(
  backend: Backend,
  { kind, names, hint }: Pick<StoredEntry["entry"], "kind"> & {
    names: readonly string[];
    hint: RemoteHint;
  },
): Promise<BackendOutcome<Partial<PutResult>>> {
  for (const name of names) {
    const removed = await backend.remove(kind, name, hint);
    if (!removed.ok) return removed;
  }
  return { ok: true, value: {} };
}

/** Renames at a backend. One that cannot rename is not asked to, unless its settings changed. */
export async function renameAt(
  backend: Backend,
  { from, desired, hint }: { from: string; desired: DesiredResource; hint: RemoteHint },
): Promise<BackendOutcome<PutResult>> {
  if (backend.rename !== undefined) return await backend.rename(from, desired, hint);
  const detail = `it cannot rename "${from}"`;
  return { ok: false, fault: { kind: "unsupported", detail, unsure: false, retry: false } };
}
