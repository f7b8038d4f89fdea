// One target: its backends with what is owed to them, a refresh with its report, its settings, and its mapping tried on a real user.

import { useSignal } from "@preact/signals";
import type { OneTarget } from "../../api/targets/target_types.ts";
import { whyNot } from "../access_words.ts";
import { fetchTarget, refreshTarget, retryBackend, testBackend } from "../models/connect_calls.ts";
import { useDeed } from "../models/deed.ts";
import { useEvery } from "../models/every.ts";
import { type Resource, useResource } from "../models/resource.ts";
import { Button } from "../parts/button.tsx";
import { backendWords } from "../parts/connect/backend_state.tsx";
import { Fetched } from "../parts/connect/fetched.tsx";
import { late } from "../parts/late.tsx";
import { Note, Problem } from "../parts/note.tsx";
import { AuditLink } from "../parts/audit_link.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Panel } from "../parts/panel.tsx";
import { Status } from "../parts/status.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

const MappingEditor = late(async () => (await import("../parts/connect/mapping_editor.tsx")).MappingEditor);
const REFRESH_LOOK_MS = 1000;

export interface TargetPart extends Pick<PageProps, "models"> {
  readonly target: OneTarget;
  readonly page: Resource<OneTarget>;
}

export default function TargetPage({ models, params }: PageProps) {
  const name = params.id ?? "";
  const page = useResource(models, { fetch: () => fetchTarget(models, name), inputs: [name] });
  useEvery(REFRESH_LOOK_MS, () => {
    const state = page.state.peek();
    if (state.kind === "ready" && state.value.refresh.running) void page.reload();
  });
  return (
    <main class="page" id="page">
      <PageBar title={name} back={{ href: "/targets", label: t("connect.all_targets") }}>
        <AuditLink object={`target:${name}`} />
      </PageBar>
      <Fetched resource={page}>
        {(target) => (
          <>
            <Backends models={models} target={target} page={page} />
            <Refresh models={models} target={target} page={page} />
            <Owed models={models} target={target} page={page} />
            <MappingEditor models={models} target={target} />
            <Settings target={target} />
          </>
        )}
      </Fetched>
    </main>
  );
}

function Backends({ models, target, page }: TargetPart) {
  const deed = useDeed();
  const busy = useSignal("");
  const run = async (backend: string, call: () => Promise<OneTarget>, said: string) => {
    busy.value = backend;
    await deed.run(async () => {
      page.put(await call());
      models.toasts.say(said, { tone: "ok" });
    });
    busy.value = "";
  };
  const mayTest = whyNot(models, "operator");
  const mayRetry = whyNot(models, "user_manager");
  return (
    <Panel title={t("connect.backends")}>
      <p class="quiet">{t("connect.order_why")}</p>
      <Problem of={deed.fault} />
      <ol class="people-list connect-order">
        {target.backends.map((row) => (
          <li key={row.name}>
            <strong class="mono">{row.name}</strong>
            <span class="quiet">
              {row.kind} · {t(`connect.mode_${row.mode}`)} · {t("connect.read_write")}
            </span>
            <Status words={backendWords(row)} />
            {row.lastGoodMs !== null && (
              <span class="quiet">
                {t("connect.last_good")} <Time models={models} atMs={row.lastGoodMs} />
              </span>
            )}
            {row.lastFault !== null && (
              <span class="quiet">
                {t("connect.last_fault")} <Time models={models} atMs={row.lastFault.atMs} />:{" "}
                <bdi>{row.lastFault.detail}</bdi>
              </span>
            )}
            {row.owed + row.dead > 0 && <span>{t("connect.owes", { owed: row.owed, dead: row.dead })}</span>}
            {row.kind === "store" ? <span class="quiet">{t("connect.store_untested")}</span> : (
              <Button
                small
                disabled={busy.value === row.name}
                reason={mayTest}
                of={row.name}
                onClick={() =>
                  run(row.name, () => testBackend(models, target.name, row.name), t("connect.tested"))}
              >
                {t("connect.test")}
              </Button>
            )}
            {row.dead > 0 && (
              <Button
                small
                disabled={busy.value === row.name}
                reason={mayRetry}
                of={row.name}
                onClick={() =>
                  run(row.name, () => retryBackend(models, target.name, row.name), t("connect.retried"))}
              >
                {t("frame.try_again")}
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
  const deed = useDeed();
  const reason = whyNot(models, "user_manager") ??
    (target.backends.every(({ kind }) => kind === "store") ? t("connect.refresh_nothing") : undefined);
  const begin = () =>
    deed.run(async () => {
      page.put(await refreshTarget(models, target.name));
      models.toasts.say(t("connect.refresh_begun"), { tone: "ok" });
    });
  const { report } = refresh;
  return (
    <Panel title={t("connect.refresh")}>
      <p class="quiet">{t("connect.refresh_why")}</p>
      <Problem of={deed.fault} />
      {refresh.problem !== null && <Note tone="bad" role="alert">{refresh.problem}</Note>}
      {refresh.running && <Progress models={models} target={target} />}
      {report !== null && (
        <Note
          tone={report.faults.length === 0 ? "ok" : "wait"}
          role="status"
          icon={report.faults.length === 0 ? "check" : "alert"}
        >
          {t("connect.refresh_report", {
            created: report.created,
            updated: report.updated,
            unchanged: report.unchanged,
            vanished: report.vanished,
            deleted: report.deleted,
          })}
          {report.faults.map(({ backend, detail, kind }) => (
            <p key={backend}>
              <strong class="mono">{backend}</strong>: {kind === "brake" && t("connect.brake")}{" "}
              <bdi>{detail}</bdi>
            </p>
          ))}
        </Note>
      )}
      <Button
        disabled={refresh.running}
        reason={reason}
        onClick={begin}
      >
        {t("connect.refresh_begin")}
      </Button>
    </Panel>
  );
}

/** How much was read of how much is known: a backend may have more, so the bar may fill early. */
function Progress({ models, target: { refresh, users, groups, backends } }: Omit<TargetPart, "page">) {
  const remote = backends.filter(({ kind }) => kind !== "store").length;
  const done = refresh.read.reduce((sum, { read }) => sum + read, 0);
  const most = Math.max(1, remote * (users + groups));
  return (
    <div class="connect-progress">
      <p role="status">
        {refresh.startedMs !== null && (
          <>
            {t("connect.refresh_since")} <Time models={models} atMs={refresh.startedMs} />.{" "}
          </>
        )}
        {refresh.read.map(({ backend, kind, read }) =>
          t(kind === "group" ? "connect.refresh_groups" : "connect.refresh_users", { backend, count: read })
        ).join(" · ")}
      </p>
      <progress aria-label={t("connect.refresh")} max={most} value={Math.min(done, most)} />
    </div>
  );
}

const MOST_SHOWN = 50;

function Owed({ models, target: { owed } }: TargetPart) {
  if (owed.length === 0) return null;
  return (
    <Panel title={t("connect.owed")}>
      <ul class="people-list">
        {owed.slice(0, MOST_SHOWN).map((write) => (
          <li key={write.id}>
            <bdi class="mono">{write.name}</bdi>
            <span class="quiet">
              {t(`connect.operation_${write.operation}`)} → {write.backend} ·{" "}
              <Time models={models} atMs={write.sinceMs} />
            </span>
            {write.nextMs === null && (
              <Status words={{ tone: "bad", shape: "cross", label: t("connect.dead_letter") }} />
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

function Settings({ target: { settings } }: Pick<TargetPart, "target">) {
  return (
    <Panel title={t("connect.target_settings")}>
      <p class="quiet">{t("connect.target_settings_why")}</p>
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
