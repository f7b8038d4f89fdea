// One login, closely: what became of it, why, and each step on the way.

import type { ConversationView } from "../../../radius/doing/ports.ts";
import { durationText, fullTimeText, offsetText } from "../format.ts";
import { FACTORS, momentWords, rowSentence, stateWords } from "../words.ts";
import { Icon } from "./icon.tsx";
import { Chip } from "./status.tsx";
import { TimeLeft } from "./time_left.tsx";

interface InspectorProps {
  /** `null`: the login is not among those kept here any more. */
  readonly view: ConversationView | null;
  readonly nowMs: number;
  readonly close: () => void;
}

export function Inspector({ view, nowMs, close }: InspectorProps) {
  return (
    <aside class="panel inspector" aria-label="Chosen login">
      <div class="panel-head">
        <h2 class="mono cut">{view === null ? "Login" : view.user || "(no name)"}</h2>
        <button
          type="button"
          class="button button-small button-plain"
          onClick={close}
        >
          <Icon name="close" />
          <span class="unseen">Close</span>
        </button>
      </div>
      {view === null
        ? <div class="empty">This login is over and no longer kept here.</div>
        : <Body view={view} nowMs={nowMs} />}
    </aside>
  );
}

function Body({ view, nowMs }: { view: ConversationView; nowMs: number }) {
  const last = view.moments.at(-1);
  return (
    <div class="body" tabIndex={0} role="group" aria-label="Details">
      <div class="verdict">
        <Chip words={stateWords(view)} />
        {last !== undefined && <p class="explain">{rowSentence(last.row)}</p>}
      </div>
      <dl class="facts">
        <dt>Client</dt>
        <dd class="mono">{view.client}</dd>
        <dt>Packets from</dt>
        <dd class="mono">{view.source}</dd>
        {view.place !== "" && (
          <>
            <dt>Calling from</dt>
            <dd class="mono">{view.place}</dd>
          </>
        )}
        <dt>Factor</dt>
        <dd>{view.factor === null ? "None yet" : FACTORS[view.factor] ?? view.factor}</dd>
        <dt>Started</dt>
        <dd class="mono">{fullTimeText(view.startedMs)}</dd>
        {view.outcome === null
          ? (
            <>
              <dt>Time left</dt>
              <dd>
                <TimeLeft
                  startMs={view.startedMs}
                  deadlineMs={view.deadlineMs}
                  nowMs={nowMs}
                  label="Time left"
                />
              </dd>
            </>
          )
          : (
            <>
              <dt>Took</dt>
              <dd class="mono">{durationText(view.updatedMs - view.startedMs)}</dd>
            </>
          )}
      </dl>
      <section aria-label="Steps">
        <ol class="moments">
          {view.moments.map((moment, at) => {
            const words = momentWords(moment.step);
            return (
              <li key={at} class={`tone-${words.tone}`}>
                <span class="at mono" title={fullTimeText(moment.atMs)}>
                  {offsetText(moment.atMs - view.startedMs)}
                </span>
                <Icon name={words.shape} />
                <span>
                  {words.label}
                  <span class="why">{rowSentence(moment.row)}</span>
                </span>
              </li>
            );
          })}
        </ol>
      </section>
    </div>
  );
}
