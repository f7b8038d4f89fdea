// The rows of a file: what would happen to each and why, or what did; a refused one is put right or skipped.

import type { ImportRow, ImportView, Verdict } from "../../../api/people/bulk_shapes.ts";
import type { StateWords } from "../../words.ts";
import { t } from "../../words/translate.ts";
import { type Column, DataTable } from "../data_table.tsx";
import { receiptSentence } from "../receipt_chips.tsx";
import { Status } from "../status.tsx";

interface RowsProps {
  readonly view: ImportView;
  readonly busy: boolean;
  readonly onRight: (row: ImportRow) => void;
  readonly onSkip: (row: ImportRow) => void;
  readonly onPage: (page: number) => void;
}

type Look = Pick<StateWords, "tone" | "shape">;
const VERDICT_LOOKS: Readonly<Record<Verdict, Look>> = {
  create: { tone: "ok", shape: "check" },
  update: { tone: "wait", shape: "diamond" },
  same: { tone: "idle", shape: "ring" },
  refused: { tone: "bad", shape: "cross" },
  skipped: { tone: "idle", shape: "ring" },
};
const DID_LOOKS: Readonly<Record<NonNullable<ImportRow["did"]>, Look>> = {
  created: { tone: "ok", shape: "check" },
  updated: { tone: "ok", shape: "check" },
  unchanged: { tone: "idle", shape: "ring" },
  refused: { tone: "bad", shape: "cross" },
};
const DID_WORDS = {
  created: "groups.row_created",
  updated: "groups.row_updated",
  unchanged: "groups.row_unchanged",
  refused: "groups.verdict_refused",
} as const;

export function ImportRows({ view, busy, onRight, onSkip, onPage }: RowsProps) {
  const last = Math.max(1, Math.ceil(view.matching / view.size));
  return (
    <>
      <DataTable
        label={t("groups.rows_of", { file: view.file })}
        columns={columnsOf(view, { busy, onRight, onSkip })}
        rows={view.rows}
        keyOf={({ line }) => String(line)}
        nameOf={({ line, name }) => name === "" ? t("groups.put_right_title", { line }) : name}
        busy={busy}
      />
      {last > 1 && (
        <nav class="pager" aria-label={t("frame.page_of_list")}>
          <span class="quiet" role="status">
            {t("frame.range", {
              from: (view.page - 1) * view.size + 1,
              to: (view.page - 1) * view.size + view.rows.length,
              count: view.matching,
            })}
          </span>
          <button
            type="button"
            class="button button-small"
            disabled={view.page === 1}
            onClick={() => onPage(view.page - 1)}
          >
            {t("frame.previous")}
          </button>
          <button
            type="button"
            class="button button-small"
            disabled={view.page >= last}
            onClick={() => onPage(view.page + 1)}
          >
            {t("frame.next")}
          </button>
        </nav>
      )}
    </>
  );
}

function columnsOf(
  view: ImportView,
  { busy, onRight, onSkip }: Pick<RowsProps, "busy" | "onRight" | "onSkip">,
): Column<ImportRow>[] {
  const isOpen = view.state === "checked";
  const rows: Column<ImportRow>[] = [
    {
      name: "line",
      label: t("groups.line"),
      width: "64px",
      number: true,
      wideOnly: true,
      cell: ({ line }) => line,
    },
    { name: "name", label: t("groups.row_name"), cell: rowName },
    {
      name: "verdict",
      label: t(view.state === "applied" ? "groups.verdict_done" : "groups.verdict"),
      width: "160px",
      narrow: "100px",
      cell: (row) => <Status words={standing(row)} />,
    },
    {
      name: "why",
      label: t("groups.why"),
      width: "34%",
      wideOnly: true,
      cell: ({ reason, detail, receipt }) => (
        <span class="import-why">
          {detail ?? reason ?? (receipt.length === 0 ? "" : receiptText(receipt))}
        </span>
      ),
    },
  ];
  if (!isOpen) return rows;
  return [...rows, {
    name: "actions",
    label: t("groups.put_right"),
    width: "210px",
    narrow: "104px",
    cell: (row) => (
      <span class="import-actions">
        {row.verdict === "refused" && row.cells.length > 0 && (
          <button
            type="button"
            class="button button-small"
            disabled={busy}
            onClick={() => onRight(row)}
          >
            {t("groups.put_right")}
            <span class="unseen">{` ${t("groups.put_right_title", { line: row.line })}`}</span>
          </button>
        )}
        <button type="button" class="button button-small" disabled={busy} onClick={() => onSkip(row)}>
          {t(row.verdict === "skipped" ? "groups.unskip" : "groups.skip")}
          <span class="unseen">{` ${t("groups.put_right_title", { line: row.line })}`}</span>
        </button>
      </span>
    ),
  }];
}

/** Rows without a name have their line at least. */
function rowName({ name, line }: ImportRow) {
  return name === ""
    ? <span class="quiet">{t("groups.put_right_title", { line })}</span>
    : <bdi class="cut">{name}</bdi>;
}

/** What each backend made of a row; in words, for there may be a thousand of them. */
function receiptText(receipt: ImportRow["receipt"]): string {
  const late = receipt.filter(({ outcome }) => outcome !== "done");
  const named = late.map(({ backend, outcome }) => `${backend}: ${t(`frame.outcome_${outcome}`)}`);
  return [receiptSentence(receipt), ...named].join(" · ");
}

function standing({ did, verdict }: ImportRow): StateWords {
  if (did !== null) return { ...DID_LOOKS[did], label: t(DID_WORDS[did]) };
  return { ...VERDICT_LOOKS[verdict], label: t(`groups.verdict_${verdict}`) };
}
