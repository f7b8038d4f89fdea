// The rows of an import on their way: in batches that fit a line of the control socket, their memberships gathered, and what became of them counted.

import { canonicalName } from "../../canonical_name.ts";
import type { DeskAnswer, DeskRequest } from "../../host/desk_answer.ts";
import type { RowOutcome } from "../../scim/bulk/rows.ts";
import type { JsonObject, Mapping } from "../../scim/ports.ts";
import { identify, soundNames } from "./checked_rows.ts";
import type { FaultList } from "./fault_list.ts";
import type { FileRow } from "./file_rows.ts";
import { createMemberships } from "./memberships.ts";

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
  /** Groups that got members by the rows of users, and those of them that were made for it. */
  filledGroups: number;
  madeGroups: number;
}

export interface ImportRun {
  add(row: FileRow): Promise<void>;
  /** Sends what is left. */
  finish(): Promise<void>;
  readonly counts: Readonly<ImportCounts>;
}

/** The import cannot go on; `line` is the first row of which nothing is known. */
export class ImportStopped extends Error {
  override readonly name = "ImportStopped";
  constructor(readonly line: number, message: string) {
    super(message);
  }
}

export interface ImportRunDeps {
  ask(request: DeskRequest): Promise<DeskAnswer>;
  readonly target: string;
  readonly mapping: Mapping;
  readonly mayUpdate: boolean;
  readonly isDryRun: boolean;
  readonly backends: readonly string[] | null;
  readonly covers: readonly string[] | null;
  readonly faults: FaultList;
}

interface Waiting {
  readonly line: number;
  readonly request: JsonObject;
  /** Who is to be in which groups; `null` where the row is about members itself. */
  readonly user: { readonly name: string; readonly groups: readonly string[] } | null;
}

/** With the request around it well below 64 KiB; a larger row goes alone. */
const BATCH_CHARACTERS = 48_000;
const BATCH_ROWS = 250;
/** Of one request for members of a group. */
const MOST_MEMBERS = 5000;

export function createImportRun(deps: ImportRunDeps): ImportRun {
  const counts: ImportCounts = {
    created: 0,
    updated: 0,
    unchanged: 0,
    refused: 0,
    filledGroups: 0,
    madeGroups: 0,
  };
  const memberships = createMemberships();
  /** Groups of rows that were sent, canonical. */
  const sentGroups = new Set<string>();
  /** Groups that this run made for the rows of users. */
  const madeGroups = new Set<string>();
  let batch: Waiting[] = [];
  let characters = 0;

  const send = async (): Promise<void> => {
    if (batch.length === 0) return;
    const sent = batch;
    batch = [];
    characters = 0;
    const { target, mayUpdate, isDryRun, backends, covers } = deps;
    const rows = sent.map(({ request }) => request);
    const answer = await deps.ask({
      op: "people.write",
      target,
      rows,
      mayUpdate,
      isDryRun,
      backends,
      covers,
    });
    note(sent, outcomesOf(answer, sent));
  };

  const note = (sent: readonly Waiting[], outcomes: readonly RowOutcome[]): void => {
    for (const [at, waiting] of sent.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined) {
        throw new ImportStopped(waiting.line, "The answer is not that of this version.");
      }
      if (outcome.did === "refused") refuse(waiting, outcome.detail);
      else if (waiting.user === null) noteMembers(waiting, outcome.did);
      else {
        counts[outcome.did]++;
        const { name: member, groups } = waiting.user;
        for (const group of soundNames(groups)) memberships.add({ group, member, line: waiting.line });
      }
    }
    const first = sent[0];
    const stopped = outcomes.find((one) => one.did === "refused" && AWAY.has(one.code));
    const isAway = outcomes.every((one) => one.did === "refused" && AWAY.has(one.code));
    if (isAway && first !== undefined && stopped?.did === "refused") {
      throw new ImportStopped(first.line, stopped.detail);
    }
  };

  const refuse = ({ line, user, request }: Waiting, detail: string): void => {
    counts.refused++;
    deps.faults.add(line, user === null ? `Group ${JSON.stringify(request["group"])}: ${detail}` : detail);
  };
  const noteMembers = ({ request }: Waiting, did: "created" | "updated" | "unchanged"): void => {
    const group = canonicalName(String(request["group"]));
    if (did === "created") {
      madeGroups.add(group);
      counts.madeGroups++;
    }
    if (did !== "unchanged") counts.filledGroups++;
  };

  const put = async (waiting: Waiting): Promise<void> => {
    const size = JSON.stringify(waiting.request).length;
    if (batch.length >= BATCH_ROWS || characters + size > BATCH_CHARACTERS) await send();
    batch.push(waiting);
    characters += size;
  };

  const fillGroups = async (): Promise<void> => {
    await send();
    for (const { group, members, line } of memberships.take()) {
      // A row of this very file brings that group; where nothing is written, it cannot be asked about.
      if (deps.isDryRun && sentGroups.has(canonicalName(group))) continue;
      for (let from = 0; from < members.length; from += MOST_MEMBERS) {
        const add = members.slice(from, from + MOST_MEMBERS);
        await put({ line, user: null, request: { kind: "members", group, add } });
      }
    }
    await send();
  };

  return {
    counts,
    async add({ line, kind, body, groups }) {
      const found = identify({ kind, body }, deps.mapping);
      if (found === null) throw new ImportStopped(line, "The file has changed since it was checked.");
      const { name, members } = found;
      const user = { name, groups };
      const canonical = canonicalName(name);
      if (kind === "user") await put({ line, user, request: { kind, body } });
      else if (sentGroups.has(canonical)) {
        // A further row of the same group: its members join those of the first.
        for (const member of members) memberships.add({ group: name, member, line });
      } else {
        sentGroups.add(canonical);
        await put({ line, user, request: { kind, body, joins: madeGroups.has(canonical) } });
      }
      if (memberships.isFull()) await fillGroups();
    },
    finish: fillGroups,
  };
}

/** What stands in the way of every row alike. */
const AWAY: ReadonlySet<string> = new Set(["backend_unreachable", "busy"]);

function outcomesOf(answer: DeskAnswer, sent: readonly Waiting[]): readonly RowOutcome[] {
  if (answer.ok) return answer.outcomes ?? [];
  const tooLong = answer.reason === "too_long" && sent.length === 1;
  if (tooLong) return [{ did: "refused", code: "too_large", detail: "It is too large to be sent." }];
  throw new ImportStopped(sent[0]?.line ?? 0, answer.message);
}
