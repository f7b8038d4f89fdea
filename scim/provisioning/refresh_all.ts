// Brings a whole target up to date with its backends: imports, updates, marks what has vanished; a brake stops what would drop too much.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/runtime.ts";
import type { DirectoryWrite, RefreshProgress, RefreshReport } from "../ports.ts";
import type { Remote } from "../backend_port.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import { BackendListFault } from "../backends/list_error.ts";
import { readName } from "../schema/resource_name.ts";
import { readStanding } from "./backend_copies.ts";
import { lockKey } from "./delivery.ts";
import type { Release } from "./keyed_locks.ts";
import type { Link } from "./backend_client.ts";
import { type Meanwhile, watchMeanwhile } from "./change_watch.ts";
import { applyReading } from "./reconcile.ts";
import { readingOf, type RefreshDeps, refreshWrite } from "./refresh_one.ts";
import { createSeenNames, type SeenNames } from "./seen_names.ts";

export interface RefreshAllDeps extends RefreshDeps {
  readonly random: Random;
  readonly log: Log;
  /** A refresh that would drop more of what a backend holds than this drops nothing there. */
  readonly maxDropPercent: number;
}

export interface RefreshAllOptions {
  readonly onProgress?: (progress: RefreshProgress) => void;
}

type Counts = { -readonly [K in "created" | "updated" | "unchanged" | "vanished" | "deleted"]: number };

/** One backend's resources of one kind, while they are gone through. */
interface Pass {
  readonly link: Link;
  readonly kind: ResourceKind;
  readonly startedMs: number;
  readonly counts: Counts;
  readonly meanwhile: Meanwhile;
}

type RefreshFault = Omit<RefreshReport["faults"][number], "backend">;

/** Fewer than this may always go: a small target could never lose anybody otherwise. */
const ALWAYS_DROPPABLE = 10;
const AT_ONCE = 250;
/** No directory that this serves has more; a listing that does not end does. */
const MOST_LISTED = 5_000_000;

export async function refreshAll(
  deps: RefreshAllDeps,
  { onProgress }: RefreshAllOptions = {},
): Promise<RefreshReport> {
  const startedMs = deps.clock.nowMs();
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, vanished: 0, deleted: 0 };
  const faults: RefreshReport["faults"][number][] = [];
  for (const { name: backend } of deps.backends) {
    const link = deps.links.get(backend);
    if (link === undefined) continue;
    for (const kind of ["user", "group"] as const) {
      if (kind === "group" && !link.backend.holds.groups) continue;
      const meanwhile = watchMeanwhile(deps, kind);
      const pass: Pass = { link, kind, startedMs: deps.clock.nowMs(), counts, meanwhile };
      const met = await refreshKind(deps, pass, { onProgress }).finally(() => meanwhile.stop());
      faults.push(...met.map((fault) => ({ backend, ...fault })));
      // A backend that could not be listed once is not asked for the other kind as well.
      if (met.some(({ detail }) => detail.startsWith(UNREAD))) break;
    }
  }
  return { ...counts, faults, tookMs: deps.clock.nowMs() - startedMs };
}

const UNREAD = "Cannot read the ";

/** Returns what went wrong. */
async function refreshKind(
  deps: RefreshAllDeps,
  pass: Pass,
  { onProgress }: RefreshAllOptions,
): Promise<RefreshFault[]> {
  const { link, kind } = pass;
  const seen = createSeenNames(new DataView(deps.random.bytes(4).slice().buffer).getInt32(0));
  let read = 0;
  let unusable = 0;
  try {
    for await (const page of link.backend.list(kind)) {
      const usable = page.flatMap(withUsableName);
      unusable += page.length - usable.length;
      for (const { content } of usable) seen.add(canonicalName(content.name));
      for (let from = 0; from < usable.length; from += AT_ONCE) {
        await takeIn(deps, pass, usable.slice(from, from + AT_ONCE));
      }
      read += page.length;
      onProgress?.({ backend: link.name, kind, read });
      if (read > MOST_LISTED) {
        return [{ kind: "nonsense", detail: `${UNREAD}${kind}s: the listing does not end.` }];
      }
    }
  } catch (fault) {
    if (!(fault instanceof BackendListFault)) throw fault;
    return [{ kind: fault.fault.kind, detail: `${UNREAD}${kind}s: ${fault.fault.detail}` }];
  }
  const braked = await dropUnseen(deps, pass, seen);
  const skipped: RefreshFault[] = unusable === 0 ? [] : [{
    kind: "left_out",
    detail:
      `Left out ${unusable} ${kind}s: their names are empty, too long or have characters that a name cannot have.`,
  }];
  return [...skipped, ...braked];
}

/** A name from outside is no better than one from a body. */
function withUsableName(remote: Remote): Remote[] {
  const read = readName(remote.content.name);
  return read.ok ? [{ ...remote, content: { ...remote.content, name: read.name } }] : [];
}

/** Compares without a lock, and changes what differs under the locks of those resources. */
async function takeIn(deps: RefreshAllDeps, pass: Pass, remotes: readonly Remote[]): Promise<void> {
  const differing: Remote[] = [];
  await Promise.all(remotes.map(async (remote) => {
    const stored = await deps.directory.read(pass.kind, canonicalName(remote.content.name));
    if (await isUpToDate(deps, pass, { stored, remote })) pass.counts.unchanged++;
    else differing.push(remote);
  }));
  await changeAll(deps, pass, differing.map((remote) => ({ name: remote.content.name, remote })));
}

async function isUpToDate(
  deps: RefreshAllDeps,
  { link }: Pass,
  { stored, remote }: { stored: Stored | null; remote: Remote },
): Promise<boolean> {
  if (stored === null) return false;
  const standing = await readStanding(deps.copies, stored);
  return applyReading(standing, readingOf(deps, { link, remote })) === standing;
}

/** A resource to look at again; `remote` is `null` for one that the listing did not have. */
interface Candidate {
  readonly name: string;
  readonly remote: Remote | null;
}

/** Brings candidates up to date in few commits. Those with a write in progress are refreshed one by one, when they are free. */
async function changeAll(deps: RefreshAllDeps, pass: Pass, candidates: readonly Candidate[]): Promise<void> {
  const releases: Release[] = [];
  const busy: Candidate[] = [];
  const held: Candidate[] = [];
  try {
    for (const candidate of candidates) {
      const release = deps.locks.tryHold(lockKey(pass.kind, candidate.name));
      if (release === null) busy.push(candidate);
      else {
        releases.push(release);
        held.push(candidate);
      }
    }
    const writes = await Promise.all(held.map((candidate) => decide(deps, pass, candidate)));
    await writeAll(deps, pass, writes.filter((write) => write !== null));
  } finally {
    for (const release of releases) release();
  }
  for (const candidate of busy) {
    await deps.locks.run(lockKey(pass.kind, candidate.name), async () => {
      const write = await decide(deps, pass, candidate);
      if (write !== null) await writeAll(deps, pass, [write]);
    });
  }
}

/** Decides under the resource's lock, on what the store has by then. */
async function decide(
  deps: RefreshAllDeps,
  pass: Pass,
  { name, remote: listed }: Candidate,
): Promise<DirectoryWrite | null> {
  const { link, kind, startedMs, counts, meanwhile } = pass;
  const stored = await deps.directory.read(kind, canonicalName(name));
  const state = stored?.backends[link.name];
  // Written since the listing began: what was listed is older than what is known.
  const isNewer = state !== undefined && state.sinceMs >= startedMs;
  const isOwed = await deps.outbox.find(link.name, kind, name) !== null;
  if (isOwed || (isNewer && listed === null)) return null;
  let remote = listed;
  if (listed !== null && meanwhile.isNewer(name, stored)) {
    const now = await link.backend.read(kind, name, { remoteId: listed.remoteId });
    // The next refresh sees it; what is known is the newer.
    if (!now.ok) return null;
    remote = now.value;
  }
  const before = await readStanding(deps.copies, stored);
  const after = applyReading(before, readingOf(deps, { link, remote }));
  if (after === before) {
    counts.unchanged++;
    return null;
  }
  if (stored === null) counts.created++;
  else if (after.content === null) counts.deleted++;
  else if (remote === null) counts.vanished++;
  else counts.updated++;
  return await refreshWrite(deps, { kind, name, stored, before, after });
}

async function writeAll(
  { directory, log }: RefreshAllDeps,
  { link }: Pass,
  writes: readonly DirectoryWrite[],
): Promise<void> {
  if (writes.length === 0) return;
  const results = await directory.writeMany(writes);
  const missed = results.filter(({ ok }) => !ok).length;
  // Only another process can have been quicker; the next refresh sees what it wrote.
  if (missed > 0) {
    log.warn("a refresh found resources changed meanwhile", {
      target: directory.target,
      backend: link.name,
      missed,
    });
  }
}

/** Marks as vanished what the backend no longer has, unless that is too much. */
async function dropUnseen(deps: RefreshAllDeps, pass: Pass, seen: SeenNames): Promise<RefreshFault[]> {
  const { link, kind } = pass;
  let held = 0;
  let dropped = 0;
  for await (const { isUnseen } of heldBy(deps, pass, seen)) {
    held++;
    if (isUnseen) dropped++;
  }
  if (dropped > ALWAYS_DROPPABLE && dropped * 100 > held * deps.maxDropPercent) {
    const detail = brakeDetail({ kind, dropped, held, percent: deps.maxDropPercent });
    return [{ kind: "brake", detail }];
  }
  if (dropped === 0) return [];
  let candidates: Candidate[] = [];
  for await (const { name, isUnseen } of heldBy(deps, pass, seen)) {
    if (isUnseen) candidates.push({ name, remote: null });
    if (candidates.length < AT_ONCE) continue;
    await changeAll(deps, { ...pass, link }, candidates);
    candidates = [];
  }
  await changeAll(deps, pass, candidates);
  return [];
}

async function* heldBy(
  { directory }: RefreshAllDeps,
  { link, kind, startedMs }: Pass,
  seen: SeenNames,
): AsyncIterable<{ name: string; isUnseen: boolean }> {
  for await (const { content: { name }, backends } of directory.all(kind)) {
    const state = backends[link.name];
    if (state?.state !== "present") continue;
    yield { name, isUnseen: state.sinceMs < startedMs && !seen.has(canonicalName(name)) };
  }
}

function brakeDetail(
  { kind, dropped, held, percent }: { kind: ResourceKind; dropped: number; held: number; percent: number },
): string {
  const number = (value: number) => value.toLocaleString("en-US");
  return `Would drop ${number(dropped)} of ${
    number(held)
  } ${kind}s; the limit is ${percent} %, so none was dropped. ` +
    "If they really are gone there, raise max_drop_percent of the target and refresh again; if not, look at the " +
    "backend's search base and permissions.";
}
