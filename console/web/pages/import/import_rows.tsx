// The rows of an import: the preview or the result of each, and the dialog to correct a row.

import { useSignal } from "@preact/signals";
import type { ImportRow, ImportView, Verdict } from "../../../api/api_types.ts";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { Alert } from "../../components/alert.tsx";
import { backendSummary } from "../../components/backend_results.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Field } from "../../components/field.tsx";
import { PageTurner } from "../../components/list_page.tsx";
import { StateText } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import type { ImportModel } from "./import_model.ts";

interface RowsProps {
  readonly view: ImportView;
  readonly busy: boolean;
  readonly onRight: (row: ImportRow) => void;
  readonly onSkip: (row: ImportRow) => void;
  readonly onPage: (page: number) => void;
}

type StateStyle_ = Pick<StateLabel, "tone" | "shape">;
const VERDICT_STYLES: Readonly<Record<Verdict, StateStyle_>> = {
  create: { tone: "ok", shape: "check" },
  update: { tone: "wait", shape: "diamond" },
  same: { tone: "idle", shape: "ring" },
  refused: { tone: "bad", shape: "cross" },
  skipped: { tone: "idle", shape: "ring" },
};
const RESULT_STYLES: Readonly<Record<NonNullable<ImportRow["did"]>, StateStyle_>> = {
  created: { tone: "ok", shape: "check" },
  updated: { tone: "ok", shape: "check" },
  unchanged: { tone: "idle", shape: "ring" },
  refused: { tone: "bad", shape: "cross" },
};
const RESULT_LABELS = {
  created: "import.row_created",
  updated: "import.row_updated",
  unchanged: "import.row_unchanged",
  refused: "import.verdict_refused",
} as const;

export function ImportRows({ view, busy, onRight, onSkip, onPage }: RowsProps) {
  return (
    <>
      <DataTable
        label={t("import.rows_of", { file: view.file })}
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
): TableColumn<ImportRow>[] {
  const isOpen = view.state === "checked";
  const rows: TableColumn<ImportRow>[] = [
    {
      label: t("import.line"),
      width: "64px",
      number: true,
      priority: 3,
      cell: ({ line }) => line,
    },
    { label: t("common.name"), cell: rowName },
    {
      label: t(view.state === "applied" ? "import.verdict_done" : "import.verdict"),
      width: "160px",
      cell: (row) => <StateText words={rowState(row)} />,
    },
    {
      label: t("import.why"),
      width: "34%",
      min: 180,
      cell: ({ reason, detail, receipt, changes, did }) => (
        <span class="import-why">
          {did === null && changes.length > 0
            ? changes.map((one) => <ValueChange key={one.attribute} change={one} />)
            : detail ?? reason ?? (receipt.length === 0 ? "" : receiptText(receipt))}
        </span>
      ),
    },
  ];
  if (!isOpen) return rows;
  return [...rows, {
    label: t("import.put_right"),
    width: "210px",
    isPinned: true,
    cell: (row) => (
      <span class="import-actions">
        {row.verdict === "refused" && row.cells.length > 0 && (
          <Button
            small
            disabled={busy}
            of={lineText(row)}
            onClick={() => onRight(row)}
          >
            {t("import.put_right")}
          </Button>
        )}
        <Button small disabled={busy} of={lineText(row)} onClick={() => onSkip(row)}>
          {t(row.verdict === "skipped" ? "import.unskip" : "import.skip")}
        </Button>
      </span>
    ),
  }];
}

function lineText({ line }: ImportRow): string {
  return t("import.line_number", { line });
}

/** The name of a row, or its line if it has no name. */
function rowName(row: ImportRow) {
  return row.name === "" ? <span class="quiet">{lineText(row)}</span> : <bdi class="cut">{row.name}</bdi>;
}

/** The result in each backend as text. A table of a thousand rows has no room for chips. */
function receiptText(receipt: ImportRow["receipt"]): string {
  const late = receipt.filter(({ outcome }) => outcome !== "done");
  const named = late.map(({ backend, outcome }) => `${backend}: ${t(`common.outcome_${outcome}`)}`);
  return [backendSummary(receipt), ...named].join(" · ");
}

/** "name.familyName: Adler → X" */
function ValueChange({ change: { attribute, before, after } }: { change: ImportRow["changes"][number] }) {
  return (
    <span class="import-change">
      <span class="mono">{attribute}</span>: {before !== "" && <del>{before}</del>} {before !== "" && "→"}
      {" "}
      {after === "" ? <span class="quiet">{t("common.none")}</span> : <ins>{after}</ins>}
    </span>
  );
}

/** The attributes with the name of a user or a group. */
const NAMES = new Set(["userName", "displayName", "name.formatted", "name.givenName", "name.familyName"]);

function rowState({ did, verdict, changes }: ImportRow): StateLabel {
  if (did !== null) return { ...RESULT_STYLES[did], label: t(RESULT_LABELS[did]) };
  const isRename = changes.some(({ attribute, before }) => NAMES.has(attribute) && before !== "");
  if (verdict === "update" && isRename) {
    return { ...VERDICT_STYLES.update, label: t("import.verdict_rename") };
  }
  return { ...VERDICT_STYLES[verdict], label: t(`import.verdict_${verdict}`) };
}

export function RowDialog({ model, row, headers, onClose }: {
  model: ImportModel;
  row: ImportRow;
  headers: readonly string[];
  onClose: () => void;
}) {
  const cells = useSignal(headers.map((_header, at) => row.cells[at] ?? ""));
  const isHidden = (at: number) => row.cells[at] === null;
  const save = async (): Promise<void> => {
    const given = cells.value.map((cell, at) => isHidden(at) && cell === "" ? null : cell);
    if (await model.change(row, { cells: given })) onClose();
  };
  return (
    <Dialog
      title={t("import.put_right_title", { line: row.line })}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("common.cancel")}</button>
          <Button type="submit" form="import-row" kind="primary" disabled={model.busy.value}>
            {t("import.check_row")}
          </Button>
        </>
      }
    >
      <form
        id="import-row"
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {row.reason !== null && <Alert tone="bad">{row.reason}</Alert>}
        {headers.map((header, at) => (
          <Field
            key={at}
            id={`cell-${at}`}
            label={header}
            {...(isHidden(at) ? { hint: t("import.password_kept") } : {})}
            input={{
              ...(isHidden(at) ? { type: "password" as const } : { type: "text" as const }),
              value: cells.value[at] ?? "",
              autocomplete: isHidden(at) ? "new-password" : "off",
              spellcheck: false,
              onInput: (event) => {
                const text = event.currentTarget.value;
                cells.value = cells.value.map((cell, one) => one === at ? text : cell);
              },
            }}
          />
        ))}
      </form>
    </Dialog>
  );
}
