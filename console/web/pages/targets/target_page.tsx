// The page of a target: its backends, refresh, pending writes, mapping preview, and settings.

import type { OneTarget } from "../../../api/targets/target_types.ts";
import { useAction } from "../../app/action.ts";
import type { PageProps } from "../../app/app_context.ts";
import { type Resource, useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { AuditLink, PageBar, Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { backendLabel } from "../../components/backend_results.tsx";
import { MappingEditor } from "./mapping_editor.tsx";
import { fetchTarget, retryBackend, startTargetRefresh, testBackend } from "./target_calls.ts";

const POLL_INTERVAL_MS = 1000;

export interface TargetPart extends Pick<PageProps, "models"> {
  readonly target: OneTarget;
  readonly page: Resource<OneTarget>;
}

export default function TargetPage({ models, params }: PageProps) {
  const name = params.id ?? "";
  const page = useResource(models, { fetch: () => fetchTarget(models, name), inputs: [name] });
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
        {(target) => (
          <>
            <Backends models={models} target={target} page={page} />
            <Refresh models={models} target={target} page={page} />
            <PendingWrites models={models} target={target} page={page} />
            <MappingEditor models={models} target={target} />
            <TargetSettings target={target} />
          </>
        )}
      </Fetched>
    </main>
  );
}

function Backends({ models, target, page }: TargetPart) {
  const action = useAction();
  const run = (call: () => Promise<OneTarget>, said: string) =>
    action.run(async () => {
      page.set(await call());
      models.toasts.show(said, { tone: "ok" });
    });
  const mayTest = permissionHint(models, "operator");
  const mayRetry = permissionHint(models, "user_manager");
  return (
    <Panel title={t("common.backends")}>
      <p class="quiet">{t("targets.order_why")}</p>
      <ErrorAlert of={action.fault} />
      <ol class="people-list connect-order">
        {target.backends.map((row) => (
          <li key={row.name}>
            <strong class="mono">{row.name}</strong>
            <span class="quiet">
              {row.kind} · {t(`targets.mode_${row.mode}`)} · {t("targets.read_write")}
            </span>
            <StateText words={backendLabel(row)} />
            {row.lastGoodMs !== null && (
              <span class="quiet">
                {t("common.last_good")} <Time models={models} atMs={row.lastGoodMs} />
              </span>
            )}
            {row.lastFault !== null && (
              <span class="quiet">
                {t("targets.last_fault")} <Time models={models} atMs={row.lastFault.atMs} />:{" "}
                <bdi>{row.lastFault.detail}</bdi>
              </span>
            )}
            {row.owed + row.dead > 0 && <span>{t("targets.owes", { owed: row.owed, dead: row.dead })}</span>}
            {row.kind === "store" ? <span class="quiet">{t("targets.store_untested")}</span> : (
              <Button
                small
                disabled={action.busy.value}
                reason={mayTest}
                of={row.name}
                onClick={() => run(() => testBackend(models, target.name, row.name), t("targets.tested"))}
              >
                {t("common.test")}
              </Button>
            )}
            {row.dead > 0 && (
              <Button
                small
                disabled={action.busy.value}
                reason={mayRetry}
                of={row.name}
                onClick={() => run(() => retryBackend(models, target.name, row.name), t("targets.retried"))}
              >
                {t("common.try_again")}
              </Button>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Refresh({ models, target, page }: TargetPart) {
  const { refresh } = target;
  const action = useAction();
  const reason = permissionHint(models, "user_manager") ??
    (target.backends.every(({ kind }) => kind === "store") ? t("targets.refresh_nothing") : undefined);
  const begin = () =>
    action.run(async () => {
      page.set(await startTargetRefresh(models, target.name));
      models.toasts.show(t("targets.refresh_begun"), { tone: "ok" });
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
          {t("targets.refresh_report", {
            created: report.created,
            updated: report.updated,
            unchanged: report.unchanged,
            vanished: report.vanished,
            deleted: report.deleted,
          })}
          {report.faults.map(({ backend, detail, kind }) => (
            <p key={backend}>
              <strong class="mono">{backend}</strong>: {kind === "deletion_limit" && t("targets.brake")}{" "}
              <bdi>{detail}</bdi>
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

function TargetSettings({ target: { settings } }: Pick<TargetPart, "target">) {
  return (
    <Panel title={t("targets.settings")}>
      <p class="quiet">{t("targets.settings_why")}</p>
      <dl class="connect-facts">
        {settings.map(({ name, value }) => (
          <div key={name}>
            <dt class="mono">{name}</dt>
            <dd class="mono">
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
