// Campaigns: their progress, who was not invited and why, and how many users enrolled.

import { useSignal } from "@preact/signals";
import type { CampaignView } from "../../../api/enrolment/campaigns.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { readyValue, useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, Fetched } from "../../components/alert.tsx";
import { Button, ExportButton } from "../../components/button.tsx";
import { lazy } from "../../components/lazy.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { type RowActions, useRows } from "../../components/row_actions.tsx";
import { Chip } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { cancelCampaign, fetchCampaigns, skipReasons } from "./enrolment_calls.ts";

const InviteDialog = lazy(async () => (await import("./invite_dialog.tsx")).InviteDialog);
const DeadlineDialog = lazy(async () => (await import("./deadline_dialog.tsx")).DeadlineDialog);

const POLL_INTERVAL_MS = 2000;
const LOOKS = {
  running: { tone: "wait", shape: "clock" },
  done: { tone: "ok", shape: "check" },
  cancelled: { tone: "idle", shape: "info" },
} as const;

/** The dialog: for a new campaign, or the deadline of one. */
type OpenDialog = "invite" | CampaignView | null;

export default function CampaignsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchCampaigns(models), inputs: [] });
  const open = useSignal<OpenDialog>(null);
  const reason = permissionHint(models, "user_manager");
  const campaigns = readyValue(list.state.value)?.campaigns ?? [];
  const isRunning = campaigns.some(({ state }) => state === "running");
  useInterval(POLL_INTERVAL_MS, () => isRunning ? list.reload() : Promise.resolve());
  const rows = useRows(models, list);
  const invite = () => open.value = "invite";
  const close = () => open.value = null;
  const reload = () => void list.reload();
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.campaigns")} back={{ href: "/enrolment", label: t("shell.enrolment") }}>
        <Button kind="primary" icon="user-plus" reason={reason} onClick={invite}>
          {t("enrolment.invite")}
        </Button>
      </PageBar>
      <Fetched resource={list} failed="common.unread" old="common.old">
        {({ campaigns }) =>
          campaigns.length === 0
            ? (
              <EmptyState title={t("enrolment.no_campaigns")} next={t("enrolment.no_campaigns_next")}>
                <Button reason={reason} onClick={invite}>{t("enrolment.invite")}</Button>
              </EmptyState>
            )
            : (
              <ul class="campaigns" aria-label={t("shell.campaigns")}>
                {campaigns.map((campaign) => (
                  <CampaignPanel
                    key={campaign.id}
                    {...{ models, campaign, reason }}
                    cancel={cancelAction(models, rows, campaign)}
                    onDeadline={() => open.value = campaign}
                  />
                ))}
              </ul>
            )}
      </Fetched>
      {open.value === "invite" && (
        <InviteDialog models={models} choice={null} onClose={close} onStarted={reload} />
      )}
      {open.value !== null && open.value !== "invite" && (
        <DeadlineDialog
          models={models}
          choice={{ campaign: open.value.id }}
          onClose={close}
          onChanged={reload}
        />
      )}
    </main>
  );
}

interface CampaignPanelProps {
  readonly models: Models;
  readonly campaign: CampaignView;
  readonly reason: string | undefined;
  readonly cancel: MenuItem;
  readonly onDeadline: () => void;
}

function CampaignPanel({ models, campaign, reason, cancel, onDeadline }: CampaignPanelProps) {
  const { id, name, state, wait, createdMs, by, total, done, invited, skipped } = campaign;
  return (
    <li class="panel people-panel">
      <h2>
        <bdi>{name}</bdi> <Chip words={{ ...LOOKS[state], label: t(`enrolment.state_${state}`) }} />
      </h2>
      <p class="quiet small">
        {sourceText(campaign)} · {t("enrolment.started_by", { name: by })}{" "}
        <Time models={models} atMs={createdMs} />
      </p>
      {state === "running" && (
        <p>
          <span role="status">
            {t("enrolment.progress", { done: countText(done), total: countText(total) })}
          </span>{" "}
          <progress
            aria-label={t("enrolment.progress_of", { name })}
            max={Math.max(1, total)}
            value={done}
          />
        </p>
      )}
      {wait !== null && state === "running" && (
        <Alert tone="wait" icon="clock">{t(`enrolment.wait_${wait}` as MessageKey)}</Alert>
      )}
      <Figures campaign={campaign} />
      {Object.keys(skipped).length > 0 && (
        <details>
          <summary>{t("enrolment.skipped", { count: total - invited - (total - done) })}</summary>
          <ul class="people-consequences">
            {skipReasons(skipped).map(([one, count]) => (
              <li key={one}>
                {t("enrolment.preview_skipped", {
                  count,
                  reason: t(`enrolment.reason_${one}` as MessageKey),
                })}
              </li>
            ))}
          </ul>
        </details>
      )}
      <div class="campaign-actions">
        <a class="button button-small" href={`/enrolment?campaign=${encodeURIComponent(id)}`}>
          {t("enrolment.show_users")}
        </a>
        <ExportButton
          small
          models={models}
          from={`enrolment/campaigns/${encodeURIComponent(id)}/export`}
          query={{}}
          file="campaign.csv"
          texts={{ label: "enrolment.export_results", failed: "common.export_failed" }}
        />
        <Button small reason={reason} of={name} onClick={onDeadline}>
          {t("enrolment.change_deadline")}
        </Button>
        {(state === "running" || (state === "done" && campaign.options.reminders)) && (
          <Button small kind="bad" reason={cancel.reason} of={name} onClick={cancel.run}>
            {cancel.label}
          </Button>
        )}
      </div>
    </li>
  );
}

function Figures({ campaign: { invited, enrolled, reminded, options } }: { campaign: CampaignView }) {
  const parts = [
    t("enrolment.figure_invited", { count: invited }),
    t("enrolment.figure_enrolled", { count: enrolled }),
    ...reminded > 0 ? [t("enrolment.figure_reminded", { count: reminded })] : [],
    ...options.deadlineDays > 0 ? [t("enrolment.figure_deadline", { count: options.deadlineDays })] : [],
  ];
  return <p>{parts.join(" · ")}</p>;
}

function sourceText({ source, total }: CampaignView): string {
  const count = { count: total };
  switch (source.kind) {
    case "group":
      return t("enrolment.source_group", { ...count, group: source.group });
    case "import":
      return t("enrolment.source_import", { ...count, file: source.file });
    case "filter":
      return t("enrolment.source_filter", count);
    case "users":
      return t("enrolment.source_users", count);
  }
}

/** Ends a running campaign, or its reminders. */
function cancelAction(models: Models, rows: RowActions, { id, name, state }: CampaignView): MenuItem {
  const isRunning = state === "running";
  return rows.action({
    label: t(isRunning ? "enrolment.cancel" : "enrolment.stop_reminders"),
    needs: "user_manager",
    isBad: true,
    ask: {
      title: t(isRunning ? "enrolment.cancel_title" : "enrolment.stop_title", { name }),
      text: t("enrolment.cancel_what"),
    },
    run: async () => void await cancelCampaign(models, id),
  });
}
