// The flow table as a diagram: the number of logins at each step, and the path of the chosen login. A click on a node filters
// the list. The ways of a node are drawn while it has the pointer or the focus.

import { type ReadonlySignal, type Signal, signal, useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FlowLayout, FlowNode } from "../../../api/conversations/flow_layout.ts";
import { take } from "../../app/api_client.ts";
import { countText } from "../../app/format.ts";
import {
  findNode,
  nodeLabel,
  OUTCOME_NAMES,
  outcomeLabel,
  type StateLabel,
} from "../../app/login_state_labels.ts";
import { t } from "../../i18n/translate.ts";
import { type LiveModels as Models, LiveStatus } from "./live_context.tsx";

/** The server computes the layout from its flow table. It changes only with the version of the server. */
const picture = signal<FlowLayout | null>(null);

interface DiagramProps {
  readonly models: Models;
  /** The nodes of the chosen login, in order. */
  readonly path: readonly string[];
  readonly counts: ReadonlySignal<ReadonlyMap<string, number>>;
}

export function FlowDiagram({ models, path, counts }: DiagramProps) {
  const { api, session } = models;
  const pointed = useSignal("");
  useEffect(() => {
    if (picture.peek() !== null) return;
    session.whileSignedIn(() => take(api.live.picture.$get())).then(
      (value) => picture.value = value,
      // The list works without the diagram. The next visit fetches it again.
      () => undefined,
    );
  }, []);
  const drawn = picture.value;
  return (
    <section class="flow" aria-label={t("live.flow_states")}>
      {drawn !== null && <Edges drawn={drawn} path={path} pointed={pointed} />}
      {drawn !== null && (
        <ul>
          {drawn.nodes.map((node) => (
            <Node
              key={node.name}
              node={node}
              counts={counts}
              pointed={pointed}
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
  readonly node: FlowNode;
  readonly counts: ReadonlySignal<ReadonlyMap<string, number>>;
  /** The node that has the pointer or the focus; "" without one. */
  readonly pointed: Signal<string>;
  readonly isOnPath: boolean;
  readonly models: Models;
}

/** The count is a signal, so an event of the stream updates only its text. */
function Node(
  { node: { name, column, line }, counts, pointed, isOnPath, models: { router, board } }: NodeProps,
) {
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
        onPointerEnter={() => pointed.value = name}
        onPointerLeave={() => pointed.value = ""}
        onFocus={() => pointed.value = name}
        onBlur={() => pointed.value = ""}
        onClick={() => router.setParams({ state: chosen ? "" : name })}
      >
        <LiveStatus words={wordsOf(name)} />
        <b>{count}</b>
        {isSlow && <span class="unseen">{t("live.slow")}</span>}
      </button>
    </li>
  );
}

function wordsOf(name: FlowNode["name"]): StateLabel {
  const outcome = OUTCOME_NAMES.find((one) => one === name);
  return outcome === undefined ? nodeLabel(findNode(name)) : outcomeLabel(outcome);
}

interface EdgesProps extends Pick<NodeProps, "pointed"> {
  readonly drawn: FlowLayout;
  readonly path: readonly string[];
}

function Edges({ drawn, path, pointed }: EdgesProps) {
  const nodes = new Map(drawn.nodes.map((node) => [node.name as string, node]));
  const taken = new Set(path.slice(1).map((to, at) => `${path[at]} ${to}`));
  return (
    <svg class="ways" viewBox="0 0 12 8" preserveAspectRatio="none" aria-hidden="true">
      {drawn.edges.map(({ from, to }) => {
        const [begin, end] = [nodes.get(from), nodes.get(to)];
        if (begin === undefined || end === undefined) return null;
        const isTaken = taken.has(`${from} ${to}`);
        if (!isTaken && from !== pointed.value && to !== pointed.value) return null;
        return <path key={`${from} ${to}`} class={isTaken ? "taken" : ""} d={edgePath(begin, end)} />;
      })}
    </svg>
  );
}

/** A curve between the centers of two nodes of two by two units. The nodes cover its ends. */
function edgePath(from: FlowNode, to: FlowNode): string {
  const [x1, y1, x2, y2] = [from.column, from.line, to.column, to.line].map((at) => 2 * at + 1);
  const bend = from.column + to.column + 1;
  // Between two nodes of one line, a straight edge would seem to pass through the nodes between them.
  const dip = from.line === to.line && Math.abs(from.column - to.column) > 1 ? 1.3 : 0;
  return `M${x1} ${y1}C${bend} ${Number(y1) + dip} ${bend} ${Number(y2) + dip} ${x2} ${y2}`;
}
