// Imports of files: received in parts, checked, corrected row by row, then applied. A file stays in memory only for a short time,
// because it may contain passwords.

import type { Upload } from "../../../scim/transfer/upload.ts";
import type { Log } from "../../../platform/log.ts";
import type { Actor, Target } from "../../../scim/ports.ts";
import { type ImportRow, type ImportView, type Verdict, VERDICTS } from "../api_types.ts";
import { DetailedRefusal, Refusal, withTargetErrors } from "../errors.ts";
import { createWorkRegistry, type WorkRegistry, type WorkRegistryDeps } from "../jobs/jobs.ts";
import type { Transfer } from "../deps.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { FileRow, RowRead } from "../../../scim/transfer/row_reader.ts";
import type { BulkRow, RowOutcome } from "../../../scim/transfer/bulk_plan.ts";

/** An import of an administrator. */
export interface ImportId {
  readonly id: string;
  readonly owner: string;
}

interface ImportPageQuery {
  readonly verdict: Verdict | "";
  readonly page: number;
  readonly size: number;
}

interface CheckOptions {
  readonly mayUpdate: boolean;
  readonly backends: readonly string[] | undefined;
}

interface RowChange {
  readonly line: number;
  readonly skip?: boolean | undefined;
  /** New cells; `null` keeps a cell. */
  readonly cells?: readonly (string | null)[] | undefined;
}

interface Import {
  readonly id: string;
  readonly owner: string;
  readonly target: Target;
  readonly file: string;
  texts: string[];
  characters: number;
  state: ImportView["state"];
  sheet: Sheet | null;
  done: number;
  isBusy(): boolean;
}

const MAX_CHARACTERS = 8 * 1024 * 1024;
const MAX_ROWS = 10_000;
const LIMITS = { most: 6, mostEach: 2, idleMs: 30 * 60_000 };
const FIRST_PAGE: ImportPageQuery = { verdict: "", page: 1, size: 1 };

interface ImportsDeps extends WorkRegistryDeps {
  readonly log: Log;
  readonly transfer: Transfer;
}

export class Imports {
  readonly #deps: ImportsDeps;
  readonly #registry: WorkRegistry<Import>;

  constructor(deps: ImportsDeps) {
    this.#deps = deps;
    this.#registry = createWorkRegistry<Import>(deps, LIMITS);
  }

  /** @throws Refusal `too_much_under_way`. */
  begin(options: { owner: string; target: Target; file: string }): ImportView {
    const begun = this.#registry.put((id) => ({
      id,
      ...options,
      texts: [],
      characters: 0,
      state: "receiving",
      sheet: null,
      done: 0,
      isBusy() {
        return this.state === "checking" || this.state === "applying";
      },
    }));
    if (begun === null) throw new Refusal("too_much_under_way");
    return viewOf(begun, FIRST_PAGE);
  }

  /** Adds the next part of the text. @throws Refusal `import_too_large`, `import_not_now`. */
  add(which: ImportId, text: string): ImportView {
    const found = this.#find(which);
    if (found.state !== "receiving") throw new Refusal("import_not_now");
    if (found.characters + text.length > MAX_CHARACTERS) throw new Refusal("import_too_large");
    found.texts.push(text);
    found.characters += text.length;
    return viewOf(found, FIRST_PAGE);
  }

  /** Starts to check all rows. @throws Refusal `bad_value` if the text is not a table. */
  check(which: ImportId, { mayUpdate, backends }: CheckOptions): ImportView {
    const { transfer } = this.#deps;
    const found = this.#find(which);
    if (found.isBusy() || found.state === "applied") throw new Refusal("import_not_now");
    const { target, sheet: before } = found;
    const upload = before?.upload ?? readText(transfer, found);
    found.texts = [];
    const sheet = createSheet(upload, { target, mayUpdate, backends, before });
    found.sheet = sheet;
    return this.#start(found, {
      during: "checking",
      after: "checked",
      run: (tell) => checkRows(transfer, sheet, { rows: sheet.rows, tell }),
    });
  }

  view(which: ImportId, query: ImportPageQuery): ImportView {
    return viewOf(this.#find(which), query);
  }

  /** Corrects a row, or skips it. @throws Refusal `import_row_fixed`. */
  async change(which: ImportId, { line, skip, cells }: RowChange): Promise<ImportView> {
    const { found, sheet } = this.#findChecked(which);
    const row = sheet.rows.find((one) => one.line === line);
    if (row === undefined) throw new Refusal("import_row_fixed");
    if (skip !== undefined) row.isSkipped = skip;
    if (cells !== undefined) {
      if (sheet.upload.headers === null || cells.length !== sheet.upload.headers.length) {
        throw new Refusal("import_row_fixed");
      }
      row.cells = cells.map((cell, at) => cell ?? row.cells[at] ?? "");
      row.read = sheet.upload.reread(line, row.cells);
    }
    // Another row may have the same name, so those rows are checked again.
    const rows = sheet.rows.filter((one) => one === row || one.key === row.key || one.isTwice);
    await checkRows(this.#deps.transfer, sheet, { rows, tell: () => undefined });
    return viewOf(found, { ...FIRST_PAGE, verdict: "refused" });
  }

  /** The users of an applied import that exist now, by name, with the name of the file. @throws Refusal `import_not_now`. */
  users(which: ImportId): { file: string; target: string; names: string[] } {
    const { state, sheet, file, target } = this.#find(which);
    if (sheet === null || state !== "applied") throw new Refusal("import_not_now");
    const written = new Set<ImportRow["did"]>(["created", "updated", "unchanged"]);
    const rows = sheet.rows.filter(({ kind, did }) => kind === "user" && written.has(did));
    return { file, target: target.name, names: rows.map(({ name }) => name) };
  }

  apply(which: ImportId, { actor }: { actor: Actor }): ImportView {
    const { found, sheet } = this.#findChecked(which);
    return this.#start(found, {
      during: "applying",
      after: "applied",
      run: (tell) => applyRows(this.#deps.transfer, sheet, { actor, tell }),
    });
  }

  end(which: ImportId): void {
    if (this.#find(which).isBusy()) throw new Refusal("import_not_now");
    this.#registry.remove(which.id);
  }

  #find({ id, owner }: ImportId): Import {
    const found = this.#registry.take(id, owner);
    if (found === null) throw new Refusal("unknown_import");
    return found;
  }

  #findChecked(which: ImportId): { found: Import; sheet: Sheet } {
    const found = this.#find(which);
    if (found.sheet === null || found.state !== "checked") throw new Refusal("import_not_now");
    return { found, sheet: found.sheet };
  }

  /** Starts work that continues after the request. A failure is in the view and in the log. */
  #start(
    found: Import,
    { during, after, run }: {
      during: ImportView["state"];
      after: ImportView["state"];
      run: (tell: (done: number) => void) => Promise<void>;
    },
  ): ImportView {
    found.state = during;
    found.done = 0;
    run((done) => void (found.done = done)).catch((fault: unknown) => {
      const isRefusal = fault instanceof Refusal;
      const error = fault instanceof Error ? fault.message : String(fault);
      if (!isRefusal) this.#deps.log.error("an import broke off", { target: found.target.name, error });
      found.sheet?.problems.push(isRefusal ? fault.message : new Refusal("internal").message);
    }).finally(() => found.state = after);
    return viewOf(found, FIRST_PAGE);
  }
}

function readText(transfer: Transfer, { texts, file, target }: Import): Upload {
  const text = texts.join("");
  const read = transfer.readUpload({ name: file, text }, { mapping: target.mapping, mostRows: MAX_ROWS });
  if (!read.ok) throw new DetailedRefusal("bad_value", { message: read.problem });
  return read.upload;
}

function viewOf(found: Import, { verdict, page, size }: ImportPageQuery): ImportView {
  const { id, file, target, state, sheet, done } = found;
  const rows = sheet?.rows ?? [];
  const fitting = verdict === "" ? rows : rows.filter((row) => verdictOf(row) === verdict);
  const count = (did: ImportRow["did"]) => rows.filter((row) => row.did === did).length;
  const verdicts = Object.fromEntries(VERDICTS.map((one) => [one, 0])) as Record<Verdict, number>;
  for (const row of rows) verdicts[verdictOf(row)] += 1;
  const secret = sheet?.upload.secretColumns ?? new Set<number>();
  return {
    id,
    file,
    target: target.name,
    backends: target.backends,
    state,
    mayUpdate: sheet?.mayUpdate ?? false,
    done,
    total: rows.length,
    verdicts,
    created: count("created"),
    updated: count("updated"),
    unchanged: count("unchanged"),
    // A row with an error that was neither corrected nor skipped is refused.
    refused: state === "applied" ? rows.filter(isRefused).length : 0,
    filledGroups: sheet?.filledGroups ?? 0,
    problems: sheet?.problems ?? [],
    headers: sheet?.upload.headers ?? null,
    notes: sheet?.upload.notes ?? [],
    matching: fitting.length,
    page,
    size,
    rows: fitting.slice((page - 1) * size, page * size).map((row): ImportRow => ({
      line: row.line,
      kind: row.kind,
      name: row.name,
      verdict: verdictOf(row),
      reason: row.reason,
      changes: row.changes,
      cells: row.cells.map((cell, at) => secret.has(at) && cell !== "" ? null : cell),
      did: row.did,
      detail: row.detail,
      receipt: receiptOf(row, sheet?.backends ?? target.backends.map(({ name }) => name)),
    })),
  };
}

function isRefused(row: Sheet["rows"][number]): boolean {
  return row.did === "refused" || (row.did === null && verdictOf(row) === "refused");
}

/** A changed row is stored in each backend, or queued for it. */
function receiptOf({ did, owes }: Sheet["rows"][number], backends: readonly string[]): ImportRow["receipt"] {
  if (did !== "created" && did !== "updated") return [];
  return backends.map((backend) => ({ backend, outcome: owes.includes(backend) ? "queued" : "done" }));
}

function verdictOf({ isSkipped, verdict }: Sheet["rows"][number]): Verdict {
  return isSkipped ? "skipped" : verdict;
}

// Checks and writes the rows of an import. Users are written before the memberships of groups.

/** One row and its current state. */
interface SheetRow {
  readonly line: number;
  cells: readonly string[];
  read: RowRead;
  kind: "user" | "group";
  name: string;
  /** Rows with the same key have the same object. */
  key: string;
  isTwice: boolean;
  isSkipped: boolean;
  verdict: Exclude<Verdict, "skipped">;
  reason: string | null;
  did: ImportRow["did"];
  detail: string | null;
  /** What an update changes, also the groups that the user joins. */
  changes: ImportRow["changes"];
  /** Backends that receive the change later. */
  owes: readonly string[];
}

interface Sheet {
  readonly target: Target;
  readonly upload: Upload;
  readonly mayUpdate: boolean;
  readonly backends: readonly string[] | undefined;
  readonly rows: readonly SheetRow[];
  readonly problems: string[];
  filledGroups: number;
}

const ROWS_AT_ONCE = 100;
const MEMBERS_AT_ONCE = 1000;
const VERDICT_OF: Readonly<Record<RowOutcome["did"], SheetRow["verdict"]>> = {
  created: "create",
  updated: "update",
  unchanged: "same",
  refused: "refused",
};

/** @param options.before the sheet of an earlier check, whose corrected and skipped rows stay. */
function createSheet(
  upload: Upload,
  { before, ...options }: Pick<Sheet, "target" | "mayUpdate" | "backends"> & { before: Sheet | null },
): Sheet {
  const rows = before?.rows ?? upload.rows.map(({ line, cells, read }): SheetRow => ({
    line,
    cells,
    read,
    kind: "user",
    name: "",
    key: "",
    isTwice: false,
    isSkipped: false,
    verdict: "refused",
    reason: null,
    did: null,
    detail: null,
    changes: [],
    owes: [],
  }));
  return { ...options, upload, rows, problems: [], filledGroups: 0 };
}

interface Checking {
  readonly rows: readonly SheetRow[];
  readonly tell: (done: number) => void;
}

/** Checks rows without writing. @throws Refusal if the target refuses the request as a whole. */
async function checkRows(transfer: Transfer, sheet: Sheet, { rows, tell }: Checking): Promise<void> {
  const sound: SheetRow[] = [];
  for (const row of rows) {
    if (validateRow(transfer, sheet, row)) sound.push(row);
  }
  const fit = withoutDuplicates(sheet, sound);
  for (let from = 0; from < fit.length; from += ROWS_AT_ONCE) {
    const step = fit.slice(from, from + ROWS_AT_ONCE);
    const outcomes = await write(transfer, sheet, {
      rows: step.map((row) => bulkRow(transfer, row)),
      actor: NO_ACTOR,
      isDryRun: true,
    });
    for (const [at, row] of step.entries()) setVerdict(row, outcomes[at]);
    tell(from + step.length);
  }
}

const NO_ACTOR: Actor = { name: "", source: "" };

/** Whether the row is valid by itself. */
function validateRow(transfer: Transfer, { target }: Sheet, row: SheetRow): boolean {
  const { read } = row;
  const checked = read.ok ? transfer.checkRow(read.row, target.mapping) : read;
  if (read.ok) row.kind = read.row.kind;
  row.isTwice = false;
  row.name = checked.ok ? checked.name : givenName(row);
  row.key = checked.ok ? checked.key : "";
  row.verdict = "refused";
  row.reason = checked.ok ? null : checked.problem;
  return checked.ok;
}

/** The name in a row, for searching. */
function givenName({ read }: SheetRow): string {
  if (!read.ok) return "";
  const { userName, displayName } = read.row.body;
  const given = read.row.kind === "user" ? userName : displayName;
  return typeof given === "string" ? given.slice(0, 200) : "";
}

/** The first row of a name that is not skipped stays; the others are refused. */
function withoutDuplicates(sheet: Sheet, rows: readonly SheetRow[]): SheetRow[] {
  const first = new Map<string, SheetRow>();
  for (const row of sheet.rows) {
    if (row.key !== "" && !row.isSkipped && !first.has(row.key)) first.set(row.key, row);
  }
  return rows.filter((row) => {
    const earlier = first.get(row.key);
    if (earlier === undefined || earlier === row) return true;
    row.isTwice = true;
    row.reason = `Line ${earlier.line} already has this name.`;
    return false;
  });
}

function setVerdict(row: SheetRow, outcome: RowOutcome | undefined): void {
  row.changes = [];
  if (outcome === undefined) return;
  row.verdict = VERDICT_OF[outcome.did];
  row.reason = outcome.did === "refused" ? outcome.detail : null;
  // The memberships in a row are a change, although they are not part of the user.
  if (row.verdict === "same" && outcome.did !== "refused" && joinsOf(outcome).length > 0) {
    row.verdict = "update";
  }
  if (row.verdict === "update" && outcome.did !== "refused") row.changes = changesOf(outcome);
}

function changesOf(outcome: Exclude<RowOutcome, { did: "refused" }>): ImportRow["changes"] {
  const joins = joinsOf(outcome);
  const groups = joins.length === 0
    ? []
    : [{ attribute: "groups", before: "", after: `+ ${joins.join(", ")}` }];
  return [...outcome.changes ?? [], ...groups];
}

/** The groups that the row adds the user to. */
function joinsOf({ joins = [], joined = [] }: Exclude<RowOutcome, { did: "refused" }>): readonly string[] {
  return [...joins, ...joined];
}

/** Writes the valid rows that are not skipped. @throws Refusal if the target refuses the request as a whole. */
async function applyRows(
  transfer: Transfer,
  sheet: Sheet,
  { actor, tell }: { actor: Actor; tell: (done: number) => void },
): Promise<void> {
  const wanted = sheet.rows.filter(({ isSkipped, verdict }) => !isSkipped && verdict !== "refused");
  const members = new Map<string, { group: string; add: string[] }>();
  const filled = new Set<string>();
  for (let from = 0; from < wanted.length; from += ROWS_AT_ONCE) {
    const step = wanted.slice(from, from + ROWS_AT_ONCE);
    const outcomes = await write(transfer, sheet, {
      rows: step.map((row) => bulkRow(transfer, row)),
      actor,
      isDryRun: false,
    });
    for (const [at, row] of step.entries()) recordOutcome(row, outcomes[at], { members, filled });
    tell(from + step.length);
  }
  for (const [key, { group, add }] of members) {
    if (await fillGroup(transfer, sheet, { group, add, actor })) filled.add(key);
  }
  sheet.filledGroups = filled.size;
}

function recordOutcome(
  row: SheetRow,
  outcome: RowOutcome | undefined,
  { members, filled }: { members: Map<string, { group: string; add: string[] }>; filled: Set<string> },
): void {
  if (outcome === undefined) return;
  row.did = outcome.did;
  row.detail = outcome.did === "refused" ? outcome.detail : null;
  if (outcome.did === "refused") return;
  row.owes = outcome.owes ?? [];
  if (row.did === "unchanged" && joinsOf(outcome).length > 0) row.did = "updated";
  for (const group of outcome.joined ?? []) filled.add(canonicalName(group));
  for (const group of outcome.joins ?? []) {
    const known = members.get(canonicalName(group));
    if (known === undefined) members.set(canonicalName(group), { group, add: [row.name] });
    else known.add.push(row.name);
  }
}

/** @returns whether the group got members. */
async function fillGroup(
  transfer: Transfer,
  sheet: Sheet,
  { group, add, actor }: { group: string; add: readonly string[]; actor: Actor },
): Promise<boolean> {
  let isFilled = false;
  for (let from = 0; from < add.length; from += MEMBERS_AT_ONCE) {
    const row: BulkRow = { row: "members", group, add: add.slice(from, from + MEMBERS_AT_ONCE) };
    const [outcome] = await write(transfer, sheet, { rows: [row], actor, isDryRun: false });
    if (outcome?.did === "refused") sheet.problems.push(`${group}: ${outcome.detail}`);
    else if (outcome?.did !== "unchanged") isFilled = true;
  }
  return isFilled;
}

function bulkRow(transfer: Transfer, { read }: SheetRow): BulkRow {
  const { kind, body, groups }: Omit<FileRow, "line"> = read.ok
    ? read.row
    : { kind: "user", body: {}, groups: [] };
  return { row: "resource", kind, body, joins: false, groups: transfer.soundNames(groups) };
}

function write(
  transfer: Transfer,
  { target, upload, mayUpdate, backends }: Sheet,
  options: { rows: readonly BulkRow[]; actor: Actor; isDryRun: boolean },
): Promise<RowOutcome[]> {
  return withTargetErrors(transfer.write(target, {
    ...options,
    mayUpdate,
    showsChanges: options.isDryRun,
    covers: upload.covers === null ? null : new Set(upload.covers),
    ...(backends === undefined ? {} : { backends }),
  }));
}
