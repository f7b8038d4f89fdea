// Which backends an operation is for: those that it names, or all that can hold such a resource.

import { ScimRefusal } from "../http/refusals.ts";
import type { BackendInfo } from "../ports.ts";
import type { ResourceKind } from "../schema/resource.ts";

/** What the choice needs to know of a target. */
export interface BackendChoice {
  readonly backends: readonly BackendInfo[];
  /** Whether a backend holds groups at all. */
  readonly holdsGroups: (backend: string) => boolean;
}

/**
 * Names in the order of the list, each once. Throws the refusal `unknown_backend` for a name that is none, for no name at all, and for a backend
 * that holds no groups when a group is meant; `unsupported` when no backend holds groups.
 */
export function chooseBackends(
  { backends, holdsGroups }: BackendChoice,
  { kind, named }: { kind: ResourceKind; named: readonly string[] | undefined },
): string[] {
  const all = backends.map(({ name }) => name);
  const able = all.filter((name) => kind === "user" || holdsGroups(name));
  if (named === undefined) {
    if (able.length > 0) return able;
    throw new ScimRefusal("unsupported", { detail: "No backend of this target holds groups." });
  }
  if (named.length === 0) {
    throw new ScimRefusal("unknown_backend", { detail: "The parameter `backends` names no backend." });
  }
  const unknown = named.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    const shown = unknown.slice(0, 100);
    throw new ScimRefusal("unknown_backend", { detail: `The target has no backend "${shown}".` });
  }
  const unable = named.find((name) => !able.includes(name));
  if (unable !== undefined) {
    throw new ScimRefusal("unknown_backend", { detail: `The backend "${unable}" holds no groups.` });
  }
  return all.filter((name) => named.includes(name));
}
