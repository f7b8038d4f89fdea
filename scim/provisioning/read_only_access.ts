// Read-only connectors (`access = "read"`): which backends a write changes, when it is refused, and a backend that never writes.

import type { Backend, BackendOutcome } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import { desiredContent, hasResource, type ResourceStatus, type WriteOperation } from "./backend_status.ts";
import { holdsAlready } from "./reconcile.ts";

interface WritableBackends {
  /** The backends that the write changes, in the order of the list. */
  readonly writable: readonly string[];
  /** Read-only backends that have the resource, and keep it as it is. */
  readonly unchanged: ReadonlySet<string>;
}

interface AccessInput {
  readonly operation: WriteOperation;
  readonly kind: ResourceKind;
  /** `null` for a removal. */
  readonly content: Content | null;
  readonly before: ResourceStatus;
  readonly named: readonly string[];
  /** The request itself names the backends. */
  readonly isExplicit: boolean;
  readonly setsPassword: boolean;
}

/**
 * Leaves out read-only backends. What such a backend has cannot be changed here, except what it cannot store, such as `active` in OpenLDAP.
 * @throws ScimRefusal `read_only` if only a read-only backend could make the change
 */
export function selectWritable(remotes: ReadonlyMap<string, Backend>, input: AccessInput): WritableBackends {
  const { operation, kind, before, named, isExplicit } = input;
  const writable: string[] = [];
  const unchanged = new Set<string>();
  let skipped: string | null = null;
  for (const name of named) {
    const remote = remotes.get(name);
    if (remote?.isReadOnly !== true) {
      writable.push(name);
      continue;
    }
    if (hasResource(before.backends[name])) {
      if (!isUnchangedAt(remote, input)) throw heldReadOnly(name, { operation, kind });
      unchanged.add(name);
    } else if (isExplicit && operation !== "remove") throw cannotCreate(name, kind);
    else skipped ??= name;
  }
  if (writable.length === 0 && skipped !== null && operation === "create") throw cannotCreate(skipped, kind);
  // A user who leaves the read-only directory must not stay in another one that only this write added.
  const isOwn = (name: string) => isExplicit || unchanged.size === 0 || hasResource(before.backends[name]);
  return { writable: writable.filter(isOwn), unchanged };
}

/** Whether the backend stores nothing of the change. */
function isUnchangedAt(
  remote: Backend,
  { operation, content, before, setsPassword }: AccessInput,
): boolean {
  const held = desiredContent(before, remote.name);
  if (operation !== "replace" || setsPassword || content === null || held === null) return false;
  return held.name === content.name &&
    holdsAlready(remote, { content, remote: { content: held, remoteId: "" } });
}

/** The refusal for a change of what a read-only backend has. */
export function heldReadOnly(
  name: string,
  { operation, kind }: { operation: WriteOperation; kind: ResourceKind },
): ScimRefusal {
  const instead = operation === "remove"
    ? `Delete the ${kind} there. The next refresh then removes it here.`
    : `Change the ${kind} there. The next refresh then shows the change here.`;
  return new ScimRefusal("read_only", {
    detail: `The connector "${name}" is read-only, and it has this ${kind}. Nothing was changed. ${instead}`,
  });
}

/** The refusal for a new resource at a read-only backend. */
export function cannotCreate(name: string, kind: ResourceKind): ScimRefusal {
  return new ScimRefusal("read_only", {
    detail:
      `The connector "${name}" is read-only, so a ${kind} cannot be created there. Nothing was changed.`,
  });
}

/** A backend that refuses every write, also one that was pending when the connector became read-only. */
export function withoutWrites(inner: Backend): Backend {
  const refused: BackendOutcome<never> = {
    ok: false,
    fault: {
      kind: "refused",
      detail: `The connector "${inner.name}" is read-only (access = "read").`,
      ...{ unsure: false, retry: false, isLocal: true },
    },
  };
  const { verify, showsMembers, size } = inner;
  return {
    name: inner.name,
    kind: inner.kind,
    mode: inner.mode,
    covers: inner.covers,
    ...(inner.readOnly === undefined ? {} : { readOnly: inner.readOnly }),
    holds: inner.holds,
    isReadOnly: true,
    read: (kind, name, hint) => inner.read(kind, name, hint),
    put: () => Promise.resolve(refused),
    remove: () => Promise.resolve(refused),
    ...(inner.rename === undefined ? {} : { rename: () => Promise.resolve(refused) }),
    list: (kind) => inner.list(kind),
    ...(verify === undefined ? {} : { verify: (name, password) => verify.call(inner, name, password) }),
    ...(size === undefined ? {} : { size: (kind) => size.call(inner, kind) }),
    ...(showsMembers === undefined ? {} : { showsMembers: () => showsMembers.call(inner) }),
    probe: () => inner.probe(),
    close: () => inner.close(),
  };
}
