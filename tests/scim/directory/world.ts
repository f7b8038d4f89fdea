// A directory over a store in memory, for tests: its clock advances a little with each read, and it has short methods
// to write.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { createLog } from "../../../platform/log.ts";
import { NO_CHANGE } from "../../../platform/write_batch.ts";
import { type Clock, createSystemRandom } from "../../../platform/runtime.ts";
import { createDirectory, type DirectoryDeps } from "../../../scim/directory/directory.ts";
import type { Page, RenameResult, SearchOutcome, TargetDirectory, WriteResult } from "../../../scim/ports.ts";
import type { JsonObject, Stored } from "../../../scim/schema/resource.ts";
import { createStore, type Store } from "../../../platform/store.ts";

export const NAME = { familyName: "", givenName: "" };

/** `count` names with a number of five digits, in the order of the directory. */
export const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${String(at).padStart(5, "0")}`);

export function tickingClock(): Clock {
  let nowMs = 1_700_000_000_000;
  return { nowMs: () => nowMs += 1, after: () => () => undefined };
}

export interface World extends AsyncDisposable {
  readonly store: Store;
  readonly directory: TargetDirectory;
  /** The same directory after a restart. */
  reopen(deps?: Partial<DirectoryDeps>): Promise<TargetDirectory>;
}

export async function openWorld(deps: Partial<DirectoryDeps> = {}): Promise<World> {
  const store = createStore(await Deno.openKv(":memory:"));
  const clock = tickingClock();
  const reopen = (other: Partial<DirectoryDeps> = {}) =>
    createDirectory({
      store,
      clock,
      random: createSystemRandom(),
      log: createLog({ format: "text", level: "error", clock, write: () => undefined }),
      target: "default",
      prepareOffboarding: () => NO_CHANGE,
      ...deps,
      ...other,
    });
  const directory = await reopen();
  return { store, directory, reopen, [Symbol.asyncDispose]: () => store.close() };
}

export interface UserGiven {
  readonly attributes?: JsonObject;
  readonly active?: boolean;
}

/** Creates or replaces the user. */
export async function putUser(
  directory: TargetDirectory,
  name: string,
  { attributes = {}, active = true }: UserGiven = {},
): Promise<WriteResult> {
  const before = await directory.read("user", canonicalName(name));
  const content = { kind: "user", name, active, attributes: { name: NAME, ...attributes } } as const;
  return await directory.write({
    kind: "user",
    name,
    expected: before?.version ?? null,
    next: { content, backends: {} },
  });
}

/** Creates users in one call. */
export async function createCrowd(directory: TargetDirectory, names: readonly string[]): Promise<void> {
  await directory.writeMany(names.map((name) => ({
    kind: "user",
    name,
    expected: null,
    next: { content: { kind: "user", name, active: true, attributes: { name: NAME } }, backends: {} },
  })));
}

/** Creates or replaces the group. */
export async function putGroup(
  directory: TargetDirectory,
  name: string,
  members: readonly string[],
): Promise<WriteResult> {
  const before = await directory.read("group", canonicalName(name));
  const content = { kind: "group", name, attributes: {}, members } as const;
  return await directory.write({
    kind: "group",
    name,
    expected: before?.version ?? null,
    next: { content, backends: {} },
  });
}

/** Deletes the resource if it exists. */
export async function drop(
  directory: TargetDirectory,
  { kind, name }: { kind: "user" | "group"; name: string },
): Promise<WriteResult> {
  const before = await directory.read(kind, canonicalName(name));
  return await directory.write({ kind, name, expected: before?.version ?? null, next: null });
}

/** The members of a group, or the groups of a user; `null` when it does not exist. */
export function links(stored: Stored | null): readonly string[] | null {
  if (stored === null) return null;
  return stored.content.kind === "group" ? stored.content.members : stored.groups;
}

/** A login, as the gateway requests it. */
export async function loginOf(directory: TargetDirectory, canonical: string) {
  await directory.prepareLogin(canonical);
  return directory.login(canonical);
}

/** The names on a page. */
export function namesOf(resources: readonly Stored[]): string[] {
  return resources.map(({ content }) => content.name);
}

/** The result of a write that must succeed. */
export function storedIn(result: RenameResult): Stored | null {
  if (!result.ok) throw new Error("Cannot look at what was written: it was refused");
  return result.stored;
}

/** The page of a search that must succeed. */
export function pageOf(outcome: SearchOutcome): Page {
  if (!outcome.ok) throw new Error(`Cannot look at what was found: ${outcome.problem.detail}`);
  return outcome.page;
}

/** A store that rejects every commit after the first `commits`. */
export function dying(store: Store, commits: number): Store {
  let left = commits;
  return {
    ...store,
    commit(transaction) {
      if (left-- <= 0) return Promise.reject(new Error("the process is dead"));
      return store.commit(transaction);
    },
  };
}
