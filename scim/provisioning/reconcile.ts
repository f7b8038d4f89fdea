// What a backend's reading of a resource makes of the resource: the first listed backend that has it says what it is. Pure.

import type { Backend, Remote } from "../backend_port.ts";
import type { BackendState, Content } from "../schema/resource.ts";
import { type Kept, layKept, NOTHING_KEPT } from "../schema/read_only_attributes.ts";
import { mergeContent } from "../schema/mapping.ts";
import { stillNotStored, withMembersNotStored } from "../schema/members_not_stored.ts";
import { equalJson, sameContent } from "./content_equals.ts";
import {
  desiredOf,
  has,
  settled,
  type Standing,
  withCopy,
  withoutCopy,
  withState,
} from "./backend_status.ts";

/** What a backend can hold. */
export type Coverage = Pick<Backend, "covers" | "holds" | "keeps">;

/** What a backend may keep for itself and have shown where it is no resource's: longer is not. */
const MOST_KEPT_CHARACTERS = 2000;

/** A backend's content as a whole one: what it cannot hold, or keeps for itself, stays as `previous` has it. */
export function completed(backend: Coverage, previous: Content, read: Content): Content {
  return layKept(whole(backend, previous, read), previous, backend.keeps ?? NOTHING_KEPT);
}

function whole(backend: Coverage, previous: Content, read: Content): Content {
  const known = !backend.holds.active && read.kind === "user" && previous.kind === "user"
    ? { ...read, active: previous.active }
    : read;
  return mergeContent(previous, known, backend.covers);
}

/** Whether a backend holds `content` already, as far as it can. */
export function holdsAlready(
  backend: Coverage,
  { content, remote }: { content: Content; remote: Remote },
): boolean {
  const merged = completed(backend, content, remote.content);
  return sameContent({ ...merged, name: content.name }, content);
}

export interface Reading {
  readonly backend: string;
  readonly coverage: Coverage;
  /** `null`: it does not have the resource. */
  readonly remote: Remote | null;
  /** All of the target's, as listed. */
  readonly order: readonly string[];
  /** Those of kind `store`: they follow what the resource becomes. */
  readonly embedded: ReadonlySet<string>;
  readonly nowMs: number;
  /** What every backend keeps for itself: only the backends set its value. */
  readonly readOnly: Kept;
}

/** The standing after a reading; the same object when nothing changed. */
export function applyReading(standing: Standing, reading: Reading): Standing {
  const state = standing.backends[reading.backend];
  // A pending write will be delivered, and a dead letter waits for an operator; the current value of the backend overwrites none of them.
  if (state?.operation !== undefined) return standing;
  if (reading.remote === null) return withVanished(standing, reading);
  const found = { ...reading, remote: reading.remote };
  return withNotStored(withKept(withReadOnly(withFound(standing, found), found), found), found);
}

/** What every backend keeps is what the first that has the resource says; the store follows, and no backend counts as different for it. */
function withReadOnly(standing: Standing, reading: Reading & { remote: Remote }): Standing {
  const { backend, order, embedded, remote, readOnly } = reading;
  const first = order.find((name) => !embedded.has(name) && has(standing.backends[name]));
  if (readOnly.size === 0 || first !== backend || standing.content === null) return standing;
  const content = layKept(standing.content, remote.content, readOnly);
  return sameContent(content, standing.content) ? standing : { ...standing, content };
}

/** Notes what the backend keeps and has otherwise than the resource. */
function withKept(standing: Standing, { backend, coverage, remote }: Reading & { remote: Remote }): Standing {
  const { keeps = NOTHING_KEPT } = coverage;
  const { content } = standing;
  const state = standing.backends[backend];
  if (keeps.size === 0 || content?.kind !== "user" || state === undefined) return standing;
  const isSame = sameContent(layKept(content, remote.content, keeps), content);
  const own = Object.fromEntries(
    Object.entries(remote.content.attributes).filter(([name]) => keeps.has(name)),
  );
  const kept = isSame || JSON.stringify(own).length > MOST_KEPT_CHARACTERS ? undefined : own;
  if (equalJson(state.kept, kept)) return standing;
  const { kept: _before, ...rest } = state;
  const next: BackendState = kept === undefined ? rest : { ...rest, kept };
  return { ...standing, backends: { ...standing.backends, [backend]: next } };
}

/** Drops names from the state's summary that the backend holds by now, and names that are no longer members of the resource. */
function withNotStored(standing: Standing, { backend, remote }: Reading & { remote: Remote }): Standing {
  const state = standing.backends[backend];
  const wanted = standing.content;
  if (state?.notStored === undefined) return standing;
  const notStored = wanted?.kind === "group" && remote.content.kind === "group"
    ? stillNotStored(state.notStored, { wanted, held: remote.content })
    : undefined;
  const next = withMembersNotStored(state, notStored);
  return next === state ? standing : { ...standing, backends: { ...standing.backends, [backend]: next } };
}

function withVanished(standing: Standing, { backend, order, nowMs }: Reading): Standing {
  if (standing.backends[backend]?.state !== "present") return standing;
  return settled(withState(standing, backend, { state: "vanished", sinceMs: nowMs }), order);
}

function withFound(standing: Standing, reading: Reading & { remote: Remote }): Standing {
  const { backend, coverage, remote, order } = reading;
  const kept = desiredOf(standing, backend) ?? emptyContent(remote.content);
  const isFirst = !order.slice(0, order.indexOf(backend)).some((name) => has(standing.backends[name]));
  const present = withPresent(standing, reading);
  if (!isFirst && standing.content !== null) {
    if (holdsAlready(coverage, { content: standing.content, remote })) return withoutCopy(present, backend);
    const own = completed(coverage, kept, remote.content);
    const copy = present.copies.get(backend);
    return copy !== undefined && sameContent(copy, own) ? present : withCopy(present, backend, own);
  }
  // At first sight everything counts; later a backend that others do not agree with keeps its own to itself.
  const complete = standing.content === null ? whole : completed;
  return withContent(present, { ...reading, content: complete(coverage, kept, remote.content) });
}

function withPresent(standing: Standing, { backend, remote, nowMs }: Reading & { remote: Remote }): Standing {
  const state = standing.backends[backend];
  if (state?.state === "present" && state.remoteId === remote.remoteId) return standing;
  const next: BackendState = {
    state: "present",
    sinceMs: state?.state === "present" ? state.sinceMs : nowMs,
    remoteId: remote.remoteId,
    ...(state?.differs === undefined ? {} : { differs: state.differs }),
    ...(state?.kept === undefined ? {} : { kept: state.kept }),
    ...(state?.state !== "present" || state.notStored === undefined ? {} : { notStored: state.notStored }),
  };
  return { ...standing, backends: { ...standing.backends, [backend]: next } };
}

/** The resource becomes what the first backend has; other backends go on holding what they held, but the embedded store follows. */
function withContent(
  standing: Standing,
  { backend, order, embedded, content }: Reading & { content: Content },
): Standing {
  const bare = withoutCopy(standing, backend);
  const before = standing.content;
  if (before !== null && sameContent(before, content)) return bare;
  let after: Standing = { ...bare, content };
  for (const other of order) {
    const follows = other === backend || embedded.has(other) || after.copies.has(other);
    if (before !== null && !follows && has(after.backends[other])) after = withCopy(after, other, before);
  }
  return after;
}

function emptyContent({ kind, name }: Content): Content {
  return kind === "user"
    ? { kind, name, active: true, attributes: { name: { familyName: "", givenName: "" } } }
    : { kind, name, attributes: {}, members: [] };
}
