// Members of a group that a backend did not store, because it does not know the user: the count and the first names.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { BackendState, GroupContent, MembersNotStored } from "./resource.ts";

/** Names in the summary; the count covers the rest. */
const MAX_NAMES = 10;
/** Characters of these names together: the summary is part of the resource's record, which is one value of the store. */
const MAX_CHARACTERS = 1000;

/** Returns `undefined` when every member was stored. */
export function membersNotStored(names: readonly string[]): MembersNotStored | undefined {
  return names.length === 0 ? undefined : { count: names.length, names: firstNames(names) };
}

function firstNames(names: readonly string[]): string[] {
  const first: string[] = [];
  let characters = 0;
  for (const name of names.slice(0, MAX_NAMES)) {
    characters += name.length;
    if (characters > MAX_CHARACTERS) break;
    first.push(name);
  }
  return first;
}

/** Replaces the summary of a state; returns the same state when the summary is equal. */
export function withMembersNotStored(
  state: BackendState,
  notStored: MembersNotStored | undefined,
): BackendState {
  if (isSameSummary(state.notStored, notStored)) return state;
  const { notStored: _before, ...rest } = state;
  return notStored === undefined ? rest : { ...rest, notStored };
}

export function isSameSummary(a: MembersNotStored | undefined, b: MembersNotStored | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.count === b.count && a.names.length === b.names.length &&
    a.names.every((name, at) => name === b.names[at]);
}

/** The part of a summary that a new reading of the backend confirms: members of `wanted` that `held` lacks. */
export function stillNotStored(
  before: MembersNotStored,
  { wanted, held }: { wanted: GroupContent; held: GroupContent },
): MembersNotStored | undefined {
  const stored = new Set(held.members.map(canonicalName));
  const missing = wanted.members.filter((name) => !stored.has(canonicalName(name)));
  const known = new Set(before.names.map(canonicalName));
  const confirmed = missing.filter((name) => known.has(canonicalName(name)));
  const unnamed = Math.min(before.count - before.names.length, missing.length - confirmed.length);
  const count = confirmed.length + unnamed;
  if (count === 0) return undefined;
  // The unnamed ones are among the other missing members; none of these is named, because it may have been removed at the backend.
  return { count, names: firstNames(confirmed) };
}
