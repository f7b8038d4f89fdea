// The desk's operations on the people of a target, many at once: rows of an import, and everything for an export.

import type { Listing } from "../scim/bulk/listing.ts";
import type { Actor, Target } from "../scim/ports.ts";
import type { ResourceKind } from "../scim/resource.ts";
import { type DeskAnswer, done, refused } from "./desk_answer.ts";
import { INPUTS } from "./desk_inputs.ts";
import { commandEntry, type DeskState, operation } from "./desk_operation.ts";

const ACTOR: Actor = { name: "command", source: "" };

export const peopleOperations = {
  "people.write": operation(
    {
      target: INPUTS.targetName,
      rows: INPUTS.list,
      mayUpdate: INPUTS.flag,
      isDryRun: INPUTS.flag,
      backends: INPUTS.names,
      covers: INPUTS.names,
    },
    write,
    { apart: true },
  ),
  "people.list": operation({ target: INPUTS.targetName, kind: INPUTS.resourceKind }, list, { apart: true }),
  "people.next": operation({ listing: INPUTS.workId }, next, { apart: true }),
};

interface Wanted {
  readonly target: string;
  readonly rows: readonly unknown[];
  readonly mayUpdate: boolean;
  readonly isDryRun: boolean;
  readonly backends: readonly string[] | null;
  readonly covers: readonly string[] | null;
}

async function write(state: DeskState, wanted: Wanted): Promise<DeskAnswer> {
  const { bulk, jobs } = state;
  return await onTarget(state, wanted.target, async (target) => {
    const rows = bulk.readRows(wanted.rows);
    if (rows === null) return refused("bad_input", "Cannot do that: the rows are not rows of an import.");
    return await jobs.run(async () => {
      const { mayUpdate, isDryRun, backends, covers } = wanted;
      const outcomes = await refusably(state, () =>
        bulk.write(target, {
          rows,
          actor: ACTOR,
          mayUpdate,
          isDryRun,
          backends: backends ?? undefined,
          covers: covers === null ? null : new Set(covers),
        }));
      return "answer" in outcomes
        ? outcomes.answer
        : done("The rows were worked on.", { outcomes: outcomes.value });
    });
  });
}

async function list(
  state: DeskState,
  { target: name, kind }: { target: string; kind: ResourceKind },
): Promise<DeskAnswer> {
  return await onTarget(state, name, async (target) => {
    const listing = state.bulk.list(target, kind);
    const id = state.listings.put(listing);
    if (id === null) return refused("busy", "Cannot do that now: too many exports are under way. Try again.");
    await state.store.commit({
      mutations: [commandEntry({ action: "target.export", target: name, kind })],
    });
    return await step(state, id, listing);
  });
}

async function next(state: DeskState, { listing: id }: { listing: string }): Promise<DeskAnswer> {
  const listing = state.listings.take(id);
  if (listing === null) return refused("unknown_job", "Cannot go on: nothing of that id is under way.");
  return await step(state, id, listing);
}

async function step({ listings }: DeskState, id: string, listing: Listing): Promise<DeskAnswer> {
  const lines = await listing.next();
  if (lines.length === 0) listings.remove(id);
  return done("These are the next.", { listed: { id, lines, isEnd: lines.length === 0 } });
}

/** Does something with a target of the settings. */
export async function onTarget(
  { targets }: DeskState,
  name: string,
  work: (target: Target) => Promise<DeskAnswer>,
): Promise<DeskAnswer> {
  const target = await targets.get(name);
  if (target !== null) return await work(target);
  const known = targets.names.slice(0, MOST_NAMES).map((one) => JSON.stringify(one)).join(", ");
  const more = targets.names.length - MOST_NAMES;
  return refused(
    "unknown_target",
    `There is no target ${JSON.stringify(name)}. The settings have ${known}${
      more > 0 ? ` and ${more} more` : ""
    }.`,
  );
}

const MOST_NAMES = 20;

/** What work gave, or the answer for what its target refused. */
export async function refusably<T>(
  { bulk }: Pick<DeskState, "bulk">,
  work: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly answer: DeskAnswer }> {
  try {
    return { value: await work() };
  } catch (fault) {
    const text = bulk.refusalText(fault);
    if (text === null) throw fault;
    return { answer: refused("target_refused", `Cannot do that: ${text}`) };
  }
}
