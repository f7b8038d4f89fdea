// The rows of a file: what would happen to each and why, or what did; a refused one is put right or skipped.

import type { ImportRow, ImportView, Verdict } from "../../../api/users/bulk_types.ts";
import type { StateWords } from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { type Column, DataTable } from "../data_table.tsx";
import { PageTurner } from "../pager.tsx";
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
  return (
    <>
      <DataTable
        label={t("groups.rows_of", { file: view.file })}
        columns={columnsOf(view, { busy, onRight, onSkip })}
        rows={view.rows}
        keyOf={({ line }) => String(line)}
        busy={busy}
      />
      {view.matching > view.size && (
        <PageTurner
          page={view.page}
          pageSize={view.size}
          shown={view.rows.length}
          total={view.matching}
          onPage={onPage}
        />
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
      label: t("groups.line"),
      width: "64px",
      number: true,
      wideOnly: true,
      cell: ({ line }) => line,
    },
    { label: t("groups.row_name"), cell: rowName },
    {
      label: t(view.state === "applied" ? "groups.verdict_done" : "groups.verdict"),
      width: "160px",
      narrow: "100px",
      cell: (row) => <Status words={standing(row)} />,
    },
    {
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
    label: t("groups.put_right"),
    width: "210px",
    narrow: "104px",
    cell: (row) => (
      <span class="import-actions">
        {row.verdict === "refused" && row.cells.length > 0 && (
          <Button
            small
            disabled={busy}
            of={lineText(row)}
            onClick={() => onRight(row)}
          >
            {t("groups.put_right")}
          </Button>
        )}
        <Button small disabled={busy} of={lineText(row)} onClick={() => onSkip(row)}>
          {t(row.verdict === "skipped" ? "groups.unskip" : "groups.skip")}
        </Button>
      </span>
    ),
  }];
}

function lineText({ line }: ImportRow): string {
  return t("groups.put_right_title", { line });
}

/** Rows without a name have their line at least. */
function rowName(row: ImportRow) {
  return row.name === "" ? <span class="quiet">{lineText(row)}</span> : <bdi class="cut">{row.name}</bdi>;
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
