// What a backend is owed when a write failed and taking it back did not work either: its former content, from the outbox.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Directory } from "../ports.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import { type Copies, readStanding } from "./backend_copies.ts";
import type { Link } from "./backend_client.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";
import { holdsAlready } from "./reconcile.ts";
import { desiredOf } from "./backend_status.ts";

export interface RestoringDeps {
  readonly directory: Directory;
  readonly outbox: Outbox;
  readonly copies: Copies;
}

export interface Restoring {
  readonly link: Link;
  readonly kind: ResourceKind;
  readonly name: string;
  /** What the backend held before the write; `null`: nothing. */
  readonly before: Content | null;
}

/** An entry that puts `before` back. Where something was owed already, that stands: it is newer than what the backend held. */
export async function oweRestoring(
  { directory, outbox, copies }: RestoringDeps,
  { link, kind, name, before }: Restoring,
): Promise<OutboxChange> {
  const backend = link.name;
  const canonical = canonicalName(name);
  const known = await outbox.find(backend, kind, name);
  if (known !== null) {
    const { operation, restores } = known.entry;
    const restoring = restores === undefined ? {} : { restores };
    return outbox.add({ backend, kind, name, operation, started: true, ...restoring }, known);
  }
  if (before === null) return outbox.add({ backend, kind, name, operation: "remove", started: true }, null);
  const stored = await directory.read(kind, canonical);
  const desired = desiredOf(await readStanding(copies, stored), backend);
  const isKept = desired !== null &&
    holdsAlready(link.backend, { content: desired, remote: { content: before, remoteId: "" } });
  const put = { backend, kind, name, operation: "put", started: true } as const;
  if (isKept) return outbox.add(put, null);
  const copied = await copies.set({ backend, kind, canonical }, before);
  const change = outbox.add({ ...put, restores: true }, null);
  return { mutations: [...copied, ...change.mutations], committed: change.committed };
}
