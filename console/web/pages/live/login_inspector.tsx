// One login in detail: the inspector beside the list with tabs, and the same content as a page.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ConversationView, PacketRecord } from "../../../../radius/ports.ts";
import type { LoginDetails } from "../../../api/conversations/live_routes.ts";
import {
  messageOrName,
  momentLabel,
  type StateLabel,
  stateLabel,
  type StateStyle,
} from "../../app/login_state_labels.ts";
import { ErrorState, Skeleton } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { Chip } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import type { Models } from "../../app/app_context.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";
import { fullTimeText, offsetText, secondsText, spanText } from "../../app/format.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { CopyButton } from "../../components/button.tsx";
import { LoginReason, LoginSummary } from "./login_summary.tsx";
import { PacketsView } from "./packets_view.tsx";
import type { LiveModels } from "./live_context.tsx";

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
function pageHref(id: string, replay: string): string {
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

// The tabs of the inspector, as the ARIA pattern for tabs describes them: arrow keys move, and only the current tab is a tab stop.

export const INSPECTOR_TABS = ["summary", "steps", "packets"] as const;
type InspectorTab = typeof INSPECTOR_TABS[number];

const TAB_LABELS = {
  summary: "live.summary",
  steps: "live.steps",
  packets: "live.packets",
} as const satisfies Record<InspectorTab, MessageKey>;

/** The id of the panel that the tabs show. */
const INSPECTOR_PANEL_ID = "inspector-panel";

/** The tab of the address, or the first one. */
function currentInspectorTab({ router }: Pick<Models, "router">): InspectorTab {
  const name = router.param("tab");
  return INSPECTOR_TABS.find((tab) => tab === name) ?? "summary";
}

function showInspectorTab({ router }: Pick<Models, "router">, tab: InspectorTab): void {
  router.setParams({ tab: tab === "summary" ? "" : tab });
}

const tabId = (tab: InspectorTab) => `inspector-tab-${tab}`;

/** The tab that a key selects; `null` for other keys. */
export function tabOfKey(key: string, current: InspectorTab): InspectorTab | null {
  const at = INSPECTOR_TABS.indexOf(current);
  const count = INSPECTOR_TABS.length;
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + count, Home: 0, End: count - 1 }[key];
  return next === undefined ? null : INSPECTOR_TABS[next % count] ?? null;
}

function InspectorTabs({ models }: { models: Pick<Models, "router"> }) {
  const current = currentInspectorTab(models);
  return (
    <div class="inspector-tabs" role="tablist" aria-label={t("live.details")}>
      {INSPECTOR_TABS.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={tabId(tab)}
          aria-selected={tab === current}
          aria-controls={INSPECTOR_PANEL_ID}
          tabIndex={tab === current ? 0 : -1}
          onClick={() => showInspectorTab(models, tab)}
          onKeyDown={(event) => {
            const next = tabOfKey(event.key, tab);
            if (next === null) return;
            event.preventDefault();
            showInspectorTab(models, next);
            document.getElementById(tabId(next))?.focus();
          }}
        >
          {t(TAB_LABELS[tab])}
        </button>
      ))}
    </div>
  );
}

// The details of one login: fetched again when the stream changes it.

interface LoginSource {
  readonly models: LiveModels;
  readonly id: string;
  /** The login from the stream, newer than the fetched one; `null` if it is not among the newest. */
  readonly view: ConversationView | null;
  /** Called with the name of the user when it is known. */
  readonly onUser?: (name: string) => void;
}

interface ShownLogin {
  readonly resource: Resource<LoginDetails>;
  /** `null` until it is fetched. */
  readonly details: LoginDetails | null;
  /** `null` until it is known. */
  readonly view: ConversationView | null;
}

function useLoginDetails({ models, id, view, onUser }: LoginSource): ShownLogin {
  const resource = useResource<LoginDetails>(models, {
    fetch: () => take(models.api.live.logins[":id"].$get({ param: escapeParams({ id }) })),
    inputs: [id, view?.moments.length, view?.outcome],
  });
  const details = readyValue(resource.state.value);
  const shown = view ?? details?.view ?? null;
  useEffect(() => {
    if (shown !== null) onUser?.(shown.user);
  }, [shown?.user]);
  return { resource, details, view: shown };
}

// The steps of one login as a timeline.

/** @param props.atMs the time of the replay. Later steps are dimmed. */
function LoginSteps({ view, atMs }: { view: ConversationView; atMs: number }) {
  return (
    <section aria-label={t("live.steps")}>
      <ol class="moments">
        {momentTexts(view.moments, view).map((words, at) => {
          const moment = view.moments[at] as ConversationView["moments"][number];
          return (
            <li key={at} class={`tone-${words.tone} ${moment.atMs > atMs ? "to-come" : ""}`}>
              <span class="at mono" title={fullTimeText(moment.atMs)}>
                {offsetText(moment.atMs - view.startedMs)}
              </span>
              <Icon name={`line-${words.shape}`} size={14} />
              <span>
                {words.label}
                {words.why !== null && !isExplained(at, view) && <span class="why">{words.why}</span>}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** The reason in the headline covers the end of a login. */
function isExplained(at: number, { moments, outcome }: ConversationView): boolean {
  return at === moments.length - 1 && outcome !== null;
}

/** The place of a decision of the phone or of an administrator (radius/conversation/conversation.ts). */
const DECISION_PLACE = "decided";

/** The label of an entry of the timeline, and what happened there if the label does not say it. */
interface MomentText extends StateLabel {
  readonly why: string | null;
}

/** The entries of a timeline. A step that an entry repeats is named once. @param phone the phone that was asked */
export function momentTexts(
  moments: readonly { readonly step: string; readonly row: string }[],
  { phone }: { readonly phone?: string | undefined } = {},
): MomentText[] {
  let before = "";
  return moments.map(({ step, row }) => {
    const why = messageOrName(`explain.row_${row}`, row);
    const words = momentLabel(step);
    if (step === DECISION_PLACE) {
      before = "";
      const label = phone !== undefined && ON_PHONE.has(row) ? `${why} · ${phone}` : why;
      return { ...row === "decided_approved" ? DECIDED.yes : DECIDED.no, label, why: null };
    }
    const isRepeated = words.label === before;
    before = words.label;
    if (isRepeated || why === words.label) return { ...words, label: why, why: null };
    return { ...words, why };
  });
}

const DECIDED = {
  yes: { tone: "ok", shape: "phone" },
  no: { tone: "bad", shape: "phone" },
} as const satisfies Record<string, StateStyle>;
/** Decisions that were made on the phone. */
const ON_PHONE: ReadonlySet<string> = new Set(["decided_approved", "decided_phone", "decided_wrong_number"]);

// The replay of one login: a player that moves the time of its steps and packets. The time is in the address.

const FRAME_MS = 100;
/** The replay continues after the end, so that the end is visible. */
const BEYOND_MS = 500;

type Timed = Pick<ConversationView, "startedMs" | "updatedMs">;

/** The replay time in the address, in milliseconds since the epoch; `Infinity` without one. */
function replayTimeMs(router: Models["router"], { startedMs }: Timed): number {
  const seconds = Number.parseFloat(router.param("t"));
  return Number.isFinite(seconds) ? startedMs + seconds * 1000 : Infinity;
}

interface ReplayProps {
  readonly models: Models;
  readonly view: ConversationView;
  readonly packets: readonly PacketRecord[];
  /** Called when the replay starts or moves. */
  readonly onPlay?: () => void;
  /** More actions after those of the replay. */
  readonly children?: ComponentChildren;
}

function ReplayBar({ models: { router }, view, packets, onPlay, children }: ReplayProps) {
  const speed = useSignal(0);
  const lengthMs = Math.max(1, view.updatedMs - view.startedMs) + BEYOND_MS;
  const atMs = Math.min(lengthMs, replayTimeMs(router, view) - view.startedMs);
  const isWhole = atMs >= lengthMs;
  const show = (offsetMs: number) => router.setParams({ t: String(Math.max(0, offsetMs / 1000)) });
  const play = (times: number) => {
    if (times > 0) onPlay?.();
    speed.value = times;
  };
  useEffect(() => {
    if (speed.value === 0) return;
    const timer = setInterval(() => {
      const now = replayTimeMs(router, view) - view.startedMs;
      const next = (now >= lengthMs ? 0 : now) + FRAME_MS * speed.value;
      show(Math.round(Math.min(next, lengthMs)));
      if (next >= lengthMs) speed.value = 0;
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [speed.value, lengthMs]);
  useShortcuts([
    { keys: "r", label: "live.key_replay", run: () => play(speed.peek() === 0 ? 1 : 0) },
  ]);
  const stepOn = () => {
    const times = [...view.moments, ...packets].map((one) => one.atMs - view.startedMs).sort((a, b) => a - b);
    const from = isWhole ? -1 : atMs;
    onPlay?.();
    show(times.find((time) => time > from) ?? times[0] ?? 0);
  };
  const reached = view.moments.findLast((moment) => moment.atMs <= view.startedMs + atMs);
  const seconds = isWhole ? spanText(view.updatedMs - view.startedMs) : secondsText(atMs);
  return (
    <section class="replay" aria-label={t("live.replay")}>
      <input
        type="range"
        min={0}
        max={lengthMs}
        step={10}
        value={isWhole ? lengthMs : atMs}
        aria-label={t("live.replay_at")}
        aria-valuetext={`${seconds} ${reached === undefined ? "" : momentLabel(reached.step).label}`}
        onInput={(event) => {
          onPlay?.();
          show(Number(event.currentTarget.value));
        }}
      />
      <span class="mono number">{seconds}</span>
      <button type="button" class="button button-small" onClick={stepOn}>{t("common.step")}</button>
      <PlayButtons isPlaying={speed.value !== 0} play={play} />
      {!isWhole && (
        <button
          type="button"
          class="button button-small"
          onClick={() => router.setParams({ t: "" })}
        >
          {t("live.replay_all")}
        </button>
      )}
      <CopyButton
        what={t("common.copy_link")}
        text={`${location.origin}/live/c/${encodeURIComponent(view.id)}${isWhole ? "" : `?t=${atMs / 1000}`}`}
      />
      {children}
    </section>
  );
}

function PlayButtons({ isPlaying, play }: { isPlaying: boolean; play: (speed: number) => void }) {
  if (isPlaying) {
    return (
      <button type="button" class="button button-small" onClick={() => play(0)}>
        {t("live.replay_stop")}
      </button>
    );
  }
  return (
    <>
      <button type="button" class="button button-small" onClick={() => play(1)}>
        {t("live.replay_play")}
      </button>
      <button
        type="button"
        class="button button-small"
        aria-label={t("live.replay_fast")}
        onClick={() => play(8)}
      >
        8×
      </button>
    </>
  );
}
