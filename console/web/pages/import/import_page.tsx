// The import page: uploads a file of users, previews the result of each row, and applies the rows.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { ImportRow, ImportView, Verdict } from "../../../api/api_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Checkbox, Field } from "../../components/field.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { backendSummary } from "../../components/backend_results.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { PageTurner } from "../../components/list_page.tsx";
import { StateText } from "../../components/status.tsx";
import type { InviteChoice } from "../enrolment/enrolment_calls.ts";
import { InviteButton } from "../enrolment/invite_button.tsx";
import { ImportModel } from "./import_model.ts";

const VERDICTS: readonly Verdict[] = ["create", "update", "same", "refused", "skipped"];

export default function ImportPage({ models }: PageProps) {
  const model = useMemo(() =>
    new ImportModel(models, {
      later(delayMs, task) {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      },
      words: { notText: () => t("import.not_text"), tooLarge: () => t("import.too_large") },
    }), []);
  useEffect(() => () => model.leave(), []);
  const verdict = useSignal<Verdict | "">("");
  const right = useSignal<ImportRow | null>(null);
  const view = model.view.value;
  const row = right.value;
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.import")} back={{ href: "/users", label: t("common.all_users") }}>
        {view !== null && (
          <Button
            onClick={() => {
              verdict.value = "";
              model.leave();
            }}
          >
            {t("import.other_file")}
          </Button>
        )}
      </PageBar>
      {model.problem.value !== null && <Alert tone="bad" role="alert">{model.problem.value}</Alert>}
      {view === null ? <FilePicker model={model} target={models.router.param("target")} /> : (
        <>
          <ImportStatus view={view} />
          {view.state === "applied" && models.router.param("target") === "" && (
            <div>
              <InviteButton
                models={models}
                label={t("import.invite")}
                name={view.file}
                users={() => fetchImportedUsers(models, view.id)}
              />
            </div>
          )}
          {(view.state === "checked" || view.state === "applied") && (
            <section class="panel people-panel" aria-label={t("import.rows_of", { file: view.file })}>
              {view.state === "checked" && (
                <CheckedHeader
                  {...{ view, model, verdict: verdict.value }}
                  onVerdict={(next) => {
                    verdict.value = next;
                    void model.show({ verdict: next, page: 1 });
                  }}
                />
              )}
              <ImportRows
                view={view}
                busy={model.busy.value}
                onRight={(chosen) =>
                  right.value = chosen}
                onSkip={(chosen) =>
                  void model.change(chosen, { skip: chosen.verdict !== "skipped" })}
                onPage={(page) => void model.show({ verdict: verdict.value, page })}
              />
            </section>
          )}
        </>
      )}
      {row !== null && view !== null && (
        <RowDialog
          model={model}
          row={row}
          headers={view.headers ?? []}
          onClose={() => right.value = null}
        />
      )}
    </main>
  );
}

function FilePicker({ model, target }: { model: ImportModel; target: string }) {
  const mayUpdate = useSignal(false);
  const busy = model.busy.value;
  return (
    <section class="panel people-panel">
      <p>{t("import.import_what")}</p>
      <p class="quiet">{t("import.import_columns")}</p>
      <Checkbox
        label={t("import.may_update")}
        checked={mayUpdate.value}
        onChange={(next) => mayUpdate.value = next}
      />
      <div class="field">
        <label for="import-file">{t("import.file")}</label>
        <input
          id="import-file"
          class="input"
          type="file"
          accept=".csv,.tsv,.txt,.json,.jsonl,.ndjson,text/csv,application/json"
          aria-describedby="import-file-hint"
          disabled={busy}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) void model.send(file, { target, mayUpdate: mayUpdate.value });
          }}
        />
        <span class="hint" id="import-file-hint">{t("import.file_hint")}</span>
      </div>
      {busy && <p role="status">{t("import.sending")}</p>}
    </section>
  );
}

/** The progress, the preview or the result. A partial result is never shown as a success. */
function ImportStatus({ view }: { view: ImportView }) {
  const { state, done, total, problems, notes } = view;
  const said = problems.length > 0 && (
    <ul class="people-consequences">{problems.map((one) => <li key={one}>{one}</li>)}</ul>
  );
  if (state === "applied") {
    const isWhole = view.refused === 0 && problems.length === 0;
    const counts = [
      t("import.did_created", { count: view.created }),
      t("import.did_updated", { count: view.updated }),
      t("import.did_unchanged", { count: view.unchanged }),
      t("import.did_refused", { count: view.refused }),
      t("import.did_groups", { count: view.filledGroups }),
    ];
    return (
      <Alert tone={isWhole ? "ok" : "wait"} icon={isWhole ? "check" : "alert"} role="status">
        <strong>{t(isWhole ? "import.applied" : "import.applied_partly")}</strong> {counts.join(", ")}. {said}
        <a class="button button-small" href="/users">{t("common.show_users")}</a>
      </Alert>
    );
  }
  if (state === "checked") {
    return (
      <>
        {said && <Alert tone="bad" role="alert">{said}</Alert>}
        {notes.map((note) => <Alert key={note} tone="wait">{note}</Alert>)}
      </>
    );
  }
  const words = { done, count: total };
  return (
    <div role="status">
      <p>{t(state === "applying" ? "import.applying" : "import.looking", words)}</p>
      <progress aria-label={t("common.working")} max={Math.max(1, total)} value={done} />
    </div>
  );
}

/** The users of an applied import. */
async function fetchImportedUsers({ api, session }: Models, id: string): Promise<InviteChoice> {
  const param = escapeParams({ id });
  const { names, file } = await session.whileSignedIn(() => take(api.imports[":id"].users.$get({ param })));
  return { names, file: file.slice(0, 200) };
}

function CheckedHeader({ view, model, verdict, onVerdict }: {
  view: ImportView;
  model: ImportModel;
  verdict: Verdict | "";
  onVerdict: (verdict: Verdict | "") => void;
}) {
  const { verdicts } = view;
  const count = verdicts.create + verdicts.update;
  const verdictText = (one: Verdict) => `${t(`import.verdict_${one}`)} (${verdicts[one]})`;
  return (
    <div class="people-head">
      <span role="status">
        {t("import.dry_run")} {verdicts.refused > 0 && t("import.still_refused", { count: verdicts.refused })}
      </span>
      <Checkbox
        label={t("import.may_update")}
        checked={view.mayUpdate}
        reason={model.busy.value ? t("common.working") : undefined}
        onChange={(next) => void model.recheck(next)}
      />
      <select
        class="input"
        aria-label={t("import.verdict")}
        value={verdict}
        onChange={(event) => onVerdict(VERDICTS.find((one) => one === event.currentTarget.value) ?? "")}
      >
        <option value="">{`${t("import.verdict_all")} (${view.total})`}</option>
        {VERDICTS.map((one) => <option key={one} value={one}>{verdictText(one)}</option>)}
      </select>
      <Button
        kind="primary"
        icon="upload"
        disabled={model.busy.value}
        reason={count === 0 ? t("import.apply_none") : undefined}
        onClick={() => model.apply()}
      >
        {t("import.apply", { count })}
      </Button>
    </div>
  );
}

// The rows of an import: the preview or the result of each, and the dialog to correct a row.

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

function ImportRows({ view, busy, onRight, onSkip, onPage }: RowsProps) {
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

function RowDialog({ model, row, headers, onClose }: {
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
