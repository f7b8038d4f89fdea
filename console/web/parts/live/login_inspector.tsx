// One login, closely: what became of it and why, each step on the way, its packets, and all of it played back.

import type { ConversationView } from "../../../../radius/ports.ts";
import type { LoginDetails } from "../../../api/conversations/live_details.ts";
import { take } from "../../api_client.ts";
import { fullTimeText, offsetText, spanText } from "../../format.ts";
import { useEffect } from "preact/hooks";
import type { Models } from "../../models/models.ts";
import { userHref } from "../../user_href.ts";
import { useResource } from "../../models/resource.ts";
import { momentWords, stateWords, wordOr } from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { ExplanationText, SimilarUserText } from "./explanation_text.tsx";
import { PacketsView } from "./packets_view.tsx";
import { momentOf, ReplayBar } from "./replay_bar.tsx";
import { ErrorState, Skeleton } from "../states.tsx";
import { Chip } from "../status.tsx";
import { Symbol } from "../symbol.tsx";
import { TimeLeft } from "../time_left.tsx";

interface InspectorProps {
  readonly models: Models;
  readonly id: string;
  /** As the stream has it, ahead of what is fetched; `null` where there is no stream. */
  readonly view: ConversationView | null;
  /** Called with the name of the user, once it is known. */
  readonly onUser?: (name: string) => void;
}

export function LoginInspector({ models, id, view, onUser }: InspectorProps) {
  const details = useResource<LoginDetails>(models, {
    fetch: () => take(models.api.live.logins[":id"].$get({ param: { id } })),
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
  const atMs = momentOf(models.router, shown);
  return (
    <>
      <div class="verdict">
        <Chip words={stateWords(shown)} />
        {isExplained
          ? <ExplanationText explanation={explanation} similar={similar} />
          : similar !== null && <SimilarUserText similar={similar} client={shown.client} />}
      </div>
      <Facts models={models} view={shown} />
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

function Facts({ models, view }: { models: Models; view: ConversationView }) {
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

/** The end of a login that failed is explained above, in a sentence of its own. */
function isExplained(at: number, { moments, outcome }: ConversationView): boolean {
  return at === moments.length - 1 && outcome !== null && outcome !== "accepted";
}

/** @param props.atMs the moment of the replay; what comes after it is still to come. */
function Steps({ view, atMs }: { view: ConversationView; atMs: number }) {
  return (
    <section aria-label={t("live.steps")}>
      <h2>{t("live.steps")}</h2>
      <ol class="moments">
        {view.moments.map((moment, at) => {
          const words = momentWords(moment.step);
          return (
            <li key={at} class={`tone-${words.tone} ${moment.atMs > atMs ? "to-come" : ""}`}>
              <span class="at mono" title={fullTimeText(moment.atMs)}>
                {offsetText(moment.atMs - view.startedMs)}
              </span>
              <Symbol name={`line-${words.shape}`} size={14} />
              <span>
                {words.label}
                {!isExplained(at, view) && (
                  <span class="why">{wordOr(`explain.row_${moment.row}`, moment.row)}</span>
                )}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
