// Writes docs/conversation.md from the flow table: the picture, the steps, and every row.

import { type Condition, CONDITIONS } from "../radius/flow/conditions.ts";
import { EFFECTS, FLOW, type FlowRow } from "../radius/flow/flow.ts";
import { PROMPTS } from "../radius/flow/prompts.ts";
import { type End, PASSAGES, type Place, STEPS } from "../radius/protocol/steps.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# The conversation

Generated from the flow table (\`radius/flow/\`) by \`deno task docs\`; do not edit.

A login moves along these rows. At a place the first row whose conditions all hold is taken; what it does and says stands beside it, and the
log and the audit name it. A **step** is where a login waits for an answer: its name travels in State. A **passage** is a place inside the
server, where something outside is being asked; it is never seen on the wire. Answers are trimmed; menu letters and \`cancel\` are read
without case.
`;

const PICTURE = `## The picture

Names in capitals are steps, the others passages. At every step, \`cancel\` leads to the menu under a new conversation, and a user who is
refused meanwhile gets a Reject; those arrows are left out.
`;

/** The picture's arrow from one place to another, with the conditions that lead along it. */
interface Arrow {
  readonly from: Place | "*";
  readonly to: Place | End;
  readonly labels: Set<string>;
}

/** Labels of one arrow that are written out; more would hide the picture. */
const MOST_LABELS = 3;

const isEnd = (place: Place | End): place is End => place === "accept" || place === "reject";

function rowsFrom(place: Place | "*"): FlowRow[] {
  return FLOW.filter(({ from }) => from === place);
}

const saysOf = (when: readonly Condition[]): string =>
  when.map((condition) => CONDITIONS[condition].says).join(", and ");

/** One arrow for each pair of places, in the order of the rows. */
function arrows(): Arrow[] {
  const known = new Map<string, Arrow>();
  for (const { from, to, when } of FLOW) {
    if (from === "*") continue;
    const pair = `${from} ${to}`;
    const arrow = known.get(pair) ?? { from, to, labels: new Set() };
    arrow.labels.add(saysOf(when));
    known.set(pair, arrow);
  }
  return [...known.values()];
}

/** Mermaid reads `:` and `;` inside a label as its own. */
function labelOf({ labels }: Arrow): string {
  const shown = [...labels].slice(0, MOST_LABELS).join(" / ");
  return (labels.size > MOST_LABELS ? `${shown} / …` : shown).replace(/[:;]/g, ",");
}

function picture(): string {
  const nameOf = (place: Place | "*" | End): string =>
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
    ["State", "what it is called"],
    Object.entries(STEPS).map(([name, { title }]) => [code(name), title]),
  );
}

function passageTable(): string {
  return table(
    ["passage", "what it is called", "after a crash inside it"],
    Object.entries(PASSAGES).map(([name, { title, afterCrash }]) => [
      code(name),
      title,
      afterCrash === null ? "the login is begun anew" : `goes on at ${code(afterCrash)}`,
    ]),
  );
}

/** An Access-Accept carries the configured attributes and no text. */
function spoken({ say, to }: FlowRow): string {
  return say === null || to === "accept" ? "" : PROMPTS[say].text.replaceAll("\n", "<br>");
}

function nextOf({ to }: FlowRow): string {
  if (isEnd(to)) return to === "accept" ? "**Accept**" : "**Reject**";
  return code(to);
}

function rowTable(place: Place | "*"): string {
  return table(
    ["row", "when", "does", "says", "next"],
    rowsFrom(place).map((row) => [
      code(row.name),
      saysOf(row.when),
      row.then.map((effect) => EFFECTS[effect].does).join("; "),
      spoken(row),
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

/** The page. `{menu}`, `{number}` and `{numbers}` stand for what the user is shown there. */
export function conversationPage(): string {
  return [
    INTRODUCTION,
    PICTURE,
    picture(),
    "## Steps\n",
    stepTable(),
    "## Passages\n",
    passageTable(),
    "## Rows\n",
    sections(),
  ].join("\n");
}
