// Users from a file: what would be done is seen before anything is written, a row is put right or skipped, then it is applied.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { ImportRow, ImportView, Verdict } from "../../api/users/bulk_types.ts";
import { createImportModel, type ImportModel } from "../models/import_model.ts";
import { Button } from "../parts/button.tsx";
import { ImportRows } from "../parts/import/import_rows.tsx";
import { Checkbox } from "../parts/inputs.tsx";
import { late } from "../parts/late.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

const RowDialog = late(async () => (await import("../parts/import/row_dialog.tsx")).RowDialog);
const VERDICTS: readonly Verdict[] = ["create", "update", "same", "refused", "skipped"];

export default function ImportPage({ models }: PageProps) {
  const model = useMemo(() =>
    createImportModel(models, {
      later(delayMs, task) {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      },
      words: { notText: () => t("groups.not_text"), tooLarge: () => t("groups.too_large") },
    }), []);
  useEffect(() => model.leave, []);
  const verdict = useSignal<Verdict | "">("");
  const right = useSignal<ImportRow | null>(null);
  const view = model.view.value;
  const row = right.value;
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.import")} back={{ href: "/users", label: t("people.back") }}>
        {view !== null && (
          <Button
            onClick={() => {
              verdict.value = "";
              model.leave();
            }}
          >
            {t("groups.other_file")}
          </Button>
        )}
      </PageBar>
      {model.problem.value !== null && <Note tone="bad" role="alert">{model.problem.value}</Note>}
      {view === null ? <Choose model={model} target={models.router.param("target")} /> : (
        <>
          <Standing view={view} />
          {(view.state === "checked" || view.state === "applied") && (
            <section class="panel people-panel" aria-label={t("groups.rows_of", { file: view.file })}>
              {view.state === "checked" && (
                <Head
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

function Choose({ model, target }: { model: ImportModel; target: string }) {
  const mayUpdate = useSignal(true);
  const busy = model.busy.value;
  return (
    <section class="panel people-panel">
      <p>{t("groups.import_what")}</p>
      <p class="quiet">{t("groups.import_columns")}</p>
      <Checkbox
        label={t("groups.may_update")}
        checked={mayUpdate.value}
        onChange={(next) => mayUpdate.value = next}
      />
      <div class="field">
        <label for="import-file">{t("groups.file")}</label>
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
        <span class="hint" id="import-file-hint">{t("groups.file_hint")}</span>
      </div>
      {busy && <p role="status">{t("groups.sending")}</p>}
    </section>
  );
}

/** How far it is, what would be done, or what was done: never one tick for what was done in part. */
function Standing({ view }: { view: ImportView }) {
  const { state, done, total, problems, notes } = view;
  const said = problems.length > 0 && (
    <ul class="people-consequences">{problems.map((one) => <li key={one}>{one}</li>)}</ul>
  );
  if (state === "applied") {
    const isWhole = view.refused === 0 && problems.length === 0;
    const counts = [
      t("groups.did_created", { count: view.created }),
      t("groups.did_updated", { count: view.updated }),
      t("groups.did_unchanged", { count: view.unchanged }),
      t("groups.did_refused", { count: view.refused }),
      t("groups.did_groups", { count: view.filledGroups }),
    ];
    return (
      <Note tone={isWhole ? "ok" : "wait"} icon={isWhole ? "check" : "alert"} role="status">
        <strong>{t(isWhole ? "groups.applied" : "groups.applied_partly")}</strong> {counts.join(", ")}. {said}
        <a class="button button-small" href="/users">{t("groups.to_users")}</a>
      </Note>
    );
  }
  if (state === "checked") {
    return (
      <>
        {said && <Note tone="bad" role="alert">{said}</Note>}
        {notes.map((note) => <Note key={note} tone="wait">{note}</Note>)}
      </>
    );
  }
  const words = { done, count: total };
  return (
    <div role="status">
      <p>{t(state === "applying" ? "groups.applying" : "groups.looking", words)}</p>
      <progress aria-label={t("frame.working")} max={Math.max(1, total)} value={done} />
    </div>
  );
}

function Head({ view, model, verdict, onVerdict }: {
  view: ImportView;
  model: ImportModel;
  verdict: Verdict | "";
  onVerdict: (verdict: Verdict | "") => void;
}) {
  const { verdicts } = view;
  const count = verdicts.create + verdicts.update;
  const verdictText = (one: Verdict) => `${t(`groups.verdict_${one}`)} (${verdicts[one]})`;
  return (
    <div class="people-head">
      <span role="status">
        {t("groups.dry_run")} {verdicts.refused > 0 && t("groups.still_refused", { count: verdicts.refused })}
      </span>
      <select
        class="input"
        aria-label={t("groups.verdict")}
        value={verdict}
        onChange={(event) => onVerdict(VERDICTS.find((one) => one === event.currentTarget.value) ?? "")}
      >
        <option value="">{`${t("groups.verdict_all")} (${view.total})`}</option>
        {VERDICTS.map((one) => <option key={one} value={one}>{verdictText(one)}</option>)}
      </select>
      <Button
        kind="primary"
        icon="upload"
        disabled={model.busy.value}
        reason={count === 0 ? t("groups.apply_none") : undefined}
        onClick={model.apply}
      >
        {t("groups.apply", { count })}
      </Button>
    </div>
  );
}
