// Prepares one write of one resource: reads what is there, plans the write, and reads the backends before they are called.

import { canonicalName } from "../../platform/canonical_name.ts";
import { HasherBusy, type PasswordHash } from "../../platform/password_hasher.ts";
import type { Clock } from "../../platform/runtime.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Directory, WriteOptions } from "../ports.ts";
import { type Kept, layKept } from "../schema/read_only_attributes.ts";
import type { Content, ResourceKind, Stored } from "../schema/resource.ts";
import { type Copies, readStanding } from "./backend_copies.ts";
import type { Link } from "./backend_client.ts";
import { type BackendChoice, chooseBackends } from "./select_backends.ts";
import type { KeptEntry, Outbox } from "./outbox.ts";
import { type Operation, planWrite, type WritePlan } from "./plan_write.ts";
import type { Standing } from "./backend_status.ts";
import { refusalFor, type SyncCall } from "./sync_writes.ts";

export interface PreparationDeps extends BackendChoice {
  readonly directory: Directory;
  readonly links: ReadonlyMap<string, Link>;
  readonly outbox: Outbox;
  readonly copies: Copies;
  readonly clock: Clock;
  /** What every backend keeps for itself. */
  readonly readOnly: Kept;
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

/** A write that is planned, with what the store and the outbox held before it. */
export interface PreparedWrite {
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

/**
 * Plans one write from what the store, the copies and the outbox hold now. Calls no backend and writes nothing.
 * @throws ScimRefusal when the version is another one, the plan refuses, or no hash can be made now
 */
export async function prepareWrite(
  deps: PreparationDeps,
  job: WriteJob,
  options: WriteOptions,
): Promise<PreparedWrite> {
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
}

function checkVersion(stored: Stored | null, { ifVersion }: WriteOptions): void {
  if (ifVersion === undefined || stored === null || stored.version === ifVersion) return;
  throw new ScimRefusal("precondition");
}

async function readOwed(
  { links, outbox }: PreparationDeps,
  { kind, name, named }: { kind: ResourceKind; name: string; named: readonly string[] },
): Promise<Map<string, KeptEntry>> {
  const remote = named.filter((backend) => links.has(backend));
  const found = await Promise.all(remote.map((backend) => outbox.find(backend, kind, name)));
  return new Map(found.flatMap((known) => known === null ? [] : [[known.backend, known] as const]));
}

/** The directory keeps a hash unless the write leaves its embedded store out. */
async function keptPassword(
  { backends, hashPassword }: PreparationDeps,
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

/**
 * What the backends hold, so that it can be put back. A new resource must not overwrite one that is not in the store.
 * @throws ScimRefusal when a backend cannot be read, or has an unknown resource of that name
 */
export async function readBefore(
  deps: Pick<PreparationDeps, "links">,
  { job, named, plan, before, owed }: PreparedWrite,
): Promise<SyncCall[]> {
  const { kind, name, operation } = job;
  const untried = { entries: named.map((backend) => ({ backend, outcome: "untried" }) as const) };
  const found = await Promise.all(plan.calls.map(async ({ backend, operation }) => {
    const link = linkOf(deps, backend);
    const remoteId = before.backends[backend]?.remoteId;
    return {
      link,
      operation,
      read: await link.backend.read(kind, name, remoteId === undefined ? {} : { remoteId }),
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

/** The connection of a backend that a plan calls. @throws Error when there is none */
export function linkOf({ links }: Pick<PreparationDeps, "links">, backend: string): Link {
  const link = links.get(backend);
  if (link === undefined) throw new Error(`Cannot call the backend "${backend}": it has no connection`);
  return link;
}
