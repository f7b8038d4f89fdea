// Files on their way in: received in pieces, looked through, put right row by row, then applied. A file stays in memory and is
// forgotten soon, for it may hold passwords.

import type { Upload } from "../../../scim/transfer/upload.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Actor, Target } from "../../../scim/ports.ts";
import { applyRows, checkRows, type Sheet, sheetOf } from "./import_row_editor.ts";
import type { ImportRow, ImportView, Verdict } from "../users/bulk_types.ts";
import { VERDICTS } from "../users/bulk_types.ts";
import { Refusal } from "../errors.ts";
import { createShelf } from "../jobs/work_registry.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";
import type { Transfer } from "./import_export.ts";

/** Whose import, and which. */
export interface Which {
  readonly id: string;
  readonly owner: string;
}

export interface PageAsked {
  readonly verdict: Verdict | "";
  readonly page: number;
  readonly size: number;
}

export interface Imports {
  /** @throws Refusal `too_much_under_way`. */
  begin(options: { owner: string; target: Target; file: string }): ImportView;
  /** Takes the next piece of the text. @throws Refusal `import_too_large`, `import_not_now`. */
  add(which: Which, text: string): ImportView;
  /** Begins to look through all rows. @throws Refusal `bad_value` for what is no table. */
  check(which: Which, options: CheckOptions): ImportView;
  view(which: Which, asked: PageAsked): ImportView;
  /** Puts a row right, or skips it. @throws Refusal `import_row_fixed`. */
  change(which: Which, change: RowChange): Promise<ImportView>;
  apply(which: Which, options: { actor: Actor }): ImportView;
  end(which: Which): void;
}

export interface CheckOptions {
  readonly mayUpdate: boolean;
  readonly backends: readonly string[] | undefined;
}

export interface RowChange {
  readonly line: number;
  readonly skip?: boolean | undefined;
  /** In place of the row's own; `null` keeps a cell. */
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

const MOST_CHARACTERS = 8 * 1024 * 1024;
const MOST_ROWS = 10_000;
const LIMITS = { most: 6, mostEach: 2, idleMs: 30 * 60_000 };
const FIRST_PAGE: PageAsked = { verdict: "", page: 1, size: 1 };

export function createImports(
  { clock, random, log, transfer }: { clock: Clock; random: Random; log: Log; transfer: Transfer },
): Imports {
  const shelf = createShelf<Import>({ clock, random }, LIMITS);
  const take = ({ id, owner }: Which): Import => {
    const found = shelf.take(id, owner);
    if (found === null) throw new Refusal("unknown_import");
    return found;
  };
  const ready = (which: Which): { found: Import; sheet: Sheet } => {
    const found = take(which);
    if (found.sheet === null || found.state !== "checked") throw new Refusal("import_not_now");
    return { found, sheet: found.sheet };
  };
  /** Goes on after the request. What breaks off is said in the view, and in the log. */
  const work = async (
    found: Import,
    { run, then }: { run: () => Promise<void>; then: ImportView["state"] },
  ) => {
    try {
      await run();
    } catch (fault) {
      const error = fault instanceof Error ? fault.message : String(fault);
      if (!(fault instanceof Refusal)) log.error("an import broke off", { target: found.target.name, error });
      found.sheet?.problems.push(fault instanceof Refusal ? fault.message : new Refusal("internal").message);
    }
    found.state = then;
  };
  const tell = (found: Import) => (done: number) => void (found.done = done);

  return {
    begin({ owner, target, file }) {
      const begun = shelf.put((id) => ({
        id,
        owner,
        target,
        file,
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
    },
    add(which, text) {
      const found = take(which);
      if (found.state !== "receiving") throw new Refusal("import_not_now");
      if (found.characters + text.length > MOST_CHARACTERS) throw new Refusal("import_too_large");
      found.texts.push(text);
      found.characters += text.length;
      return viewOf(found, FIRST_PAGE);
    },
    check(which, { mayUpdate, backends }) {
      const found = take(which);
      if (found.isBusy() || found.state === "applied") throw new Refusal("import_not_now");
      const { target } = found;
      const before = found.sheet;
      const upload = before?.upload ?? readText(transfer, found);
      found.texts = [];
      const sheet = sheetOf(upload, { target, mayUpdate, backends, before });
      found.sheet = sheet;
      found.state = "checking";
      found.done = 0;
      const run = () => checkRows(transfer, sheet, { rows: sheet.rows, tell: tell(found) });
      // It keeps its failures to itself.
      void work(found, { run, then: "checked" });
      return viewOf(found, FIRST_PAGE);
    },
    view: (which, asked) => viewOf(take(which), asked),
    async change(which, { line, skip, cells }) {
      const { found, sheet } = ready(which);
      const row = sheet.rows.find((one) => one.line === line);
      if (row === undefined) throw new Refusal("import_row_fixed");
      if (skip !== undefined) row.isSkipped = skip;
      if (cells !== undefined) {
        if (sheet.upload.headers === null || cells.length !== sheet.upload.headers.length) {
          throw new Refusal("import_row_fixed");
        }
        row.cells = cells.map((cell, at) => cell ?? row.cells[at] ?? "");
        row.read = sheet.upload.again(line, row.cells);
      }
      // Another row may be about the same name, so all are judged anew where it changed.
      const rows = sheet.rows.filter((one) => one === row || one.key === row.key || one.isTwice);
      await checkRows(transfer, sheet, { rows, tell: () => undefined });
      return viewOf(found, { ...FIRST_PAGE, verdict: "refused" });
    },
    apply(which, { actor }) {
      const { found, sheet } = ready(which);
      found.state = "applying";
      found.done = 0;
      const run = () => applyRows(transfer, sheet, { actor, tell: tell(found) });
      void work(found, { run, then: "applied" });
      return viewOf(found, FIRST_PAGE);
    },
    end(which) {
      if (take(which).isBusy()) throw new Refusal("import_not_now");
      shelf.remove(which.id);
    },
  };
}

function readText(transfer: Transfer, { texts, file, target }: Import): Upload {
  const text = texts.join("");
  const read = transfer.readUpload({ name: file, text }, { mapping: target.mapping, mostRows: MOST_ROWS });
  if (!read.ok) throw new DetailedRefusal("bad_value", { message: read.problem });
  return read.upload;
}

function viewOf(found: Import, { verdict, page, size }: PageAsked): ImportView {
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
    done,
    total: rows.length,
    verdicts,
    created: count("created"),
    updated: count("updated"),
    unchanged: count("unchanged"),
    // A row with an error that was neither fixed nor skipped is refused without being tried.
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

/** A row that changed something is at every backend it was meant for, or on its way there. */
function receiptOf({ did, owes }: Sheet["rows"][number], backends: readonly string[]): ImportRow["receipt"] {
  if (did !== "created" && did !== "updated") return [];
  return backends.map((backend) => ({ backend, outcome: owes.includes(backend) ? "queued" : "done" }));
}

function verdictOf({ isSkipped, verdict }: Sheet["rows"][number]): Verdict {
  return isSkipped ? "skipped" : verdict;
}
