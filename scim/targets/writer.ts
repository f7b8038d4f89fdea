// Carries out one write of one resource: plans it, calls the backends that must succeed, and records everything in one commit.

import { canonicalName } from "../../canonical_name.ts";
import type { Log } from "../../log.ts";
import { HasherBusy, type PasswordHash } from "../../password_hasher.ts";
import type { Clock } from "../../runtime.ts";
import type { Mutation } from "../../store.ts";
import { ScimRefusal } from "../facts/refusals.ts";
import type { Directory, ReceiptEntry, WriteOptions, Written } from "../ports.ts";
import type { PutResult } from "../backend_port.ts";
import type { BackendStates, Content, ResourceKind, Stored } from "../resource.ts";
import { type Kept, layKept } from "../pure/kept.ts";
import { withMembersNotStored } from "../pure/members_not_stored.ts";
import { actionOf, contentEntries } from "./audit.ts";
import { type Copies, copyChanges, readStanding } from "./copies.ts";
import { lockKey } from "./delivery.ts";
import type { Intent, Intents } from "./intents.ts";
import type { KeyedLocks, Release } from "./keyed_locks.ts";
import { leaveGroups } from "./left_groups.ts";
import type { Link } from "./link.ts";
import { type BackendChoice, chooseBackends } from "./named_backends.ts";
import type { KeptEntry, Outbox, OutboxChange } from "./outbox.ts";
import { type Operation, planWrite, type WritePlan } from "./plan.ts";
import { oweRestoring } from "./restoring.ts";
import type { Standing } from "./standing.ts";
import {
  failureReceipt,
  makeCalls,
  refusalFor,
  type SyncCall,
  type SyncWork,
  takeBack,
} from "./sync_calls.ts";

export interface WriterDeps extends BackendChoice {
  readonly directory: Directory;
  readonly links: ReadonlyMap<string, Link>;
  readonly outbox: Outbox;
  readonly copies: Copies;
  readonly intents: Intents;
  readonly locks: KeyedLocks;
  readonly clock: Clock;
  readonly target: string;
  /** Users sign in from this target. */
  readonly isLoginTarget: boolean;
  readonly log: Log;
  /** What every backend keeps for itself. */
  readonly readOnly: Kept;
  readonly commitAlone: (mutations: readonly Mutation[]) => Promise<void>;
  hashPassword(password: string): Promise<PasswordHash>;
}

export interface WriteJob {
  readonly operation: Operation;
  /** The deed in the audit, when it is not the operation's own. */
  readonly deed?: "members";
  readonly kind: ResourceKind;
  readonly name: string;
  /** What it shall be, knowing what it is; `null` exactly for `remove`. */
  content(stored: Stored | null): Content | null;
}

export type Writer = (job: WriteJob, options: WriteOptions) => Promise<Written>;

/** A write that was planned, on its way to the commit. */
interface Underway {
  readonly job: WriteJob;
  readonly options: WriteOptions;
  readonly stored: Stored | null;
  readonly named: readonly string[];
  readonly before: Standing;
  readonly plan: WritePlan;
  readonly password: PasswordHash | undefined;
  /** What named backends are owed already. */
  readonly owed: ReadonlyMap<string, KeptEntry>;
}

export function createWriter(deps: WriterDeps): Writer {
  /** Intents whose end could not be recorded, by resource. */
  const leftovers = new Map<string, string>();

  const prepare = async (job: WriteJob, options: WriteOptions): Promise<Underway> => {
    const { kind, name, operation } = job;
    const stored = await deps.directory.read(kind, canonicalName(name));
    checkVersion(stored, options);
    const named = chooseBackends(deps, { kind, named: options.backends });
    const before = await readStanding(deps.copies, stored);
    const wanted = stored === null && operation !== "create" ? null : job.content(stored);
    // RFC 7644 §3.3, §3.5.1: values of what is readOnly are ignored.
    const content = wanted === null ? null : layKept(wanted, stored?.content ?? null, deps.readOnly);
    const plan = planWrite({
      operation,
      kind,
      content: content ?? (stored?.content ?? null),
      before,
      backends: deps.backends,
      named,
      nowMs: deps.clock.nowMs(),
    });
    if (!plan.ok) throw new ScimRefusal(plan.code);
    const owed = await readOwed(deps, { kind, name, named });
    const password = await keptPassword(deps, { kind, named, password: options.password });
    return { job, options, stored, named, before, plan, password, owed };
  };

  const perform = async (job: WriteJob, options: WriteOptions): Promise<Written> => {
    const key = lockKey(job.kind, job.name);
    await settleLeftover(key);
    const underway = await prepare(job, options);
    if (underway.plan.calls.length === 0) return await commit(deps, underway, {});
    const releases: Release[] = [];
    try {
      for (const { backend } of underway.plan.calls) {
        releases.push(await linkOf(deps, backend).locks.hold(key));
      }
      return await performSync(underway, key);
    } finally {
      for (const release of releases) release();
    }
  };

  const performSync = async (underway: Underway, key: string): Promise<Written> => {
    const { job, plan, options } = underway;
    const calls = await readBefore(deps, underway);
    const work: SyncWork = { ...job, content: plan.after.content, password: options.password, calls };
    const intent = await deps.intents.begin({
      ...job,
      befores: new Map(calls.map(({ link, before }) => [link.name, before?.content ?? null])),
    });
    leftovers.set(key, intent.id);
    const outcome = await makeCalls(work);
    if (!outcome.ok) {
      const { fault, failed, touched } = outcome;
      const left = await undo({ work, touched, intent });
      leftovers.delete(key);
      const receipt = failureReceipt(underway.named, { failed: failed.link.name, fault, touched, left });
      deps.log.warn("a write was refused because a backend failed", {
        target: deps.directory.target,
        backend: failed.link.name,
        [job.kind]: job.name,
        operation: job.operation,
        stillToTakeBack: left.map(({ link }) => link.name).join(" "),
        why: fault.detail,
      });
      throw refusalFor(failed.link.name, { fault, receipt });
    }
    try {
      const written = await commit(deps, underway, { intent, puts: outcome.puts });
      leftovers.delete(key);
      return written;
    } catch (fault) {
      await undo({ work, touched: calls, intent });
      leftovers.delete(key);
      throw fault;
    }
  };

  /** Takes back what was done; what cannot be is owed from then on. Returns where that is so. */
  const undo = async (
    { work, touched, intent }: { work: SyncWork; touched: readonly SyncCall[]; intent: Intent },
  ): Promise<SyncCall[]> => {
    const left = await takeBack(work, touched);
    const changes: OutboxChange[] = [];
    for (const { link, before } of left) {
      changes.push(await oweRestoring(deps, { ...work, link, before: before?.content ?? null }));
    }
    await deps.commitAlone([...changes.flatMap(({ mutations }) => mutations), ...intent.ending]);
    for (const change of changes) change.committed();
    return left;
  };

  /** What the store could not record then must be settled before the resource is written again. */
  const settleLeftover = async (key: string): Promise<void> => {
    const id = leftovers.get(key);
    if (id === undefined) return;
    await deps.intents.giveBack(id);
    leftovers.delete(key);
  };

  return (job, options) => deps.locks.run(lockKey(job.kind, job.name), () => perform(job, options));
}

function checkVersion(stored: Stored | null, { ifVersion }: WriteOptions): void {
  if (ifVersion === undefined || stored === null || stored.version === ifVersion) return;
  throw new ScimRefusal("precondition");
}

function linkOf({ links }: Pick<WriterDeps, "links">, backend: string): Link {
  const link = links.get(backend);
  if (link === undefined) throw new Error(`Cannot call the backend "${backend}": it has no connection`);
  return link;
}

async function readOwed(
  { links, outbox }: WriterDeps,
  { kind, name, named }: { kind: ResourceKind; name: string; named: readonly string[] },
): Promise<Map<string, KeptEntry>> {
  const remote = named.filter((backend) => links.has(backend));
  const found = await Promise.all(remote.map((backend) => outbox.find(backend, kind, name)));
  return new Map(found.flatMap((known) => known === null ? [] : [[known.backend, known] as const]));
}

/** The directory keeps a hash unless the write leaves its embedded store out. */
async function keptPassword(
  { backends, hashPassword }: WriterDeps,
  { kind, named, password }: { kind: ResourceKind; named: readonly string[]; password: string | undefined },
): Promise<PasswordHash | undefined> {
  const embedded = backends.filter((backend) => backend.kind === "store").map(({ name }) => name);
  const isLeftOut = embedded.length > 0 && !embedded.some((name) => named.includes(name));
  if (kind !== "user" || password === undefined || isLeftOut) return undefined;
  try {
    return await hashPassword(password);
  } catch (fault) {
    if (!(fault instanceof HasherBusy)) throw fault;
    throw new ScimRefusal("busy", { headers: { "Retry-After": String(fault.retryAfterS) }, cause: fault });
  }
}

/** What the backends hold, so that it can be put back. A new resource must not write over one that nobody here knew of. */
async function readBefore(
  deps: WriterDeps,
  { job, named, plan, before, owed }: Underway,
): Promise<SyncCall[]> {
  const { kind, name, operation } = job;
  const untried = { entries: named.map((backend) => ({ backend, outcome: "untried" }) as const) };
  const found = await Promise.all(plan.calls.map(async ({ backend, operation }) => {
    const link = linkOf(deps, backend);
    const remoteId = before.backends[backend]?.remoteId;
    return {
      link,
      operation,
      read: await link.read(kind, name, remoteId === undefined ? {} : { remoteId }),
    };
  }));
  return found.map(({ link, operation: call, read }) => {
    if (!read.ok) throw refusalFor(link.name, { fault: read.fault, receipt: untried });
    if (operation === "create" && read.value !== null && !owed.has(link.name)) {
      throw new ScimRefusal("taken", {
        detail:
          `The backend "${link.name}" has a resource of that name already. Ask with refresh=true to see it.`,
        receipt: untried,
      });
    }
    return { link, operation: call, before: read.value };
  });
}

interface Called {
  readonly intent?: Intent;
  readonly puts?: ReadonlyMap<string, PutResult>;
}

/** The one commit of a write, with what a leaver's groups take. Throws the refusals `changed` and `too_large`. */
async function commit(deps: WriterDeps, underway: Underway, called: Called): Promise<Written> {
  const { stored, plan: { after } } = underway;
  const groups = await leaveGroups(deps, { stored, next: after.content });
  try {
    return await record(deps, underway, { ...called, groups: groups.changes });
  } finally {
    groups.release();
  }
}

async function record(
  deps: WriterDeps,
  underway: Underway,
  called: Called & { groups: readonly OutboxChange[] },
): Promise<Written> {
  const { job: { kind, name }, stored, plan: { after }, password, named } = underway;
  const outboxes = [...outboxChanges(deps, underway), ...called.groups];
  const also: Mutation[] = [
    ...await copyMutations(deps, underway),
    ...outboxes.flatMap(({ mutations }) => mutations),
    ...(called.intent?.ending ?? []),
    ...auditOf(deps, underway),
  ];
  const content = after.content;
  const backends = withPuts(after.backends, called.puts ?? new Map());
  const written = await deps.directory.write({
    kind,
    name: content?.name ?? stored?.content.name ?? name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    next: content === null ? null : { content, backends },
    ...(password === undefined ? {} : { password }),
    also,
  }).catch((fault) => {
    if (!(fault instanceof RangeError)) throw fault;
    throw new ScimRefusal("too_large", { detail: "The resource is too large to be kept.", cause: fault });
  });
  if (!written.ok) throw new ScimRefusal("changed");
  for (const change of outboxes) change.committed();
  return {
    stored: written.stored,
    receipt: { entries: named.map((backend) => entryOf(underway, { backend, puts: called.puts })) },
  };
}

function entryOf(
  { plan }: Underway,
  { backend, puts }: { backend: string; puts: Called["puts"] },
): ReceiptEntry {
  if (plan.queued.some((call) => call.backend === backend)) return { backend, outcome: "queued" };
  const notStored = puts?.get(backend)?.notStored;
  return { backend, outcome: "done", ...(notStored === undefined ? {} : { notStored }) };
}

async function copyMutations({ copies }: WriterDeps, underway: Underway): Promise<Mutation[]> {
  const { job: { kind, name }, before, plan: { after }, owed } = underway;
  const canonical = canonicalName(name);
  const mutations = await copyChanges(copies, {
    kind,
    canonical,
    before: before.copies,
    after: after.copies,
  });
  for (const [backend, { entry }] of owed) {
    if (entry.restores === true && !before.copies.has(backend) && !after.copies.has(backend)) {
      mutations.push(...await copies.drop({ backend, kind, canonical }));
    }
  }
  return mutations;
}

/** New entries for what is delivered later; and what was owed to a backend that has just been written is owed no more. */
function outboxChanges({ outbox }: WriterDeps, underway: Underway): OutboxChange[] {
  const { job: { kind }, options: { password }, plan, before, owed, stored, job } = underway;
  const name = plan.after.content?.name ?? stored?.content.name ?? job.name;
  const added = plan.queued.map(({ backend, operation }) =>
    outbox.add({
      backend,
      kind,
      name,
      operation,
      remoteId: before.backends[backend]?.remoteId,
      password: operation === "put" ? password : undefined,
    }, owed.get(backend) ?? null)
  );
  const dropped = plan.calls.flatMap(({ backend }) => {
    const known = owed.get(backend);
    return known === undefined ? [] : [outbox.drop(known)];
  });
  return [...added, ...dropped];
}

function withPuts(states: BackendStates, puts: ReadonlyMap<string, PutResult>): BackendStates {
  if (puts.size === 0) return states;
  const named = Object.entries(states).map(([backend, state]) => {
    const put = puts.get(backend);
    if (put === undefined) return [backend, state] as const;
    return [backend, withMembersNotStored({ ...state, remoteId: put.remoteId }, put.notStored)] as const;
  });
  return Object.fromEntries(named);
}

function auditOf({ target, isLoginTarget }: WriterDeps, underway: Underway): Mutation[] {
  const { job: { kind, operation, deed, name }, options, stored, plan, named } = underway;
  return contentEntries({ name: target, isLoginTarget }, {
    actor: options.actor,
    action: actionOf(kind, deed ?? operation),
    kind,
    name: plan.after.content?.name ?? stored?.content.name ?? name,
    before: stored?.content ?? null,
    after: plan.after.content,
    setsPassword: options.password !== undefined,
    backends: named,
  });
}
