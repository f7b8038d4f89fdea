// The desk's operations on targets: what is in them, bringing them up to date, and what they still owe their backends.

import type { Actor, RefreshReport } from "../scim/ports.ts";
import { type DeskAnswer, done, refused } from "./desk_answer.ts";
import { INPUTS } from "./desk_inputs.ts";
import { commandEntry, type DeskState, operation } from "./desk_operation.ts";
import { onTarget, refusably } from "./desk_people.ts";

const ACTOR: Actor = { name: "command", source: "" };
const MOST_OWED = 200;
/** What a backend says of a failure is its own text. */
const MOST_WHY_CHARACTERS = 200;

export const targetOperations = {
  "target.about": operation({ target: INPUTS.targetName }, about, { apart: true }),
  "target.refresh": operation({ target: INPUTS.targetName }, refresh, { apart: true }),
  "target.owed": operation({ target: INPUTS.targetName }, owed, { apart: true }),
  "target.retry": operation({ target: INPUTS.targetName, backend: INPUTS.backendName }, retry, {
    apart: true,
  }),
  "job.wait": operation({ job: INPUTS.workId }, ({ jobs }, { job }) => jobs.wait(job), { apart: true }),
};

async function about(state: DeskState, { target: name }: { target: string }): Promise<DeskAnswer> {
  return await onTarget(state, name, ({ directory, backends }) => {
    const users = directory.count("user");
    const groups = directory.count("group");
    const did = `Target ${JSON.stringify(name)} has ${counted(users, "user")} and ${
      counted(groups, "group")
    }.`;
    return Promise.resolve(done(did, { about: { users, groups, backends } }));
  });
}

async function refresh(state: DeskState, { target: name }: { target: string }): Promise<DeskAnswer> {
  return await onTarget(state, name, (target) =>
    state.jobs.run(async (tell) => {
      const report = await refusably(state, () =>
        target.refreshAll(ACTOR, {
          onProgress: ({ backend, kind, read }) => tell(`${backend}: ${counted(read, kind)} read`),
        }));
      return "answer" in report ? report.answer : reportAnswer(name, report.value);
    }));
}

function reportAnswer(name: string, { faults, tookMs, ...counts }: RefreshReport): DeskAnswer {
  const { created, updated, unchanged, vanished, deleted } = counts;
  const title = JSON.stringify(name);
  const what =
    `${created} created, ${updated} updated, ${unchanged} left alone, ${vanished} vanished, ${deleted} ` +
    `deleted, in ${(tookMs / 1000).toFixed(1)} s`;
  if (faults.length === 0) return done(`Target ${title} is up to date with its backends: ${what}.`);
  const named = faults.map(({ backend, detail }) => `  ${backend}: ${detail}`).join("\n");
  return refused("backend", `Cannot bring target ${title} up to date with every backend: ${what}.\n${named}`);
}

async function owed(state: DeskState, { target: name }: { target: string }): Promise<DeskAnswer> {
  return await onTarget(state, name, (target) => {
    const all = target.owed(MOST_OWED + 1);
    const shown = all.slice(0, MOST_OWED)
      .map((one) => ({ ...one, why: one.why?.slice(0, MOST_WHY_CHARACTERS) ?? null }));
    const dead = shown.filter(({ nextMs }) => nextMs === null).length;
    const title = JSON.stringify(name);
    if (shown.length === 0) return Promise.resolve(done(`Target ${title} owes its backends nothing.`));
    const many = all.length > MOST_OWED
      ? `over ${MOST_OWED} writes; the oldest are`
      : `${counted(all.length, "write")},`;
    return Promise.resolve(
      done(
        `Target ${title} owes its backends ${many} ${dead === 0 ? "no" : dead} dead ${
          dead === 1 ? "letter" : "letters"
        } among them.`,
        {
          owed: shown,
          notes: dead === 0 ? [] : ["Dead letters are tried again with --retry."],
        },
      ),
    );
  });
}

async function retry(
  state: DeskState,
  { target: name, backend }: { target: string; backend: string | null },
): Promise<DeskAnswer> {
  return await onTarget(state, name, async (target) => {
    const isKnown = backend === null || target.backends.some((one) => one.name === backend);
    if (!isKnown) {
      const known = target.backends.map((one) => JSON.stringify(one.name)).join(", ");
      return refused(
        "bad_input",
        `Target ${JSON.stringify(name)} has no backend of that name. It has ${known}.`,
      );
    }
    return await state.jobs.run(async () => {
      const retried = await refusably(
        state,
        () => target.retryDeadLetters(backend === null ? {} : { backend }),
      );
      if ("answer" in retried) return retried.answer;
      const audit = commandEntry({ action: "outbox.retried", target: name, backend, count: retried.value });
      await state.store.commit({ mutations: [audit] });
      const what = retried.value === 0
        ? "There are no dead letters."
        : `${counted(retried.value, "dead letter")} tried again.`;
      return done(what);
    });
  });
}

function counted(count: number, one: string): string {
  return `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`;
}
