// One login in detail: its result and the reason, its steps, its packets, and a replay of them.

import { useEffect } from "preact/hooks";
import type { ConversationView, PacketRecord } from "../../../../radius/ports.ts";
import type { LoginDetails } from "../../../api/conversations/live_routes.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { fullTimeText, offsetText, secondsText, spanText } from "../../app/format.ts";
import { userHref } from "../../app/routes.ts";
import { messageOrName, momentLabel, stateLabel } from "../../app/login_state_labels.ts";
import { useResource } from "../../app/resource.ts";
import { ErrorState, Skeleton } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { Chip } from "../../components/status.tsx";
import { TimeLeft } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { ExplanationText, SimilarUserText } from "./explanation_text.tsx";
import { PacketsView } from "./packets_view.tsx";
import { useSignal } from "@preact/signals";
import { useShortcuts } from "../../app/shortcuts.ts";
import { CopyButton } from "../../components/button.tsx";

interface InspectorProps {
  readonly models: Models;
  readonly id: string;
  /** The login from the stream, newer than the fetched one; `null` without a stream. */
  readonly view: ConversationView | null;
  /** Called with the name of the user when it is known. */
  readonly onUser?: (name: string) => void;
}

export function LoginInspector({ models, id, view, onUser }: InspectorProps) {
  const details = useResource<LoginDetails>(models, {
    fetch: () => take(models.api.live.logins[":id"].$get({ param: escapeParams({ id }) })),
    inputs: [id, view?.moments.length, view?.outcome],
  });
  const fetched = details.state.value;
  const shown = view ?? (fetched.kind === "ready" ? fetched.value.view : null);
  useEffect(() => {
    if (shown !== null) onUser?.(shown.user);
  }, [shown?.user]);
  if (shown === null) {
    return fetched.kind === "failed"
      ? (
        <ErrorState title={t("live.could_not_fetch")} onRetry={() => void details.reload()}>
          {fetched.message}
        </ErrorState>
      )
      : <Skeleton rows={4} />;
  }
  const value = fetched.kind === "ready" ? fetched.value : null;
  const explanation = value?.explanation ?? null;
  const similar = value?.similar ?? null;
  const isExplained = explanation !== null && shown.outcome !== null;
  const atMs = replayTimeMs(models.router, shown);
  return (
    <>
      <div class="verdict">
        <Chip words={stateLabel(shown)} />
        {isExplained
          ? <ExplanationText explanation={explanation} similar={similar} />
          : similar !== null && <SimilarUserText similar={similar} client={shown.client} />}
      </div>
      <Facts models={models} view={shown} node={value?.node ?? null} />
      <ReplayBar models={models} view={shown} packets={value?.packets ?? []} />
      <Steps view={shown} atMs={atMs} />
      {details.problem.value !== null && (
        <ErrorState
          title={t("live.could_not_fetch")}
          onRetry={() => void details.reload()}
        >
          {details.problem.value}
        </ErrorState>
      )}
      {value !== null && (
        <PacketsView view={shown} packets={value.packets} atMs={atMs} port={value.radiusPort} />
      )}
    </>
  );
}

interface FactsProps {
  readonly models: Models;
  readonly view: ConversationView;
  /** The node that handles the login; `null` while there is one node. */
  readonly node: string | null;
}

function Facts({ models, view, node }: FactsProps) {
  const { user, client, source, place, factor, phone, startedMs, updatedMs, deadlineMs, outcome } = view;
  return (
    <dl class="facts">
      <dt>{t("live.user")}</dt>
      <dd>
        <a href={userHref(user, "")}>
          <bdi>{user}</bdi>
        </a>
      </dd>
      <dt>{t("live.client")}</dt>
      <dd class="mono">{client}</dd>
      <dt>{t("live.client_address")}</dt>
      <dd class="mono">{source}</dd>
      {place !== "" && <dt>{t("live.caller")}</dt>}
      {place !== "" && <dd class="mono">{place}</dd>}
      <dt>{t("live.factor")}</dt>
      <dd>
        {t(`live.factor_${factor ?? (outcome === null ? "none" : "not_passed")}`)}
        {phone !== undefined && <bdi>{` · ${phone}`}</bdi>}
      </dd>
      {node !== null && <dt>{t("live.node")}</dt>}
      {node !== null && <dd class="mono">{node}</dd>}
      <dt>{t("live.started")}</dt>
      <dd class="mono">{fullTimeText(startedMs)}</dd>
      <dt>{t(outcome === null ? "live.time_left" : "live.took")}</dt>
      {outcome === null
        ? (
          <dd>
            <TimeLeft
              startMs={startedMs}
              deadlineMs={deadlineMs}
              nowMs={models.clock.nowMs.value}
              label={t("live.time_left")}
            />
          </dd>
        )
        : <dd class="mono">{spanText(updatedMs - startedMs)}</dd>}
    </dl>
  );
}

/** The explanation above covers the end of a failed login. */
function isExplained(at: number, { moments, outcome }: ConversationView): boolean {
  return at === moments.length - 1 && outcome !== null && outcome !== "accepted";
}

/** @param props.atMs the time of the replay. Later steps are dimmed. */
function Steps({ view, atMs }: { view: ConversationView; atMs: number }) {
  return (
    <section aria-label={t("live.steps")}>
      <h2>{t("live.steps")}</h2>
      <ol class="moments">
        {view.moments.map((moment, at) => {
          const words = momentLabel(moment.step);
          return (
            <li key={at} class={`tone-${words.tone} ${moment.atMs > atMs ? "to-come" : ""}`}>
              <span class="at mono" title={fullTimeText(moment.atMs)}>
                {offsetText(moment.atMs - view.startedMs)}
              </span>
              <Icon name={`line-${words.shape}`} size={14} />
              <span>
                {words.label}
                {!isExplained(at, view) && (
                  <span class="why">{messageOrName(`explain.row_${moment.row}`, moment.row)}</span>
                )}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

interface InspectorPanelProps {
  readonly models: Models;
  readonly id: string;
  /** The login from the stream; `null` if it is not among the newest. */
  readonly view: ConversationView | null;
  readonly close: () => void;
}

export function InspectorPanel({ models, id, view, close }: InspectorPanelProps) {
  return (
    <aside class="panel inspector" aria-label={t("live.chosen")}>
      <div class="panel-head">
        <h2 class="mono">{view === null ? t("live.login") : view.user || t("live.no_name")}</h2>
        <a class="button button-small button-plain" href={`/live/c/${encodeURIComponent(id)}`}>
          {t("live.full_page")}
        </a>
        <button type="button" class="button button-small button-plain" onClick={close}>
          <Icon name="line-close" size={14} />
          <span class="unseen">{t("common.close")}</span>
        </button>
      </div>
      <div class="body" tabIndex={0} role="group" aria-label={t("live.details")}>
        <LoginInspector models={models} id={id} view={view} />
      </div>
    </aside>
  );
}

const FRAME_MS = 100;
/** The replay continues after the end, so that the end is visible. */
const BEYOND_MS = 500;

type Timed = Pick<ConversationView, "startedMs" | "updatedMs">;

/** The replay time in the address, in milliseconds since the epoch; `Infinity` without one. */
export function replayTimeMs(router: Models["router"], { startedMs }: Timed): number {
  const seconds = Number.parseFloat(router.param("t"));
  return Number.isFinite(seconds) ? startedMs + seconds * 1000 : Infinity;
}

interface ReplayProps {
  readonly models: Models;
  readonly view: ConversationView;
  readonly packets: readonly PacketRecord[];
}

export function ReplayBar({ models: { router }, view, packets }: ReplayProps) {
  const speed = useSignal(0);
  const lengthMs = Math.max(1, view.updatedMs - view.startedMs) + BEYOND_MS;
  const atMs = Math.min(lengthMs, replayTimeMs(router, view) - view.startedMs);
  const isWhole = atMs >= lengthMs;
  const show = (offsetMs: number) => router.setParams({ t: String(Math.max(0, offsetMs / 1000)) });
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
    { keys: "r", label: "live.key_replay", run: () => speed.value = speed.peek() === 0 ? 1 : 0 },
  ]);
  const stepOn = () => {
    const times = [...view.moments, ...packets].map((one) => one.atMs - view.startedMs).sort((a, b) => a - b);
    const from = isWhole ? -1 : atMs;
    show(times.find((time) => time > from) ?? times[0] ?? 0);
  };
  const reached = view.moments.findLast((moment) => moment.atMs <= view.startedMs + atMs);
  const seconds = secondsText(atMs);
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
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <span class="mono number">{seconds}</span>
      <button type="button" class="button button-small" onClick={stepOn}>{t("live.replay_step")}</button>
      {speed.value === 0
        ? (
          <>
            <button type="button" class="button button-small" onClick={() => speed.value = 1}>
              {t("live.replay_play")}
            </button>
            <button
              type="button"
              class="button button-small"
              aria-label={t("live.replay_fast")}
              onClick={() => speed.value = 8}
            >
              8×
            </button>
          </>
        )
        : (
          <button type="button" class="button button-small" onClick={() => speed.value = 0}>
            {t("live.replay_stop")}
          </button>
        )}
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
    </section>
  );
}
