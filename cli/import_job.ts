// Sends the rows of an import in batches, collects memberships, and counts the outcomes.

import { canonicalName } from "../platform/canonical_name.ts";
import type { RowOutcome } from "../scim/transfer/bulk_plan.ts";
import type { JsonObject, Mapping, ResourceKind } from "../scim/schema/resource.ts";
import { type AdminApi, AdminRefusal, AdminUnreachable, apiValue } from "./admin_connection.ts";
import { type Identified, identifyRow, validNames } from "../scim/transfer/validate_rows.ts";
import type { FileRow } from "../scim/transfer/row_reader.ts";
import { printable } from "./format_result.ts";

export interface ImportCounts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Groups that get new members from rows of users, and how many of them this import created. */
  readonly filledGroups: number;
  readonly madeGroups: number;
  /** Pending writes, by the name of the backend. */
  readonly owed: ReadonlyMap<string, number>;
}

/** Ends the import. `line` is the first row with an unknown result. */
export class ImportStopped extends Error {
  override readonly name = "ImportStopped";
  constructor(readonly line: number, message: string) {
    super(message);
  }
}

export interface ImportJobDeps {
  readonly write: WriteRows;
  readonly target: string;
  readonly mapping: Mapping;
  readonly mayUpdate: boolean;
  readonly isDryRun: boolean;
  readonly backends: readonly string[] | null;
  readonly covers: readonly string[] | null;
  readonly faults: RowErrors;
}

/** Writes rows to the target. A dry run only compares. */
export type WriteRows = (
  request: Pick<ImportJobDeps, "target" | "mayUpdate" | "isDryRun" | "backends" | "covers"> & {
    readonly rows: readonly JsonObject[];
  },
) => Promise<readonly RowOutcome[]>;

/** Writes rows through the administration API. */
export function writeRowsOf(api: AdminApi): WriteRows {
  return async ({ rows, backends, covers, ...options }) => {
    const json = {
      ...options,
      rows: [...rows],
      covers: covers === null ? null : [...covers],
      ...(backends === null ? {} : { backends: [...backends] }),
    };
    const { outcomes } = await apiValue(api.imports.rows.$post({ json }));
    return outcomes as readonly RowOutcome[];
  };
}

interface Waiting {
  readonly line: number;
  readonly request: JsonObject;
  /** The name of the resource; `null` for a request about members. */
  readonly name: string | null;
}

/** Limits of a batch. A response is fast, and the server can handle other requests in between. A larger row is sent alone. */
const MAX_BATCH_CHARACTERS = 48_000;
const MAX_BATCH_ROWS = 250;
const MAX_IN_FLIGHT = 2;
const MAX_MEMBERS_PER_REQUEST = 5000;

export class ImportJob {
  readonly #deps: ImportJobDeps;
  readonly #rows = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  readonly #memberships = new Memberships();
  /** Canonical names: groups with a row of their own, groups with new members from rows of users, and groups created for those. */
  readonly #sentGroups = new Set<string>();
  readonly #filledGroups = new Set<string>();
  readonly #madeGroups = new Set<string>();
  readonly #pending = new Map<string, number>();
  readonly #inFlight: Promise<void>[] = [];
  #lastKind: ResourceKind | null = null;
  #batch: Waiting[] = [];
  #characters = 0;

  constructor(deps: ImportJobDeps) {
    this.#deps = deps;
  }

  get counts(): ImportCounts {
    return {
      ...this.#rows,
      filledGroups: this.#filledGroups.size,
      madeGroups: this.#madeGroups.size,
      owed: this.#pending,
    };
  }

  async add(row: FileRow): Promise<void> {
    const { line, kind, body } = row;
    const found = identifyRow(row, this.#deps.mapping);
    if (found === null) throw new ImportStopped(line, "The file has changed since it was checked.");
    // Rows of users create missing groups, so rows of the other kind must be finished first.
    if (kind !== this.#lastKind) await this.#drain();
    this.#lastKind = kind;
    if (kind === "group") await this.#putGroup(row, found);
    else await this.#put({ line, name: found.name, request: { kind, body, groups: validNames(row.groups) } });
    if (this.#memberships.isFull) await this.finish();
  }

  /** Sends the remaining rows and memberships. */
  async finish(): Promise<void> {
    await this.#drain();
    for (const { group, members, line } of this.#memberships.take()) {
      // A row of this file brings the group. A dry run does not create it, so there is nothing to compare with.
      if (this.#deps.isDryRun && this.#sentGroups.has(canonicalName(group))) continue;
      for (let from = 0; from < members.length; from += MAX_MEMBERS_PER_REQUEST) {
        const add = members.slice(from, from + MAX_MEMBERS_PER_REQUEST);
        await this.#put({ line, name: null, request: { kind: "members", group, add } });
      }
    }
    await this.#drain();
  }

  async #putGroup({ line, body }: FileRow, { name, members }: Identified): Promise<void> {
    const canonical = canonicalName(name);
    if (this.#sentGroups.has(canonical)) {
      // A further row of the same group adds its members.
      for (const member of members) this.#memberships.add({ group: name, member, line });
      return;
    }
    this.#sentGroups.add(canonical);
    await this.#put({ line, name, request: { kind: "group", body, joins: this.#madeGroups.has(canonical) } });
  }

  async #put(waiting: Waiting): Promise<void> {
    const size = JSON.stringify(waiting.request).length;
    const isFull = this.#batch.length >= MAX_BATCH_ROWS || this.#characters + size > MAX_BATCH_CHARACTERS;
    if (isFull) await this.#send();
    this.#batch.push(waiting);
    this.#characters += size;
  }

  /** Sends the batch. A few requests run at the same time. */
  async #send(): Promise<void> {
    if (this.#batch.length === 0) return;
    if (this.#inFlight.length >= MAX_IN_FLIGHT) await this.#inFlight.shift();
    const request = this.#request(this.#batch);
    // The caller that awaits the request receives the error. Until then, the rejection must not count as unhandled.
    request.catch(() => undefined);
    this.#inFlight.push(request);
    this.#batch = [];
    this.#characters = 0;
  }

  async #drain(): Promise<void> {
    await this.#send();
    while (this.#inFlight.length > 0) await this.#inFlight.shift();
  }

  async #request(sent: readonly Waiting[]): Promise<void> {
    const { write, target, mayUpdate, isDryRun, backends, covers } = this.#deps;
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
    this.#count(sent, outcomes);
  }

  #count(sent: readonly Waiting[], outcomes: readonly RowOutcome[]): void {
    for (const [at, waiting] of sent.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined) {
        throw new ImportStopped(
          waiting.line,
          "The server returned an unexpected result. Check that it has the same version.",
        );
      }
      if (outcome.did === "refused") this.#refuse(waiting, outcome.detail);
      else this.#countRow(waiting, outcome);
    }
    const [first] = outcomes;
    const isUnavailable = outcomes.every((one) => one.did === "refused" && UNAVAILABLE.has(one.code));
    if (isUnavailable && first?.did === "refused") throw new ImportStopped(sent[0]?.line ?? 0, first.detail);
  }

  #refuse({ line, name, request }: Waiting, detail: string): void {
    this.#rows.refused++;
    const problem = name === null ? `Group ${JSON.stringify(request["group"])}: ${detail}` : detail;
    this.#deps.faults.add(line, problem);
  }

  #countRow({ line, name, request }: Waiting, outcome: Exclude<RowOutcome, { did: "refused" }>): void {
    const { did, joins = [], joined = [], made = [] } = outcome;
    for (const backend of outcome.owes ?? []) {
      this.#pending.set(backend, (this.#pending.get(backend) ?? 0) + 1);
    }
    if (name === null) {
      const group = canonicalName(String(request["group"]));
      if (did === "created") this.#madeGroups.add(group);
      if (did !== "unchanged") this.#filledGroups.add(group);
      return;
    }
    // A group that rows of users created counts as created by its own row.
    const isOwn = request["joins"] === true && this.#madeGroups.delete(canonicalName(name));
    this.#rows[isOwn ? "created" : did]++;
    for (const group of joins) this.#memberships.add({ group, member: name, line });
    for (const group of joined) this.#filledGroups.add(canonicalName(group));
    for (const group of made) this.#madeGroups.add(canonicalName(group));
  }
}

/** Refusals that apply to every row. */
const UNAVAILABLE: ReadonlySet<string> = new Set(["backend_unreachable", "busy"]);

const TOO_LARGE: readonly RowOutcome[] = [
  { did: "refused", code: "too_large", detail: "The row is too large." },
];

export interface RowErrors {
  readonly count: number;
  add(line: number, problem: string): void;
  /** One line per error, at most 50. Empty without errors. */
  text(): string;
}

const MAX_SHOWN = 50;

export function createRowErrors(): RowErrors {
  const shown: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(line, problem) {
      count++;
      if (count <= MAX_SHOWN) shown.push(`  line ${line}: ${printable(problem)}\n`);
    },
    text() {
      const more = count - MAX_SHOWN;
      return `${shown.join("")}${more > 0 ? `  and ${more.toLocaleString("en-US")} more\n` : ""}`;
    },
  };
}

const MAX_MEMBERSHIPS = 20_000;

/** Memberships from rows of users, collected by group. */
class Memberships {
  #groups = new Map<string, { group: string; members: string[]; line: number }>();
  #size = 0;

  get isFull(): boolean {
    return this.#size >= MAX_MEMBERSHIPS;
  }

  /** @param membership.line the row that names the group. The first one of a group counts. */
  add({ group, member, line }: { group: string; member: string; line: number }): void {
    const canonical = canonicalName(group);
    const found = this.#groups.get(canonical);
    if (found === undefined) this.#groups.set(canonical, { group, members: [member], line });
    else found.members.push(member);
    this.#size++;
  }

  /** Returns the groups in the order in which they were first named, and starts over. */
  take() {
    const taken = [...this.#groups.values()];
    this.#groups = new Map();
    this.#size = 0;
    return taken;
  }
}
