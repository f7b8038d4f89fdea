// Sends the rows of an import in batches, collects memberships, and counts the outcomes.

import { canonicalName } from "../platform/canonical_name.ts";
import type { RowOutcome } from "../scim/transfer/import_rows.ts";
import type { JsonObject, Mapping, ResourceKind } from "../scim/schema/resource.ts";
import { type AdminApi, AdminRefusal, AdminUnreachable, valueOf } from "./admin_connection.ts";
import { type Identified, identify, soundNames } from "../scim/transfer/validate_rows.ts";
import type { FaultList } from "./error_summary.ts";
import type { FileRow } from "../scim/transfer/row_reader.ts";
import { createMemberships } from "../scim/transfer/memberships.ts";

export interface ImportCounts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Groups that got members by the rows of users, and those of them that were made for it. */
  readonly filledGroups: number;
  readonly madeGroups: number;
  /** Writes that a backend gets later, by its name. */
  readonly owed: ReadonlyMap<string, number>;
}

export interface ImportRun {
  add(row: FileRow): Promise<void>;
  /** Sends what is left. */
  finish(): Promise<void>;
  readonly counts: ImportCounts;
}

/** The import cannot go on; `line` is the first row of which nothing is known. */
export class ImportStopped extends Error {
  override readonly name = "ImportStopped";
  constructor(readonly line: number, message: string) {
    super(message);
  }
}

export interface ImportRunDeps {
  readonly write: WriteRows;
  readonly target: string;
  readonly mapping: Mapping;
  readonly mayUpdate: boolean;
  readonly isDryRun: boolean;
  readonly backends: readonly string[] | null;
  readonly covers: readonly string[] | null;
  readonly faults: FaultList;
}

/** Writes rows into the target of the import, or says what writing them would do. */
export type WriteRows = (
  request: Pick<ImportRunDeps, "target" | "mayUpdate" | "isDryRun" | "backends" | "covers"> & {
    readonly rows: readonly JsonObject[];
  },
) => Promise<readonly RowOutcome[]>;

/** The rows' way through the administration API. */
export function writeRowsOf(api: AdminApi): WriteRows {
  return async ({ rows, backends, covers, ...options }) => {
    const json = {
      ...options,
      rows: [...rows],
      covers: covers === null ? null : [...covers],
      ...(backends === null ? {} : { backends: [...backends] }),
    };
    const { outcomes } = await valueOf(api.imports.rows.$post({ json }));
    return outcomes as readonly RowOutcome[];
  };
}

interface Waiting {
  readonly line: number;
  readonly request: JsonObject;
  /** Whom the row names; `null` where it is about members itself. */
  readonly name: string | null;
}

/** Small enough that each response comes soon, and that a server works on other requests in between. A larger row goes alone. */
const BATCH_CHARACTERS = 48_000;
const BATCH_ROWS = 250;
const MOST_FLYING = 2;
/** Of one request for members of a group. */
const MOST_MEMBERS = 5000;

export function createImportRun(deps: ImportRunDeps): ImportRun {
  const rows = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  const memberships = createMemberships();
  /** Canonical names of groups: of rows that were sent; that got members by rows of users; that were made for that. */
  const sentGroups = new Set<string>();
  const filledGroups = new Set<string>();
  const madeGroups = new Set<string>();
  const owed = new Map<string, number>();
  const flying: Promise<void>[] = [];
  let lastKind: ResourceKind | null = null;
  let batch: Waiting[] = [];
  let characters = 0;

  const ask = async (sent: readonly Waiting[]): Promise<void> => {
    const { write, target, mayUpdate, isDryRun, backends, covers } = deps;
    const rows = sent.map(({ request }) => request);
    const outcomes = await write({ target, rows, mayUpdate, isDryRun, backends, covers }).catch(
      (fault: unknown) => {
        if (fault instanceof AdminRefusal && fault.code === "body_too_large" && sent.length === 1) {
          return TOO_LARGE;
        }
        if (!(fault instanceof AdminUnreachable) && !(fault instanceof AdminRefusal)) throw fault;
        throw new ImportStopped(sent[0]?.line ?? 0, fault.message);
      },
    );
    note(sent, outcomes);
  };
  /** Sends what waits; a few requests are on their way at the same time. */
  const send = async (): Promise<void> => {
    if (batch.length === 0) return;
    if (flying.length >= MOST_FLYING) await flying.shift();
    const flight = ask(batch);
    // The caller that awaits it receives the error; until then an unhandled rejection must not end the program.
    flight.catch(() => undefined);
    flying.push(flight);
    batch = [];
    characters = 0;
  };
  const drain = async (): Promise<void> => {
    await send();
    while (flying.length > 0) await flying.shift();
  };

  const note = (sent: readonly Waiting[], outcomes: readonly RowOutcome[]): void => {
    for (const [at, waiting] of sent.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined) {
        throw new ImportStopped(waiting.line, "The answer is not that of this version.");
      }
      if (outcome.did === "refused") {
        refuse(waiting, outcome.detail);
        continue;
      }
      for (const backend of outcome.owes ?? []) owed.set(backend, (owed.get(backend) ?? 0) + 1);
      if (waiting.name === null) noteMembers(String(waiting.request["group"]), outcome.did);
      else noteRow(waiting, { ...outcome, member: waiting.name });
    }
    const [first] = outcomes;
    const isAway = outcomes.every((one) => one.did === "refused" && AWAY.has(one.code));
    if (isAway && first?.did === "refused") throw new ImportStopped(sent[0]?.line ?? 0, first.detail);
  };
  const refuse = ({ line, name, request }: Waiting, detail: string): void => {
    rows.refused++;
    deps.faults.add(line, name === null ? `Group ${JSON.stringify(request["group"])}: ${detail}` : detail);
  };
  const noteMembers = (group: string, did: "created" | "updated" | "unchanged"): void => {
    if (did === "created") madeGroups.add(canonicalName(group));
    if (did !== "unchanged") filledGroups.add(canonicalName(group));
  };
  const noteRow = (
    { line, request }: Waiting,
    { did, member, joins = [], joined = [], made = [] }: Exclude<RowOutcome, { did: "refused" }> & {
      member: string;
    },
  ): void => {
    // A group that rows of users made is no surprise when its own row comes.
    const isOwn = request["joins"] === true && madeGroups.delete(canonicalName(member));
    rows[isOwn ? "created" : did]++;
    for (const group of joins) memberships.add({ group, member, line });
    for (const group of joined) filledGroups.add(canonicalName(group));
    for (const group of made) madeGroups.add(canonicalName(group));
  };

  const put = async (waiting: Waiting): Promise<void> => {
    const size = JSON.stringify(waiting.request).length;
    if (batch.length >= BATCH_ROWS || characters + size > BATCH_CHARACTERS) await send();
    batch.push(waiting);
    characters += size;
  };
  const putGroup = async ({ line, body }: FileRow, { name, members }: Identified): Promise<void> => {
    const canonical = canonicalName(name);
    if (sentGroups.has(canonical)) {
      // A further row of the same group: its members join those of the first.
      for (const member of members) memberships.add({ group: name, member, line });
      return;
    }
    sentGroups.add(canonical);
    await put({ line, name, request: { kind: "group", body, joins: madeGroups.has(canonical) } });
  };
  const fillGroups = async (): Promise<void> => {
    await drain();
    for (const { group, members, line } of memberships.take()) {
      // A row of this very file brings that group; where nothing is written, it cannot be asked about.
      if (deps.isDryRun && sentGroups.has(canonicalName(group))) continue;
      for (let from = 0; from < members.length; from += MOST_MEMBERS) {
        const add = members.slice(from, from + MOST_MEMBERS);
        await put({ line, name: null, request: { kind: "members", group, add } });
      }
    }
    await drain();
  };

  return {
    get counts() {
      return { ...rows, filledGroups: filledGroups.size, madeGroups: madeGroups.size, owed };
    },
    async add(row) {
      const { line, kind, body } = row;
      const found = identify(row, deps.mapping);
      if (found === null) throw new ImportStopped(line, "The file has changed since it was checked.");
      // Users make groups that are missing; so what there is of the other kind must be settled first.
      if (kind !== lastKind) await drain();
      lastKind = kind;
      if (kind === "group") await putGroup(row, found);
      else await put({ line, name: found.name, request: { kind, body, groups: soundNames(row.groups) } });
      if (memberships.isFull()) await fillGroups();
    },
    finish: fillGroups,
  };
}

/** What stands in the way of every row alike. */
const AWAY: ReadonlySet<string> = new Set(["backend_unreachable", "busy"]);

const TOO_LARGE: readonly RowOutcome[] = [
  { did: "refused", code: "too_large", detail: "It is too large to be sent." },
];
