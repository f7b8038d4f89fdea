// Writes many resources into one target: each row is checked like a body of the interface, and each is its own write. Where the embedded store is all
// that a target has, rows share commits; otherwise every row is an operation of the target.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Target } from "../ports.ts";
import { chooseBackends } from "../provisioning/select_backends.ts";
import { type BulkDeps, type BulkRequest, type Plan, planRow, type Work } from "./bulk_plan.ts";
import type { BulkRow, RowOutcome } from "./import_rows.ts";
import { type Join, joinInStore, leaveInStore } from "./group_writer.ts";

/** Operations of a target at the same time; each may hash a password, which logins wait for as well. */
const AT_ONCE = 4;
const MOST_TRIES = 5;
const RETRY_MS = 200;

/**
 * Writes the rows of one request; outcomes come in their order. Rows of the same resource are written one after the other.
 *
 * @throws ScimRefusal `unknown_backend`. Rejects when the store fails; some rows may be written then.
 */
export async function writeBulk(target: Target, request: BulkRequest, deps: BulkDeps): Promise<RowOutcome[]> {
  const named = chooseBackends({ backends: target.backends, holdsGroups: () => true }, {
    kind: "user",
    named: request.backends,
  });
  const [only, second] = target.backends;
  const isStoreAlone = only?.kind === "store" && second === undefined;
  const work: Work = { target, request, deps, named, isStoreAlone };
  const outcomes: RowOutcome[] = [];
  for (const wave of wavesOf(request.rows)) outcomes.push(...await writeWave(work, wave));
  return outcomes;
}

/** Cuts rows where one comes back to a resource that is being written. */
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

/** `null` for a row that names nothing, which is refused anyway. */
function keyOf(row: BulkRow): string | null {
  if (row.row === "members") return `group ${canonicalName(row.group)}`;
  const name = row.kind === "user" ? row.body["userName"] : row.body["displayName"];
  return typeof name === "string" ? `${row.kind} ${canonicalName(name)}` : null;
}

/** Planned first, so that what is one write of the store goes into few commits. */
async function writeWave(work: Work, wave: readonly BulkRow[]): Promise<RowOutcome[]> {
  const planned = await Promise.all(wave.map((row) => planRow(work, row)));
  const { isStoreAlone, request: { isDryRun } } = work;
  if (isDryRun) return planned.map((plan) => withGroups(plan.outcome, { joins: plan.joins }));
  // A user who is new finds the memberships when it is written, and is written once; who is there already is written again.
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

function isNewInStore(plan: Plan): boolean {
  return plan.step === "store" && plan.outcome.did === "created";
}

async function writePlanned(work: Work, planned: readonly Plan[]): Promise<RowOutcome[]> {
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

/** An outcome with what became of the user's groups, or is still to become. */
function withGroups(
  outcome: RowOutcome,
  { joins = [], joined = [], made = NONE }: {
    joins?: readonly Join[];
    joined?: readonly Join[];
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

/** A few at a time. */
async function inTurns<T>(entries: Iterable<T>, run: (entry: T) => Promise<void>): Promise<void> {
  const left = entries[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) await run(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** `null`: another request changed the resource at the same time. The target then decides with the new content. */
async function writeInStore(
  { target }: Work,
  { write, outcome }: Extract<Plan, { step: "store" }>,
): Promise<RowOutcome | null> {
  try {
    const written = await target.directory.write(write);
    return written.ok ? outcome : null;
  } catch (fault) {
    if (!(fault instanceof RangeError)) throw fault;
    return { did: "refused", code: "too_large", detail: "The resource is too large to be kept." };
  }
}

/** One operation of the target; what stands in its way for a moment only is tried again. */
async function perform(
  { target, request: { actor, backends, mayUpdate }, deps: { clock } }: Work,
  { deed, outcome }: Extract<Plan, { step: "store" | "target" }>,
): Promise<RowOutcome> {
  let verb = deed.verb;
  for (let tries = 1;; tries++) {
    try {
      const { receipt } = deed.verb === "members"
        ? await target.changeMembers(deed.group, { add: deed.add, remove: [] }, { actor, backends })
        : await target[verb === "create" ? "create" : "replace"](deed.content, {
          actor,
          backends,
          password: deed.password,
        });
      const owes = receipt.entries.flatMap(({ backend, outcome }) => outcome === "done" ? [] : [backend]);
      return outcome.did === "refused" || owes.length === 0 ? outcome : { ...outcome, owes };
    } catch (fault) {
      if (!(fault instanceof ScimRefusal)) throw fault;
      const { code, message: detail } = fault;
      const mayTry = tries < MOST_TRIES;
      if (mayTry && code === "not_found" && verb === "replace") verb = "create";
      else if (mayTry && code === "taken" && verb === "create" && mayUpdate && fault.receipt === null) {
        verb = "replace";
      } else if (mayTry && (code === "busy" || code === "changed")) await sleep(clock, RETRY_MS * tries);
      else return { did: "refused", code, detail };
    }
  }
}

function sleep(clock: Clock, durationMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(durationMs, resolve));
}
