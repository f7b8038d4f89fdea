// One login in detail: the inspector beside the list with tabs, and the same content as a page.

import type { ConversationView } from "../../../../radius/ports.ts";
import { stateLabel } from "../../app/login_state_labels.ts";
import { ErrorState, Skeleton } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { Chip } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import {
  currentInspectorTab,
  INSPECTOR_PANEL_ID,
  InspectorTabs,
  showInspectorTab,
  tabId,
} from "./inspector_tabs.tsx";
import { type LoginSource, type ShownLogin, useLoginDetails } from "./login_details.ts";
import { LoginSteps } from "./login_steps.tsx";
import { LoginReason, LoginSummary } from "./login_summary.tsx";
import { PacketsView } from "./packets_view.tsx";
import { ReplayBar, replayTimeMs } from "./replay_bar.tsx";

interface InspectorPanelProps extends LoginSource {
  readonly close: () => void;
}

export function InspectorPanel({ close, ...source }: InspectorPanelProps) {
  const { models, id } = source;
  const login = useLoginDetails(source);
  const { view, details } = login;
  const tab = currentInspectorTab(models);
  return (
    <aside class="panel inspector" aria-label={t("live.chosen")}>
      <header class="inspector-head">
        <div class="inspector-title">
          <h2>
            <bdi>{view === null ? t("shell.conversation") : view.user || t("live.no_name")}</bdi>
          </h2>
          {view !== null && <Chip words={stateLabel(view)} />}
          <button type="button" class="button button-small button-plain close" onClick={close}>
            <Icon name="line-close" size={14} />
            <span class="unseen">{t("common.close")}</span>
          </button>
        </div>
        {view !== null && <LoginReason models={models} view={view} details={details} />}
        <InspectorTabs models={models} />
      </header>
      <div
        class="body"
        id={INSPECTOR_PANEL_ID}
        role="tabpanel"
        aria-labelledby={tabId(tab)}
        tabIndex={0}
        key={tab}
      >
        <LoginProblem login={login} />
        {view !== null && tab === "summary" && <LoginSummary models={models} view={view} details={details} />}
        {view !== null && tab === "steps" && (
          <LoginSteps view={view} atMs={replayTimeMs(models.router, view)} />
        )}
        {view !== null && tab === "packets" && <Packets source={source} login={login} view={view} />}
      </div>
      {view !== null && (
        <footer class="inspector-foot">
          <ReplayBar
            models={models}
            view={view}
            packets={details?.packets ?? []}
            // The replay shows nothing in the summary.
            onPlay={() => tab === "summary" && showInspectorTab(models, "steps")}
          >
            <a class="button button-small" href={pageHref(id, models.router.param("t"))}>
              {t("live.full_page")}
            </a>
          </ReplayBar>
        </footer>
      )}
    </aside>
  );
}

/** The page of a login, at a time of its replay. */
export function pageHref(id: string, replay: string): string {
  return `/live/c/${encodeURIComponent(id)}${replay === "" ? "" : `?t=${encodeURIComponent(replay)}`}`;
}

/** The login as a page: everything below each other, on wide screens in two columns. */
export function LoginPageBody(source: LoginSource) {
  const { models } = source;
  const login = useLoginDetails(source);
  const { view, details } = login;
  if (view === null) {
    return (
      <div class="panel login-part">
        <LoginProblem login={login} />
      </div>
    );
  }
  const atMs = replayTimeMs(models.router, view);
  return (
    <>
      <div class="panel login-part login-top">
        <div class="inspector-title">
          <Chip words={stateLabel(view)} />
          <LoginReason models={models} view={view} details={details} />
        </div>
        <ReplayBar models={models} view={view} packets={details?.packets ?? []} />
      </div>
      <LoginProblem login={login} />
      <div class="login-columns">
        <div class="panel login-part">
          <h2>{t("live.summary")}</h2>
          <LoginSummary models={models} view={view} details={details} />
          <h2>{t("live.steps")}</h2>
          <LoginSteps view={view} atMs={atMs} />
        </div>
        <div class="panel login-part">
          <h2>{t("live.packets")}</h2>
          <Packets source={source} login={login} view={view} />
        </div>
      </div>
    </>
  );
}

interface PacketsProps {
  readonly source: LoginSource;
  readonly login: ShownLogin;
  readonly view: ConversationView;
}

function Packets({ source: { models }, login: { details }, view }: PacketsProps) {
  if (details === null) return null;
  return (
    <PacketsView
      view={view}
      packets={details.packets}
      atMs={replayTimeMs(models.router, view)}
      port={details.radiusPort}
    />
  );
}

/** Why the details are missing or out of date, or that they are being loaded. */
function LoginProblem({ login: { resource, view } }: { login: ShownLogin }) {
  const state = resource.state.value;
  const problem = state.kind === "failed" ? state.message : resource.problem.value;
  if (problem !== null) {
    return (
      <ErrorState title={t("live.could_not_fetch")} onRetry={() => void resource.reload()}>
        {problem}
      </ErrorState>
    );
  }
  return view === null ? <Skeleton rows={4} /> : null;
}
