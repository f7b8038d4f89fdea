// The page of a target: its connectors, refresh, pending writes, mapping, and settings.

import type { RefreshState } from "../../../api/targets/target_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { readyValue, type Resource, useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { AuditLink, PageBar, Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { ConnectorList, type TargetPart } from "./connector_list.tsx";
import {
  type Directory,
  fetchDirectory,
  type OnDirectorySaved,
  requireDirectorySaved,
  saveDirectory,
  showSaved,
} from "./directory_calls.ts";
import { DirectoryConflictDialog } from "./directory_conflict.tsx";
import { RemoveDirectory } from "./directory_dialogs.tsx";
import { MappingEditor } from "./mapping_editor.tsx";
import { readOnlyOf } from "./mapping_form.ts";
import { fetchTarget, startTargetRefresh } from "./target_calls.ts";
import { useSignal } from "@preact/signals";
import { ReadOnlyField, TextAreaField, TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { faultText, sentenceText } from "../settings/setting_problems.ts";
import { DIRECTORY_ROWS, type DirectoryTable, extensionNames } from "./directory_form.ts";

const POLL_INTERVAL_MS = 1000;

export default function TargetPage({ models, params }: PageProps) {
  const name = params.id ?? "";
  const page = useResource(models, { fetch: () => fetchTarget(models, name), inputs: [name] });
  const settings = useResource(models, { fetch: () => fetchDirectory(models, name), inputs: [name] });
  useInterval(POLL_INTERVAL_MS, async () => {
    const state = page.state.peek();
    if (state.kind === "ready" && state.value.refresh.running) await page.reload();
  });
  return (
    <main class="page" id="page">
      <PageBar title={name} back={{ href: "/targets", label: t("targets.all_targets") }}>
        <AuditLink object={`target:${name}`} />
      </PageBar>
      <Fetched resource={page}>
        {(target) => <Target models={models} target={target} page={page} settings={settings} />}
      </Fetched>
    </main>
  );
}

function Target({ models, target, page, settings }: TargetPart & { readonly settings: Resource<Directory> }) {
  const directory = readyValue(settings.state.value);
  const reason = permissionHint(models, "owner") ??
    (directory?.locked === "file" ? t("targets.locked") : undefined);
  const reload = async () => {
    await Promise.all([settings.reload(), page.reload()]);
  };
  const onSaved: OnDirectorySaved = async (said, saved) => {
    if (saved.kind === "edit") return "stay";
    const auditId = requireDirectorySaved(saved);
    await reload();
    if (saved.kind === "theirs") models.toasts.show(t("targets.theirs_kept"));
    else showSaved(models, said, { auditId, onUndone: () => void reload() });
  };
  const part = { models, target, page };
  return (
    <>
      {directory !== null && <DirectoryNotes directory={directory} />}
      <ConnectorList {...part} directory={directory} reason={reason} onSaved={onSaved} />
      <Refresh {...part} />
      <PendingWrites {...part} />
      <Fetched resource={settings}>
        {(directory) => (
          <>
            <MappingEditor
              {...{ models, target, directory, reason, onSaved }}
              key={JSON.stringify([directory.table.mapping, readOnlyOf(directory.table)])}
            />
            <DirectorySettings {...{ models, directory, reason, onSaved }} />
            <RemoveDirectory {...{ models, target, directory, reason }} />
          </>
        )}
      </Fetched>
      <DirectoryConflictDialog models={models} />
    </>
  );
}

function Refresh({ models, target, page }: TargetPart) {
  const { refresh } = target;
  const action = useAction();
  const reason = permissionHint(models, "user_manager") ??
    (target.backends.every(({ kind }) => kind === "store") ? t("targets.refresh_nothing") : undefined);
  const begin = () =>
    action.run(async () => {
      // The panel shows the progress and the result.
      page.set(await startTargetRefresh(models, target.name));
    });
  const { report } = refresh;
  return (
    <Panel title={t("targets.refresh")}>
      <p class="quiet">{t("targets.refresh_why")}</p>
      <ErrorAlert of={action.fault} />
      {refresh.problem !== null && <Alert tone="bad" role="alert">{refresh.problem}</Alert>}
      {refresh.running && <Progress models={models} target={target} />}
      {report !== null && (
        <Alert
          tone={report.faults.length === 0 ? "ok" : "wait"}
          role="status"
          icon={report.faults.length === 0 ? "check" : "alert"}
        >
          <Counts what={t("shell.users")} of={report} without={report.ofGroups} />
          <Counts what={t("shell.groups")} of={report.ofGroups} />
          {report.faults.map(({ backend, detail, kind }) => (
            <p key={backend}>
              <strong class="mono">{backend}</strong>: {kind === "deletion_limit" && t("targets.brake")}
              {kind === "addition_limit" && t("targets.brake_additions")} <bdi>{detail}</bdi>
            </p>
          ))}
        </Alert>
      )}
      <Button
        disabled={refresh.running}
        busy={action.busy.value}
        reason={reason}
        onClick={begin}
      >
        {t("common.refresh_begin")}
      </Button>
    </Panel>
  );
}

type RefreshCounts = NonNullable<RefreshState["report"]>["ofGroups"];

function Counts({ what, of, without }: { what: string; of: RefreshCounts; without?: RefreshCounts }) {
  const count = (name: keyof RefreshCounts) => of[name] - (without?.[name] ?? 0);
  return (
    <div>
      {t("targets.refresh_report", {
        what,
        created: count("created"),
        updated: count("updated"),
        unchanged: count("unchanged"),
        vanished: count("vanished"),
        deleted: count("deleted"),
      })}
    </div>
  );
}

/** The share of known objects that was read. A backend may have more objects, so the bar may fill early. */
function Progress({ models, target: { refresh, users, groups, backends } }: Omit<TargetPart, "page">) {
  const remote = backends.filter(({ kind }) => kind !== "store").length;
  const done = refresh.read.reduce((sum, { read }) => sum + read, 0);
  const most = Math.max(1, remote * (users + groups));
  return (
    <div class="connect-progress">
      <p role="status">
        {refresh.startedMs !== null && (
          <>
            {t("targets.refresh_since")} <Time models={models} atMs={refresh.startedMs} />.{" "}
          </>
        )}
        {refresh.read.map(({ backend, kind, read }) =>
          t(kind === "group" ? "targets.refresh_groups" : "targets.refresh_users", { backend, count: read })
        ).join(" · ")}
      </p>
      <progress aria-label={t("targets.refresh")} max={most} value={Math.min(done, most)} />
    </div>
  );
}

const MAX_SHOWN = 50;

function PendingWrites({ models, target: { owed } }: TargetPart) {
  if (owed.length === 0) return null;
  return (
    <Panel title={t("targets.owed")}>
      <ul class="people-list">
        {owed.slice(0, MAX_SHOWN).map((write) => (
          <li key={write.id}>
            <bdi class="mono">{write.name}</bdi>
            <span class="quiet">
              {t(`targets.operation_${write.operation}`)} → {write.backend} ·{" "}
              <Time models={models} atMs={write.sinceMs} />
            </span>
            {write.nextMs === null && (
              <StateText words={{ tone: "bad", shape: "cross", label: t("targets.dead_letter") }} />
            )}
            {write.why !== null && (
              <span class="quiet">
                <bdi>{write.why}</bdi>
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

interface SettingsProps {
  readonly models: Models;
  readonly directory: Directory;
  /** Why they cannot be changed. */
  readonly reason: string | undefined;
  readonly onSaved: OnDirectorySaved;
}

function DirectorySettings({ models, directory, reason, onSaved }: SettingsProps) {
  const isOpen = useSignal(false);
  const { table, changed } = directory;
  return (
    <Panel title={t("shell.settings")}>
      <div class="people-fields">
        {DIRECTORY_ROWS.map(({ name, preset }) => (
          <ReadOnlyField key={name} label={t(`targets.field_${name}`)} hint={t(`targets.hint_${name}`)}>
            {String(table[name] ?? preset)}
          </ReadOnlyField>
        ))}
        <ReadOnlyField label={t("targets.field_extensions")} hint={t("targets.hint_extensions")}>
          {extensionNames(table).join(", ") || t("targets.no_extensions")}
        </ReadOnlyField>
      </div>
      {changed !== null && (
        <p class="quiet">
          {t("common.changed_by_name", { name: changed.by })} <Time models={models} atMs={changed.atMs} />
        </p>
      )}
      <Button reason={reason} onClick={() => isOpen.value = true}>{t("targets.edit_settings")}</Button>
      {isOpen.value && (
        <SettingsDialog
          {...{ models, directory, onSaved }}
          onClose={() => isOpen.value = false}
        />
      )}
    </Panel>
  );
}

interface DialogProps extends Omit<SettingsProps, "reason"> {
  readonly onClose: () => void;
}

function SettingsDialog({ models, directory, onSaved, onClose }: DialogProps) {
  const texts = {
    page_size: useSignal(textOf(directory.table.page_size)),
    max_drop_percent: useSignal(textOf(directory.table.max_drop_percent)),
  };
  const extensions = useSignal(directory.table.extensions ?? "");
  const problems = useSignal<Readonly<Record<string, string>>>({});
  const save = async () => {
    const { page_size: _size, max_drop_percent: _drop, extensions: _schemas, ...rest } = directory.table;
    const table: Record<string, unknown> = rest;
    const schemas = extensions.value.trim();
    if (schemas !== "") table.extensions = schemas;
    const bad: Record<string, string> = {};
    for (const { name, min, max } of DIRECTORY_ROWS) {
      const text = texts[name].value.trim();
      if (text === "") continue;
      if (/^\d{1,4}$/.test(text) && Number(text) >= min && Number(text) <= max) table[name] = Number(text);
      else bad[name] = t("common.not_in_range", { min, max });
    }
    problems.value = bad;
    if (Object.keys(bad).length > 0) return "stay" as const;
    const saved = await saveDirectory(models, directory, table as DirectoryTable);
    if (saved.kind === "faults") {
      const ofExtensions = saved.faults.filter(({ key }) => key.endsWith(".extensions"));
      const others = saved.faults.filter((fault) => !ofExtensions.includes(fault));
      const texts = { page_size: others, extensions: ofExtensions };
      problems.value = Object.fromEntries(
        Object.entries(texts).map(([name, faults]) => [name, faults.map(sentenceText).join(" ")]),
      );
      return "stay" as const;
    }
    return await onSaved(t("targets.settings_saved"), saved);
  };
  return (
    <FormDialog
      title={t("targets.edit_settings")}
      submitLabel={t("targets.save_settings")}
      failureTitle={t("targets.not_saved")}
      onSubmit={save}
      onClose={onClose}
    >
      {DIRECTORY_ROWS.map(({ name, preset }) => (
        <TextField
          key={name}
          id={`directory-${name}`}
          label={t(`targets.field_${name}`)}
          hint={t(`targets.hint_${name}`)}
          problem={problems.value[name] ?? null}
          text={texts[name]}
          input={{
            inputMode: "numeric",
            maxLength: 4,
            placeholder: t("common.default_value", { value: preset }),
          }}
        />
      ))}
      <TextAreaField
        id="directory-extensions"
        label={t("targets.field_extensions")}
        hint={t("targets.hint_extensions")}
        problem={problems.value.extensions ?? null}
        input={{
          rows: 6,
          spellcheck: false,
          autocomplete: "off",
          maxLength: 24_000,
          value: extensions.value,
          onInput: (event) => extensions.value = event.currentTarget.value,
        }}
      />
    </FormDialog>
  );
}

const textOf = (value: number | undefined) => value === undefined ? "" : String(value);

/** Why a directory cannot be changed here, or that its stored settings are not used. */
function DirectoryNotes({ directory }: { directory: Directory }) {
  return (
    <>
      {directory.locked === "file" && (
        <Alert tone="idle">
          {t("common.set_in")} <bdi class="mono wrap">{directory.file ?? t("targets.the_file")}</bdi>
        </Alert>
      )}
      {directory.cause !== null && (
        <Alert tone="bad" role="alert">
          {t("targets.not_used")} {faultText(directory.cause)}
        </Alert>
      )}
    </>
  );
}
