// Writes docs/conversation.md from the flow table: the diagram, the steps, and every row.

import { CONDITIONS, type FlowCondition } from "../radius/flow/context.ts";
import { EFFECTS, FLOW, type FlowRow } from "../radius/flow/flow.ts";
import { PROMPTS } from "../radius/flow/prompts.ts";
import { type FlowEnd, type FlowPlace, PASSAGES, STEPS } from "../radius/protocol/steps.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# The conversation

Generated from the flow table (\`radius/flow/\`) by \`deno task docs\`; do not edit.

These rows define a login. The first row applies whose conditions are all true. The row has the effects, the prompt and the next step. The log
and the audit log contain the name of the row.

- In a **step**, the login waits for an answer. State contains the name of the step.
- A **passage** is an internal place between two steps. In most passages the server waits for another service, such as the second-factor
  service. A passage never appears in a packet.

A denial of its request or pairing at the embedded service ends a login at once, without a row: \`denied_while_waiting\` or
\`pairing_denied_while_waiting\` in the log. The next packet gets the prompt of \`not_approved\` or \`pairing_denied\`.

While a password is to be changed, each row to Accept leads to \`password_due\` instead, so the second factor comes before the change. No policy
and no remembered device replaces it then.

Answers are trimmed, except new passwords. Menu letters and \`cancel\` are case-insensitive.
`;

const DIAGRAM = `## Diagram

Names in capitals are steps, the others passages. The diagram omits two transitions that exist in every step: \`cancel\` opens the menu in a new
conversation, and a user who was locked or removed is rejected.
`;

/** The arrow of the diagram from one place to another, with the conditions that lead along it. */
interface Arrow {
  readonly from: FlowPlace | "*";
  readonly to: FlowPlace | FlowEnd;
  readonly labels: Set<string>;
}

/** Labels of one arrow that are written out; more would hide the diagram. */
const MOST_LABELS = 3;

const isEnd = (place: FlowPlace | FlowEnd): place is FlowEnd => place === "accept" || place === "reject";

function rowsFrom(place: FlowPlace | "*"): FlowRow[] {
  return FLOW.filter(({ from }) => from === place);
}

const conditionText = (when: readonly FlowCondition[]): string =>
  when.map((condition) => CONDITIONS[condition].text).join(", and ");

/** One arrow for each pair of places, in the order of the rows. */
function arrows(): Arrow[] {
  const known = new Map<string, Arrow>();
  for (const { from, to, when } of FLOW) {
    if (from === "*") continue;
    const pair = `${from} ${to}`;
    const arrow = known.get(pair) ?? { from, to, labels: new Set() };
    arrow.labels.add(conditionText(when));
    known.set(pair, arrow);
  }
  return [...known.values()];
}

/** Mermaid gives `:` and `;` in a label a meaning of their own. */
function labelOf({ labels }: Arrow): string {
  const shown = [...labels].slice(0, MOST_LABELS).join(" / ");
  return (labels.size > MOST_LABELS ? `${shown} / …` : shown).replace(/[:;]/g, ",");
}

function diagram(): string {
  const nameOf = (place: FlowPlace | "*" | FlowEnd): string =>
    place === "accept" ? "Accept" : place === "reject" ? "Reject" : place;
  const lines = arrows().map((arrow) =>
    `  ${nameOf(arrow.from)} --> ${nameOf(arrow.to)} : ${labelOf(arrow)}`
  );
  const ends = ["  [*] --> start", ...lines, "  Accept --> [*]", "  Reject --> [*]"];
  return ["```mermaid", "stateDiagram-v2", ...ends, "```", ""].join("\n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}

const code = (text: string): string => `\`${text}\``;

function stepTable(): string {
  return table(
    ["State", "title"],
    Object.entries(STEPS).map(([name, { title }]) => [code(name), title]),
  );
}

function passageTable(): string {
  return table(
    ["passage", "title", "after a crash"],
    Object.entries(PASSAGES).map(([name, { title, afterCrash }]) => [
      code(name),
      title,
      afterCrash === null ? "the login starts again" : `continues at ${code(afterCrash)}`,
    ]),
  );
}

/** An Access-Accept carries the configured attributes and no text. */
function promptText({ prompt, to }: FlowRow): string {
  return prompt === null || to === "accept" ? "" : PROMPTS[prompt].text.replaceAll("\n", "<br>");
}

function nextOf({ to }: FlowRow): string {
  if (isEnd(to)) return to === "accept" ? "**Accept**" : "**Reject**";
  return code(to);
}

function rowTable(place: FlowPlace | "*"): string {
  return table(
    ["row", "conditions", "effects", "prompt", "next"],
    rowsFrom(place).map((row) => [
      code(row.name),
      conditionText(row.when),
      row.then.map((effect) => EFFECTS[effect].text).join("; "),
      promptText(row),
      nextOf(row),
    ]),
  );
}

function sections(): string {
  const places = [...new Set(FLOW.map(({ from }) => from))];
  return places.map((place) => `### ${place === "*" ? "Every step" : code(place)}\n\n${rowTable(place)}`)
    .join(
      "\n",
    );
}

/** The page. The gateway replaces `{menu}`, `{number}` and `{numbers}` in a prompt. */
export function conversationPage(): string {
  return [
    INTRODUCTION,
    DIAGRAM,
    diagram(),
    "## Steps\n",
    stepTable(),
    "## Passages\n",
    passageTable(),
    "## Rows\n",
    sections(),
  ].join("\n");
}
