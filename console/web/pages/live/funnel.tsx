// The funnel of the Live page: how many sign-ins are in each stage, and the outcomes with their period. It unfolds into the
// diagram of all states.

import { type ReadonlySignal, signal, useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { readyValue, useInterval } from "../../app/resource.ts";
import { countText, minuteText } from "../../app/format.ts";
import { findNode, type OutcomeName } from "../../app/login_state_labels.ts";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { t } from "../../i18n/translate.ts";
import type { LiveModels as Models } from "./live_context.tsx";
import { countFunnel, FUNNEL_NAMES, type FunnelName } from "./live_counts.ts";

const FlowDiagram = lazy(async () => (await import("./flow_diagram.tsx")).FlowDiagram);
const DIAGRAM_ID = "flow-states";

/** Whether the diagram is shown. Another visit of the page keeps it. */
const isUnfolded = signal(false);

const RECENT_EVERY_MS = 5000;

interface FunnelProps {
  readonly models: Models;
  /** The nodes of the chosen login, in order. */
  readonly path: readonly string[];
}

export function Funnel({ models, path }: FunnelProps) {
  const { live, recent, countRecent } = models;
  // The test sign-in of the set-up is watched on the diagram.
  const isOpen = isUnfolded.value || models.router.param("step") === "login";
  useEffect(() => void countRecent(), []);
  useInterval(RECENT_EVERY_MS, countRecent);
  const nodes = useComputed(() => countNodes(live.steps.value, endsOf(models)));
  const counts = useComputed(() => countFunnel(nodes.value));
  const since = useComputed(() => {
    const counted = readyValue(recent.state.value);
    return counted === null ? "" : t("live.funnel_since", { time: minuteText(counted.fromMs) });
  });
  return (
    <section class="panel funnel" aria-label={t("live.where")}>
      <div class="funnel-bar">
        <ul>
          {FUNNEL_NAMES.map((name) => <Stage key={name} name={name} counts={counts} models={models} />)}
        </ul>
        <span class="funnel-since quiet small" title={t("live.funnel_since_why")}>{since}</span>
        <button
          type="button"
          class="button button-plain button-small"
          aria-expanded={isOpen}
          aria-controls={isOpen ? DIAGRAM_ID : undefined}
          onClick={() => isUnfolded.value = !isOpen}
        >
          <span class="funnel-more">{t("live.flow_states")}</span>
          <Icon name="chevron-down" size={14} />
        </button>
      </div>
      {isOpen && (
        <div class="flow-room" id={DIAGRAM_ID}>
          <FlowDiagram models={models} path={path} counts={nodes} />
        </div>
      )}
    </section>
  );
}

interface StageProps {
  readonly name: FunnelName;
  readonly counts: ReadonlySignal<ReadonlyMap<FunnelName, number>>;
  readonly models: Models;
}

/** The count is a signal, so an event of the stream updates only its text. */
function Stage({ name, counts, models: { router } }: StageProps) {
  const isChosen = router.param("state") === name;
  const count = useComputed(() => countText(counts.value.get(name) ?? 0));
  return (
    <li class={`stage-${name}`}>
      <button
        type="button"
        class="stage"
        aria-pressed={isChosen}
        onClick={() => router.setParams({ state: isChosen ? "" : name })}
      >
        {t(`live.funnel_${name}`)} <b>{count}</b>
      </button>
    </li>
  );
}

/** The outcomes of the last minutes: the counts of the server, and what ended since. */
function endsOf({ recent, board }: Models): Readonly<Partial<Record<OutcomeName, number>>> {
  const counted = readyValue(recent.state.value);
  const ends: Partial<Record<OutcomeName, number>> = { ...counted?.totals.outcomes };
  for (const { outcome, atMs } of board.newEnds.value) {
    if (atMs > (counted?.toMs ?? 0)) ends[outcome] = (ends[outcome] ?? 0) + 1;
  }
  return ends;
}

function countNodes(
  steps: Readonly<Record<string, number>>,
  ended: Readonly<Partial<Record<OutcomeName, number>>>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>(Object.entries(ended));
  for (const [step, count] of Object.entries(steps)) {
    const name = findNode(step);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}
