// How backends stand to a resource: who has it, and what that makes of the resource. Pure.

import type { BackendState, BackendStates, Content } from "../schema/resource.ts";

/** A resource while it is being worked out: its content (`null`: there is none), states, and the contents of those that differ. */
export interface Standing {
  readonly content: Content | null;
  readonly backends: BackendStates;
  /** By backend; exactly those whose state says `differs`. */
  readonly copies: ReadonlyMap<string, Content>;
}

/** Whether a backend counts as having the resource: it does, or shall. */
export function has(state: BackendState | undefined): boolean {
  if (state === undefined || state.state === "vanished") return false;
  return state.state === "present" || state.operation === "put";
}

/** What a backend holds, or shall. */
export function desiredOf(standing: Standing, backend: string): Content | null {
  return standing.copies.get(backend) ?? standing.content;
}

/** A standing with one backend's state replaced, or (`undefined`) taken away with its copy. */
export function withState(standing: Standing, backend: string, state: BackendState | undefined): Standing {
  const { [backend]: _replaced, ...others } = standing.backends;
  const bare = withoutCopy({ ...standing, backends: others }, backend);
  return state === undefined ? bare : { ...bare, backends: { ...others, [backend]: state } };
}

/** A standing in which `backend`, which has the resource, holds `content`, be it the resource's or not. */
export function withCopy(standing: Standing, backend: string, content: Content): Standing {
  const state = standing.backends[backend];
  if (state === undefined) return standing;
  return {
    ...standing,
    backends: { ...standing.backends, [backend]: { ...state, differs: true } },
    copies: new Map(standing.copies).set(backend, content),
  };
}

export function withoutCopy(standing: Standing, backend: string): Standing {
  const state = standing.backends[backend];
  if (!standing.copies.has(backend) && state?.differs === undefined) return standing;
  const copies = new Map(standing.copies);
  copies.delete(backend);
  if (state === undefined) return { ...standing, copies };
  const { differs: _no, ...rest } = state;
  return { ...standing, copies, backends: { ...standing.backends, [backend]: rest } };
}

/**
 * The end of every change: what no backend has is gone, and a content that no backend holds any more gives way to that of the first that is left.
 *
 * @param order the target's backends as listed.
 */
export function settled(standing: Standing, order: readonly string[]): Standing {
  const holders = order.filter((name) => has(standing.backends[name]));
  const first = holders[0];
  if (first === undefined) return { content: null, backends: {}, copies: new Map() };
  if (holders.some((name) => !standing.copies.has(name))) return standing;
  const promoted = standing.copies.get(first) ?? null;
  return withoutCopy({ ...standing, content: promoted }, first);
}
