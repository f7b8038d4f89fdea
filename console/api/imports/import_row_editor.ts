// Checks and writes the rows of an import. Users are written before the memberships of groups.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { FileRow, RowRead } from "../../../scim/transfer/row_reader.ts";
import type { Upload } from "../../../scim/transfer/upload.ts";
import type { BulkRow, RowOutcome } from "../../../scim/transfer/bulk_plan.ts";
import type { Actor, Target } from "../../../scim/ports.ts";
import type { ImportRow, Verdict } from "../api_types.ts";
import { withTargetErrors } from "../errors.ts";
import type { Transfer } from "../deps.ts";

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

export interface Sheet {
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
export function createSheet(
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
export async function checkRows(transfer: Transfer, sheet: Sheet, { rows, tell }: Checking): Promise<void> {
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
export async function applyRows(
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
