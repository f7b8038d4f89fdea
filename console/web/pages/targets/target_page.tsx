// The page of a target: its connectors, refresh, pending writes, mapping, and settings.

import type { RefreshState } from "../../../api/targets/target_types.ts";
import { useAction } from "../../app/action.ts";
import type { PageProps } from "../../app/app_context.ts";
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
  showSaved,
} from "./directory_calls.ts";
import { DirectoryConflictDialog } from "./directory_conflict.tsx";
import { RemoveDirectory } from "./directory_dialogs.tsx";
import { DirectoryNotes, DirectorySettings } from "./directory_settings.tsx";
import { MappingEditor } from "./mapping_editor.tsx";
import { readOnlyOf } from "./mapping_form.ts";
import { fetchTarget, startTargetRefresh } from "./target_calls.ts";

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
