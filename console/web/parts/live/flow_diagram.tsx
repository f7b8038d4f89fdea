// The flow table as a picture: how many logins stand at each step, which ways there are, and the way of the chosen login. A node filters.

import { type ReadonlySignal, signal, useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FlowPicture, PictureNode } from "../../../api/conversations/flow_layout.ts";
import { take } from "../../api_client.ts";
import { countText } from "../../format.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import {
  nodeOf,
  nodeWords,
  OUTCOME_NAMES,
  type OutcomeName,
  outcomeWords,
  type StateWords,
} from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { LiveStatus } from "./live_status.tsx";

/** Worked out by the server from its own table; it changes with the server's version alone. */
const picture = signal<FlowPicture | null>(null);

interface DiagramProps {
  readonly models: Models;
  /** The nodes that the chosen login went through, in order. */
  readonly path: readonly string[];
}

export function FlowDiagram({ models, path }: DiagramProps) {
  const { api, session, live, board } = models;
  useEffect(() => {
    if (picture.peek() !== null) return;
    session.whileSignedIn(() => take(api.live.picture.$get())).then(
      (value) => picture.value = value,
      // Without the picture the list still works; the next visit asks again.
      () => undefined,
    );
  }, []);
  const counts = useComputed(() => countNodes(live.steps.value, board.outcomes.value));
  const drawn = picture.value;
  return (
    <section class="panel flow" aria-label={t("live.where")}>
      {drawn !== null && <Ways drawn={drawn} path={path} />}
      {drawn !== null && (
        <ul>
          {drawn.nodes.map((node) => (
            <Node
              key={node.name}
              node={node}
              counts={counts}
              isOnPath={path.includes(node.name)}
              models={models}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface NodeProps {
  readonly node: PictureNode;
  readonly counts: ReadonlySignal<ReadonlyMap<string, number>>;
  readonly isOnPath: boolean;
  readonly models: Models;
}

/** Its number is a signal in the text: what comes over the stream draws nothing again but that text. */
function Node({ node: { name, column, line }, counts, isOnPath, models: { router, board } }: NodeProps) {
  const chosen = router.param("state") === name;
  const count = useComputed(() => countText(counts.value.get(name) ?? 0));
  const isZero = useComputed(() => (counts.value.get(name) ?? 0) === 0);
  const isSlow = useComputed(() => board.slow.value.has(name)).value;
  const marks = [isZero.value ? "zero" : "", isOnPath ? "on-path" : "", isSlow ? "slow" : ""];
  return (
    <li style={{ gridColumn: String(column + 1), gridRow: String(line + 1) }}>
      <button
        type="button"
        class={`node ${marks.join(" ")}`}
        aria-pressed={chosen}
        onClick={() => router.setParams({ state: chosen ? "" : name })}
      >
        <LiveStatus words={wordsOf(name)} />
        <b>{count}</b>
        {isSlow && <span class="unseen">{t("live.slow")}</span>}
      </button>
    </li>
  );
}

function wordsOf(name: PictureNode["name"]): StateWords {
  const outcome = OUTCOME_NAMES.find((one) => one === name);
  return outcome === undefined ? nodeWords(nodeOf(name)) : outcomeWords(outcome);
}

/** Ways forward are always drawn; ways back only where the chosen login took them. */
function Ways({ drawn, path }: { drawn: FlowPicture; path: readonly string[] }) {
  const nodes = new Map(drawn.nodes.map((node) => [node.name as string, node]));
  const taken = new Set(path.slice(1).map((to, at) => `${path[at]} ${to}`));
  return (
    <svg class="ways" viewBox="0 0 12 8" preserveAspectRatio="none" aria-hidden="true">
      {drawn.edges.map(({ from, to }) => {
        const [begin, end] = [nodes.get(from), nodes.get(to)];
        if (begin === undefined || end === undefined) return null;
        const isTaken = taken.has(`${from} ${to}`);
        if (!isTaken && end.column <= begin.column) return null;
        return <path key={`${from} ${to}`} class={isTaken ? "taken" : ""} d={wayBetween(begin, end)} />;
      })}
    </svg>
  );
}

/** A curve between the middles of two nodes, each two wide and two high; the nodes themselves lie over it. */
function wayBetween(from: PictureNode, to: PictureNode): string {
  const [x1, y1, x2, y2] = [from.column, from.line, to.column, to.line].map((at) => 2 * at + 1);
  const bend = from.column + to.column + 1;
  return `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`;
}

function countNodes(
  steps: Readonly<Record<string, number>>,
  ended: Readonly<Partial<Record<OutcomeName, number>>>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>(Object.entries(ended));
  for (const [step, count] of Object.entries(steps)) {
    const name = nodeOf(step);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}
