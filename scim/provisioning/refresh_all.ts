// Refreshes a whole target from its backends: imports, updates, and marks vanished resources. Limits prevent the removal of too many resources, and the
// import of too many.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Actor, DirectoryWrite, TargetDirectory } from "../ports.ts";
import type {
  Backend,
  RefreshCounts,
  RefreshProgress,
  RefreshReport,
  RemoteResource,
} from "../backend_port.ts";
import type { Content, ResourceKind, Stored } from "../schema/resource.ts";
import { BackendListError } from "../backends/backend_error.ts";
import { parseName } from "../schema/resource_name.ts";
import { applyReading, desiredContent, readStatus, toReading, withKnownMembers } from "./backend_status.ts";
import type { HeldLocks } from "../locks.ts";
import type { TargetParts } from "./plan.ts";
import {
  type ChangeWatch,
  isEarlierName,
  MovedResources,
  refreshWrite,
  watchChanges,
  withRenamedMembers,
} from "./refresh_one.ts";
import { NameHashSet } from "../directory/name_hashes.ts";

interface RefreshAllParts extends TargetParts {
  readonly actor: Actor;
  /** If a refresh would remove a larger share of the resources of a backend, it removes none of them. */
  readonly maxDropPercent: number;
}

interface RefreshAllOptions {
  readonly onProgress?: (progress: RefreshProgress) => void;
}

type Counts = { -readonly [K in keyof RefreshCounts]: number };

/** The refresh of one kind of resource at one backend. */
interface Pass {
  readonly backend: Backend;
  readonly kind: ResourceKind;
  readonly startedMs: number;
  readonly counts: Counts;
  readonly meanwhile: ChangeWatch;
  readonly moved: MovedResources;
  readonly additions: AdditionLimit;
}

type RefreshFault = Omit<RefreshReport["faults"][number], "backend">;

/** This many resources may always be removed. Otherwise a small target could never lose a resource. */
const ALWAYS_DROPPABLE = 10;
const MAX_BATCH = 250;
/** More than any directory has, so that a list without an end stops. */
const MAX_LISTED = 5_000_000;

export async function refreshAll(
  deps: RefreshAllParts,
  { onProgress }: RefreshAllOptions = {},
): Promise<RefreshReport> {
  const startedMs = deps.clock.nowMs();
  const none = { created: 0, updated: 0, unchanged: 0, vanished: 0, deleted: 0 };
  const counts: Readonly<Record<ResourceKind, Counts>> = { user: { ...none }, group: { ...none } };
  const faults: RefreshReport["faults"][number][] = [];
  for (const { name } of deps.backends) {
    const backend = deps.remotes.get(name);
    if (backend === undefined) continue;
    for (const kind of ["user", "group"] as const) {
      if (kind === "group" && !backend.holds.groups) continue;
      const meanwhile = await watchChanges(deps, { backend: backend.name, kind });
      const place = { backend, kind };
      const pass: Pass = {
        ...{ backend, kind, startedMs: deps.clock.nowMs(), counts: counts[kind], meanwhile },
        moved: new MovedResources(deps, place),
        additions: new AdditionLimit(deps, place),
      };
      const met = await refreshKind(deps, pass, { onProgress }).finally(() => meanwhile.stop());
      faults.push(...met.map((fault) => ({ backend: name, ...fault })));
      // A backend that could not be listed, or not to its end, is not listed again for the other kind.
      if (met.some(({ kind, detail }) => kind === "addition_limit" || detail.startsWith(UNREAD))) break;
    }
  }
  const total: Counts = { ...counts.user };
  for (const name of Object.keys(none) as (keyof Counts)[]) total[name] += counts.group[name];
  return { ...total, ofGroups: counts.group, faults, tookMs: deps.clock.nowMs() - startedMs };
}

const UNREAD = "Cannot read the ";

/** Returns the faults. */
async function refreshKind(
  deps: RefreshAllParts,
  pass: Pass,
  { onProgress }: RefreshAllOptions,
): Promise<RefreshFault[]> {
  const { backend, kind } = pass;
  const seen = new NameHashSet(new DataView(deps.random.bytes(4).slice().buffer).getInt32(0));
  let read = 0;
  let unusable = 0;
  const faults: RefreshFault[] = [];
  try {
    for await (const page of backend.list(kind)) {
      const usable = page.flatMap(withUsableName);
      unusable += page.length - usable.length;
      for (const { content } of usable) seen.add(canonicalName(content.name));
      for (let from = 0; from < usable.length; from += MAX_BATCH) {
        await refreshBatch(deps, pass, usable.slice(from, from + MAX_BATCH));
      }
      if (pass.moved.isFull) faults.push(...await followMoved(deps, pass, seen));
      if (pass.additions.isReached) return [...faults, pass.additions.fault()];
      read += page.length;
      onProgress?.({ backend: backend.name, kind, read });
      if (read > MAX_LISTED) {
        return [{ kind: "nonsense", detail: `${UNREAD}${kind}s: the list does not end.` }];
      }
    }
  } catch (fault) {
    if (!(fault instanceof BackendListError)) throw fault;
    return [...faults, { kind: fault.fault.kind, detail: `${UNREAD}${kind}s: ${fault.fault.detail}` }];
  }
  faults.push(...await followMoved(deps, pass, seen));
  if (pass.additions.isReached) return [...faults, pass.additions.fault()];
  const limited = await dropUnseen(deps, pass, seen);
  const skipped: RefreshFault[] = unusable === 0 ? [] : [{
    kind: "left_out",
    detail:
      `Left out ${unusable} ${kind}s: their names are empty, too long or contain characters that are not allowed.`,
  }];
  return [...faults, ...skipped, ...limited];
}

/** Names of backends are checked like names of request bodies. */
function withUsableName(remote: RemoteResource): RemoteResource[] {
  const read = parseName(remote.content.name);
  return read.ok ? [{ ...remote, content: { ...remote.content, name: read.name } }] : [];
}

/** Follows the resources that have another name here. Those that are no renames are handled by their names. */
async function followMoved(deps: RefreshAllParts, pass: Pass, seen: NameHashSet): Promise<RefreshFault[]> {
  const { others, left } = await pass.moved.settle();
  for (let from = 0; from < others.length; from += MAX_BATCH) {
    await changeListed(deps, pass, others.slice(from, from + MAX_BATCH));
  }
  // The backend has them, under names that they cannot have here.
  for (const { from } of left) seen.add(canonicalName(from));
  return left.slice(0, MAX_NAMED_RENAMES).map(({ from, to, why }) => ({
    kind: "rename_conflict",
    detail: `The ${pass.kind} "${from}" is now "${to}" there. ${RENAME_CONFLICTS[why]}`,
  }));
}

const MAX_NAMED_RENAMES = 20;
const RENAME_CONFLICTS = {
  taken: "It keeps its name here, because another one has the new name. Rename or delete one of them.",
  blocked:
    "It keeps its name here, because another connector has it and cannot rename it. Rename it there, and refresh again.",
};

/** Compares without locks, and changes the resources that differ under their locks. */
async function refreshBatch(
  deps: RefreshAllParts,
  pass: Pass,
  remotes: readonly RemoteResource[],
): Promise<void> {
  const differing: RemoteResource[] = [];
  await Promise.all(remotes.map(async (remote) => {
    const stored = await deps.directory.read(pass.kind, canonicalName(remote.content.name));
    if (await isUpToDate(deps, pass, { stored, remote })) pass.counts.unchanged++;
    else differing.push(remote);
  }));
  await changeListed(deps, pass, await withoutMoved(deps, pass, differing));
}

/** One at a time, so that the directory is read for the IDs once. */
async function withoutMoved(
  { directory }: RefreshAllParts,
  { kind, moved }: Pass,
  differing: readonly RemoteResource[],
): Promise<RemoteResource[]> {
  const others: RemoteResource[] = [];
  for (const remote of differing) {
    const stored = await directory.read(kind, canonicalName(remote.content.name));
    if (!await moved.hold(remote, stored)) others.push(remote);
  }
  return others;
}

/** New resources stop at the limit. */
async function changeListed(
  deps: RefreshAllParts,
  pass: Pass,
  remotes: readonly RemoteResource[],
): Promise<void> {
  const differing: RemoteResource[] = [];
  for (const remote of remotes) {
    const isNew = await deps.directory.read(pass.kind, canonicalName(remote.content.name)) === null;
    if (!isNew || await pass.additions.accepts()) differing.push(remote);
  }
  await changeAll(deps, pass, differing.map((remote) => ({ name: remote.content.name, remote })));
}

async function isUpToDate(
  deps: RefreshAllParts,
  { backend }: Pass,
  { stored, remote }: { stored: Stored | null; remote: RemoteResource },
): Promise<boolean> {
  if (stored === null) return false;
  const status = await readStatus(deps.copies, stored);
  return applyReading(status, toReading(deps, { backend, remote })) === status;
}

/** A resource that may need a change; `remote` is `null` if it was not listed. */
interface Candidate {
  readonly name: string;
  readonly remote: RemoteResource | null;
}

/** Changes candidates in few commits. Other nodes can write between two calls. */
async function changeAll(deps: RefreshAllParts, pass: Pass, candidates: readonly Candidate[]): Promise<void> {
  if (candidates.length > 0) await deps.locks.underLease(() => changeBatch(deps, pass, candidates));
}

/** Candidates with a write in progress follow one by one. */
async function changeBatch(
  deps: RefreshAllParts,
  pass: Pass,
  candidates: readonly Candidate[],
): Promise<void> {
  const locks: HeldLocks[] = [];
  const busy: Candidate[] = [];
  const held: Candidate[] = [];
  try {
    for (const candidate of candidates) {
      const lock = deps.locks.tryHold({ kind: pass.kind, name: candidate.name });
      if (lock === null) busy.push(candidate);
      else {
        locks.push(lock);
        held.push(candidate);
      }
    }
    const writes = await Promise.all(held.map((candidate) => decide(deps, pass, candidate)));
    await writeAll(deps, pass, writes.filter((write) => write !== null));
  } finally {
    for (const lock of locks) lock.release();
  }
  for (const candidate of busy) {
    await deps.locks.run([{ kind: pass.kind, name: candidate.name }], async () => {
      const write = await decide(deps, pass, candidate);
      if (write !== null) await writeAll(deps, pass, [write]);
    });
  }
}

/** Plans the change of a resource from its current record, under its lock. */
async function decide(
  deps: RefreshAllParts,
  pass: Pass,
  { name, remote: listed }: Candidate,
): Promise<DirectoryWrite | null> {
  const { backend, kind, startedMs, counts, meanwhile } = pass;
  const stored = await deps.directory.read(kind, canonicalName(name));
  const state = stored?.backends[backend.name];
  // The resource was written after the list began, so the list is older.
  const isNewer = (state !== undefined && state.sinceMs >= startedMs) || meanwhile.isChanged(name);
  const isPending = await deps.outbox.find(backend.name, kind, name) !== null;
  if (isPending || (isNewer && listed === null)) return null;
  if (stored === null && await isEarlierName(deps, { backend: backend.name, kind, name })) return null;
  const before = await readStatus(deps.copies, stored);
  const known = desiredContent(before, backend.name);
  let remote = listed;
  if (listed !== null && (meanwhile.isNewer(name, stored) || lacksMembers(listed, known))) {
    const now = await backend.read(kind, name, { remoteId: listed.remoteId });
    // The stored resource is newer. The next refresh reads the backend again.
    if (!now.ok) return null;
    remote = now.value;
  }
  remote = await withRenamedMembers(deps, await withKnownMembers(backend, remote, known));
  // Another client renamed it since it was listed. The next refresh follows.
  if (remote !== null && canonicalName(remote.content.name) !== canonicalName(name)) return null;
  const after = applyReading(before, toReading(deps, { backend, remote }));
  if (after === before) {
    counts.unchanged++;
    return null;
  }
  if (stored === null) counts.created++;
  else if (after.content === null) counts.deleted++;
  else if (remote === null) counts.vanished++;
  else counts.updated++;
  return await refreshWrite(deps, { kind, name, stored, before, after, actor: deps.actor });
}

/** Some servers leave the members out of their lists, but show those of a single group. */
function lacksMembers({ content }: RemoteResource, known: Content | null): boolean {
  return content.kind === "group" && content.members.length === 0 && known?.kind === "group" &&
    known.members.length > 0;
}

async function writeAll(
  { directory, log }: RefreshAllParts,
  { backend }: Pass,
  writes: readonly DirectoryWrite[],
): Promise<void> {
  if (writes.length === 0) return;
  const results = await directory.writeMany(writes);
  const missed = results.filter(({ ok }) => !ok).length;
  // Only another process can have written them. The next refresh sees the result.
  if (missed > 0) {
    log.warn("a refresh found resources changed meanwhile", {
      target: directory.target,
      backend: backend.name,
      missed,
    });
  }
}

/** Marks resources as vanished that the backend no longer has, unless there are too many. */
async function dropUnseen(deps: RefreshAllParts, pass: Pass, seen: NameHashSet): Promise<RefreshFault[]> {
  const { kind } = pass;
  let held = 0;
  let dropped = 0;
  for await (const { isUnseen } of heldBy(deps, pass, seen)) {
    held++;
    if (isUnseen) dropped++;
  }
  if (dropped > ALWAYS_DROPPABLE && dropped * 100 > held * deps.maxDropPercent) {
    const detail = deletionLimitDetail({ kind, dropped, held, percent: deps.maxDropPercent });
    return [{ kind: "deletion_limit", detail }];
  }
  if (dropped === 0) return [];
  let candidates: Candidate[] = [];
  for await (const { name, isUnseen } of heldBy(deps, pass, seen)) {
    if (isUnseen) candidates.push({ name, remote: null });
    if (candidates.length < MAX_BATCH) continue;
    await changeAll(deps, pass, candidates);
    candidates = [];
  }
  await changeAll(deps, pass, candidates);
  return [];
}

async function* heldBy(
  { directory }: RefreshAllParts,
  { backend, kind, startedMs }: Pass,
  seen: NameHashSet,
): AsyncIterable<{ name: string; isUnseen: boolean }> {
  for await (const { content: { name }, backends } of directory.all(kind)) {
    const state = backends[backend.name];
    if (state?.state !== "present") continue;
    yield { name, isUnseen: state.sinceMs < startedMs && !seen.has(canonicalName(name)) };
  }
}

function deletionLimitDetail(
  { kind, dropped, held, percent }: { kind: ResourceKind; dropped: number; held: number; percent: number },
): string {
  const number = (value: number) => value.toLocaleString("en-US");
  return `The refresh would remove ${number(dropped)} of ${
    number(held)
  } ${kind}s. The limit is ${percent} %, so it removed none. ` +
    "If the connector no longer has them, raise max_drop_percent of the directory and refresh again. Otherwise check the " +
    "search base and the permissions at the connector.";
}

/** This many resources may always be added. */
const ALWAYS_ADDABLE = 1000;
/** An empty directory may take this many, from a backend whose list ends. */
const MAX_FIRST = 100_000;

class AdditionLimit {
  readonly #backend: Backend;
  readonly #kind: ResourceKind;
  readonly #percent: number;
  readonly #held: number;
  #limit: number;
  #added = 0;
  #isFirstAsked = false;
  #isReached = false;

  constructor(
    { directory, maxDropPercent }: { directory: TargetDirectory; maxDropPercent: number },
    { backend, kind }: { backend: Backend; kind: ResourceKind },
  ) {
    this.#backend = backend;
    this.#kind = kind;
    this.#percent = maxDropPercent;
    this.#held = directory.count(kind);
    const share = this.#percent >= 100 ? Number.POSITIVE_INFINITY : this.#held * this.#percent / 100;
    this.#limit = Math.max(ALWAYS_ADDABLE, share);
  }

  /** Whether a resource was refused. */
  get isReached(): boolean {
    return this.#isReached;
  }

  /** Counts one new resource. `false`: it is one too many. */
  async accepts(): Promise<boolean> {
    if (this.#isReached) return false;
    if (this.#added >= this.#limit && this.#held === 0 && !this.#isFirstAsked) {
      this.#isFirstAsked = true;
      this.#limit = Math.max(this.#limit, await this.#firstLimit());
    }
    if (this.#added >= this.#limit) this.#isReached = true;
    else this.#added++;
    return !this.#isReached;
  }

  /** The first refresh of an empty directory takes all that a backend says it has, unless that is too much. */
  async #firstLimit(): Promise<number> {
    if (this.#backend.size === undefined) return MAX_FIRST;
    const stated = await this.#backend.size(this.#kind);
    return stated.ok && stated.value !== null && stated.value <= MAX_FIRST ? stated.value : 0;
  }

  fault(): Omit<RefreshReport["faults"][number], "backend"> {
    const number = (value: number) => value.toLocaleString("en-US");
    return {
      kind: "addition_limit",
      detail:
        `The refresh would add more than ${number(this.#added)} ${this.#kind}s to ${
          number(this.#held)
        }. The limit is ${this.#percent} %, and at least ${
          number(ALWAYS_ADDABLE)
        }, so it stopped there and removed none. ` +
        "If the connector has them, raise max_drop_percent of the directory (100: no limit) and refresh again. Otherwise check the " +
        "search base at the connector.",
    };
  }
}
