// The services of import and export for the console: reading files, many writes, and resources as lines. Each row is its own write. If the target has only
// the embedded store, rows share commits. Otherwise, each row is an operation of the target.

import { type Clock, pauseFor } from "../../platform/runtime.ts";
import { resourceLocation } from "../http/routes.ts";
import type { MembersUpdate, Target, WriteResult } from "../ports.ts";
import { renderResource } from "../schema/render_resource.ts";
import type { GroupContent, Stored } from "../schema/resource.ts";
import {
  type BulkDeps,
  type BulkRequest,
  type BulkRow,
  type BulkWork,
  type GroupJoin,
  parseBulkRows,
  planRow,
  type RowOutcome,
  type RowPlan,
} from "./bulk_plan.ts";
import { createCsvWriter } from "./columns.ts";
import { checkUploaded, readUpload, validNames } from "./upload.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { ScimRefusal } from "../http/refusals.ts";
import { selectBackends } from "../provisioning/plan.ts";
import type { Mutation } from "../../platform/store.ts";
import { auditMembers, targetAuditEntry, writeAction } from "../provisioning/write_audit.ts";

/** @param deps.http its URL is the beginning of the addresses of resources; it can change. */
export function createTransfer({ clock, http }: { clock: Clock; http: { readonly publicUrl: string } }) {
  return {
    readUpload,
    checkRow: checkUploaded,
    soundNames: validNames,
    readRows: parseBulkRows,
    write: (target: Target, request: BulkRequest) => writeBulk(target, request, { clock }),
    lines: (target: RenderedTarget, stored: Stored) => resourceLines(target, stored, http),
    table: createCsvWriter,
    resourceText: (target: RenderedTarget, stored: Stored) => renderStored(target, stored, http),
  };
}

type RenderedTarget = Pick<Target, "name" | "mapping">;

function renderStored(
  { name: target, mapping }: RenderedTarget,
  stored: Stored,
  { publicUrl }: { publicUrl: string },
): string {
  const { kind, name } = stored.content;
  const location = resourceLocation({ publicUrl, target }, { kind, name });
  return renderResource(stored, { location, mapping });
}

/** A larger group continues in further lines, so that no line is too long for an import. */
const MAX_LINE_MEMBERS = 1000;

/**
 * A resource as lines of JSON, each like a response of the SCIM interface. Further lines of a large group contain only members.
 *
 * @param options.publicUrl the beginning of the addresses of resources.
 */
function* resourceLines(
  target: RenderedTarget,
  stored: Stored,
  options: { publicUrl: string },
): Generator<string> {
  for (const part of partsOf(stored)) yield renderStored(target, part, options);
}

function* partsOf(stored: Stored): Generator<Stored> {
  const { content, attributesText: _text, memberIds: _ids, ...rest } = stored;
  if (content.kind === "user" || content.members.length <= MAX_LINE_MEMBERS) {
    yield stored;
    return;
  }
  for (let from = 0; from < content.members.length; from += MAX_LINE_MEMBERS) {
    const part: GroupContent = {
      ...content,
      attributes: from === 0 ? content.attributes : {},
      members: content.members.slice(from, from + MAX_LINE_MEMBERS),
    };
    yield { ...rest, content: part };
  }
}

/** Concurrent operations of a target. Each may hash a password, and logins wait for hashes, too. */
const MAX_CONCURRENT = 4;
const MAX_ATTEMPTS = 5;
const RETRY_MS = 200;

/**
 * Writes the rows of one request. The outcomes have the order of the rows. Rows of the same resource are written one after the other.
 *
 * @throws ScimRefusal `unknown_backend`. Rejects if the store fails; some rows may then be written.
 */
export async function writeBulk(target: Target, request: BulkRequest, deps: BulkDeps): Promise<RowOutcome[]> {
  const named = selectBackends({ backends: target.backends, remotes: new Map() }, {
    kind: "user",
    named: request.backends,
  });
  const [only, second] = target.backends;
  const isStoreAlone = only?.kind === "store" && second === undefined;
  const work: BulkWork = { target, request, deps, named, isStoreAlone };
  const outcomes: RowOutcome[] = [];
  for (const wave of wavesOf(request.rows)) outcomes.push(...await writeWave(work, wave));
  return outcomes;
}

/** Splits the rows before a row of a resource that is already being written. */
function* wavesOf(rows: readonly BulkRow[]): Generator<readonly BulkRow[]> {
  let from = 0;
  let seen = new Set<string>();
  for (const [at, row] of rows.entries()) {
    const key = keyOf(row);
    if (key !== null && seen.has(key)) {
      yield rows.slice(from, at);
      from = at;
      seen = new Set();
    }
    if (key !== null) seen.add(key);
  }
  yield rows.slice(from);
}

/** `null` for a row without a name, which is refused later. */
function keyOf(row: BulkRow): string | null {
  if (row.row === "members") return `group ${canonicalName(row.group)}`;
  const name = row.kind === "user" ? row.body["userName"] : row.body["displayName"];
  return typeof name === "string" ? `${row.kind} ${canonicalName(name)}` : null;
}

/** Plans all rows first, so that writes of the store share few commits. */
async function writeWave(work: BulkWork, wave: readonly BulkRow[]): Promise<RowOutcome[]> {
  const planned = await Promise.all(wave.map((row) => planRow(work, row)));
  const { isStoreAlone, request: { isDryRun } } = work;
  if (isDryRun) return planned.map((plan) => withGroups(plan.outcome, { joins: plan.joins }));
  // A new user is written with its memberships at once. An existing user is written again.
  const early = isStoreAlone
    ? await joinInStore(work, planned.filter(isNewInStore).flatMap(({ joins }) => joins))
    : NONE;
  const outcomes = await writePlanned(work, planned);
  if (!isStoreAlone) {
    return outcomes.map((outcome, at) => withGroups(outcome, { joins: planned[at]?.joins ?? [] }));
  }
  const later = planned.filter((plan, at) => !isNewInStore(plan) && outcomes[at]?.did !== "refused");
  const made = new Set([...early, ...await joinInStore(work, later.flatMap(({ joins }) => joins))]);
  const lost = planned.filter((plan, at) => isNewInStore(plan) && outcomes[at]?.did === "refused");
  await leaveInStore(work, lost.flatMap(({ joins }) => joins));
  return outcomes.map((outcome, at) => {
    const isOfMembers = wave[at]?.row === "members";
    return isOfMembers ? outcome : withGroups(outcome, { joined: planned[at]?.joins ?? [], made });
  });
}

const NONE: ReadonlySet<string> = new Set();

function isNewInStore(plan: RowPlan): boolean {
  return plan.step === "store" && plan.outcome.did === "created";
}

async function writePlanned(work: BulkWork, planned: readonly RowPlan[]): Promise<RowOutcome[]> {
  const outcomes: (RowOutcome | null)[] = planned.map((plan) =>
    plan.step === "settled" ? plan.outcome : null
  );
  await Promise.all(planned.map(async (plan, at) => {
    if (plan.step === "store") outcomes[at] = await writeInStore(work, plan);
  }));
  await inTurns(planned.entries(), async ([at, plan]) => {
    outcomes[at] ??= plan.step === "settled" ? plan.outcome : await perform(work, plan);
  });
  return outcomes.filter((outcome) => outcome !== null);
}

/** Adds the user's groups, changed or still pending, to an outcome. */
function withGroups(
  outcome: RowOutcome,
  { joins = [], joined = [], made = NONE }: {
    joins?: readonly GroupJoin[];
    joined?: readonly GroupJoin[];
    made?: ReadonlySet<string>;
  },
): RowOutcome {
  if (outcome.did === "refused" || (joins.length === 0 && joined.length === 0)) return outcome;
  const names = joined.map(({ group }) => group);
  return {
    ...outcome,
    ...joins.length === 0 ? {} : { joins: joins.map(({ group }) => group) },
    ...joined.length === 0
      ? {}
      : { joined: names, made: names.filter((name) => made.has(canonicalName(name))) },
  };
}

/** Runs a few at a time. */
async function inTurns<T>(entries: Iterable<T>, run: (entry: T) => Promise<void>): Promise<void> {
  const left = entries[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) await run(next.value);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
}

/** `null`: another request changed the resource, or another node writes the target. The target then decides with the new content. */
async function writeInStore(
  { target }: BulkWork,
  { write, outcome }: Extract<RowPlan, { step: "store" }>,
): Promise<RowOutcome | null> {
  try {
    const written = await target.directory.write(write);
    return written.ok ? outcome : null;
  } catch (fault) {
    if (isBusy(fault)) return null;
    if (!(fault instanceof RangeError)) throw fault;
    return { did: "refused", code: "too_large", detail: "The resource is too large to be stored." };
  }
}

/** Runs one operation of the target. Retries after temporary refusals. */
async function perform(
  { target, request: { actor, backends, mayUpdate }, deps: { clock } }: BulkWork,
  { operation, outcome }: Extract<RowPlan, { step: "store" | "target" }>,
): Promise<RowOutcome> {
  let verb = operation.verb;
  for (let tries = 1;; tries++) {
    try {
      const { receipt } = operation.verb === "members"
        ? await target.changeMembers(operation.group, { add: operation.add, remove: [] }, { actor, backends })
        : await target[verb === "create" ? "create" : "replace"](operation.content, {
          actor,
          backends,
          password: operation.password,
        });
      const owes = receipt.entries.flatMap(({ backend, outcome }) =>
        outcome === "done" || outcome === "read_only" ? [] : [backend]
      );
      return outcome.did === "refused" || owes.length === 0 ? outcome : { ...outcome, owes };
    } catch (fault) {
      if (!(fault instanceof ScimRefusal)) throw fault;
      const { code, message: detail } = fault;
      const mayTry = tries < MAX_ATTEMPTS;
      if (mayTry && code === "not_found" && verb === "replace") verb = "create";
      else if (mayTry && code === "taken" && verb === "create" && mayUpdate && fault.receipt === null) {
        verb = "replace";
      } else if (mayTry && (code === "busy" || code === "changed")) await pauseFor(clock, RETRY_MS * tries);
      else return { did: "refused", code, detail };
    }
  }
}

function isBusy(fault: unknown): boolean {
  return fault instanceof ScimRefusal && fault.code === "busy";
}

/** Retries a write while another node writes the target. */
async function retryBusy<T>({ deps: { clock } }: BulkWork, write: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await write();
    } catch (fault) {
      if (!isBusy(fault) || tries >= MAX_ATTEMPTS) throw fault;
      await pauseFor(clock, RETRY_MS * tries);
    }
  }
}

function changeInStore(
  work: BulkWork,
  change: MembersUpdate,
): Promise<WriteResult> {
  return retryBusy(work, () => work.target.directory.changeMembers(change));
}

/** A larger change would rewrite all members of the group. */
const MAX_MEMBERS_PER_CHANGE = 25;

/** Adds members to groups, and creates missing groups. @returns the canonical names of the created groups. */
async function joinInStore(work: BulkWork, joins: readonly GroupJoin[]): Promise<ReadonlySet<string>> {
  const groups = new Map<string, { readonly name: string; readonly members: string[] }>();
  for (const { group, member } of joins) {
    const canonical = canonicalName(group);
    const found = groups.get(canonical);
    if (found === undefined) groups.set(canonical, { name: group, members: [member] });
    else found.members.push(member);
  }
  const made = new Set<string>();
  await Promise.all([...groups].map(async ([canonical, { name, members }]) => {
    const first = members.slice(0, MAX_MEMBERS_PER_CHANGE);
    const total = members.length;
    if (await changeOrMake(work, { name, members: first, total })) made.add(canonical);
    const rest: Promise<unknown>[] = [];
    for (let from = MAX_MEMBERS_PER_CHANGE; from < total; from += MAX_MEMBERS_PER_CHANGE) {
      const add = members.slice(from, from + MAX_MEMBERS_PER_CHANGE);
      rest.push(changeInStore(work, { group: canonical, add, remove: [] }));
    }
    await Promise.all(rest);
  }));
  return made;
}

/** Removes members from groups if their users could not be written. */
async function leaveInStore(work: BulkWork, joins: readonly GroupJoin[]): Promise<void> {
  await Promise.all(
    joins.map(({ group, member }) =>
      changeInStore(work, { group: canonicalName(group), add: [], remove: [member] })
    ),
  );
}

interface FirstMembers {
  readonly name: string;
  readonly members: readonly string[];
  /** The number of all new members, for the audit record. */
  readonly total: number;
}

/** @returns whether the group was created. */
async function changeOrMake(work: BulkWork, first: FirstMembers): Promise<boolean> {
  const { directory } = work.target;
  const { name, members } = first;
  const change = { group: canonicalName(name), add: members, remove: [] };
  const also = () => [auditOf(work, first)];
  if ((await changeInStore(work, { ...change, also })).ok) return false;
  const content: GroupContent = { kind: "group", name, attributes: {}, members };
  const backends = Object.fromEntries(
    work.named.map((backend) => [backend, { state: "present", sinceMs: work.deps.clock.nowMs() }] as const),
  );
  const made = await retryBusy(work, () =>
    directory.write({
      kind: "group",
      name,
      expected: null,
      next: { content, backends },
      also: [auditOf(work, first, { isNew: true })],
    }));
  // Another request created it in the meantime.
  if (!made.ok) await changeInStore(work, { ...change, also });
  return made.ok;
}

function auditOf(
  { target, request, named }: BulkWork,
  { name, members, total }: FirstMembers,
  { isNew = false }: { isNew?: boolean } = {},
): Mutation {
  return targetAuditEntry(target.name, {
    actor: request.actor,
    action: writeAction("group", isNew ? "create" : "members"),
    object: `group:${name}`,
    ...auditMembers({ added: members, total }),
    backends: named,
  });
}
