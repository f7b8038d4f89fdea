// The strip: where logins stand, as a small state diagram. A node filters the list; the chosen login's node is marked.

import type { LiveModels as Models } from "../models/live_models.ts";
import { countText } from "../format.ts";
import { FACTOR_NODES, nodeOf, NODES, OUTCOMES, type StateWords } from "../words.ts";
import { Status } from "./status.tsx";

interface NodeProps {
  readonly name: string;
  readonly words: StateWords;
  readonly count: number;
  readonly onPath: boolean;
  readonly models: Models;
}

function Node({ name, words, count, onPath, models }: NodeProps) {
  const { router } = models;
  const chosen = router.param("state") === name;
  return (
    <li>
      <button
        type="button"
        class={`node ${count === 0 ? "zero" : ""} ${onPath ? "on-path" : ""}`}
        aria-pressed={chosen}
        onClick={() => router.setParams({ state: chosen ? "" : name })}
      >
        <Status words={words} />
        <b>{countText(count)}</b>
      </button>
    </li>
  );
}

export function StepStrip({ models, path }: { models: Models; path: ReadonlySet<string> }) {
  const counts = nodeCounts(models.live.steps.value);
  const ended = models.board.outcomes.value;
  const node = (name: keyof typeof NODES) => (
    <Node
      key={name}
      name={name}
      words={NODES[name]}
      count={counts.get(name) ?? 0}
      onPath={path.has(name)}
      models={models}
    />
  );
  const end = (name: keyof typeof OUTCOMES) => (
    <Node
      key={name}
      name={name}
      words={OUTCOMES[name]}
      count={ended[name] ?? 0}
      onPath={path.has(name)}
      models={models}
    />
  );
  return (
    <section class="panel strip" aria-label="Where logins stand">
      <ul>{node("start")}</ul>
      <span class="edge" />
      <ul>{node("menu")}</ul>
      <span class="edge" />
      <ul class="factors">{FACTOR_NODES.map(node)}</ul>
      <span class="edge" />
      <ul>{end("accepted")}{end("rejected")}</ul>
    </section>
  );
}

function nodeCounts(steps: Readonly<Record<string, number>>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [step, count] of Object.entries(steps)) {
    const name = nodeOf(step);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}
