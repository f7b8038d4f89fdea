// The layout of the flow diagram: the position of each step, and the edges, from the flow table. The page draws it.

import { FLOW } from "../../../radius/flow/flow.ts";
import { isStep, type Step } from "../../../radius/protocol/steps.ts";

/** A step or an end of the diagram, by column and line. */
export interface FlowNode {
  readonly name: FlowNodeName;
  readonly column: number;
  readonly line: number;
}

interface FlowEdge {
  readonly from: FlowNodeName;
  readonly to: FlowNodeName;
}

export interface FlowLayout {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
}

type FlowNodeName = "start" | Step | "accepted" | "rejected";

/** A line for each factor, a column for each exchange of a login. */
const PLACES: Readonly<Record<FlowNodeName, readonly [column: number, line: number]>> = {
  start: [0, 0],
  FIRSTFACTOR_GET_ANSWER: [0, 1],
  FIRSTFACTOR_GET_NEW_PASSWORD: [0, 2],
  FIRSTFACTOR_REPEAT_NEW_PASSWORD: [0, 3],
  CHOOSE_WHICH_MULTIFACTOR: [1, 0],
  SECONDFACTOR_GET_PAIRING_PHRASE: [2, 0],
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: [3, 0],
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: [4, 0],
  GET_SMS_PHONE_NUMBER: [2, 1],
  VERIFY_SMS_PHONE_NUMBER: [3, 1],
  AWAIT_SMS_DELIVERED_PASSCODE: [4, 1],
  GET_VOICE_PHONE_NUMBER: [2, 2],
  VERIFY_VOICE_PHONE_NUMBER: [3, 2],
  AWAIT_VOICE_DELIVERED_PASSCODE: [4, 2],
  GET_DEVICE_GENERATED_PASSCODE: [4, 3],
  accepted: [5, 0],
  rejected: [5, 1],
};

const ENDS: Readonly<Record<string, FlowNodeName>> = { accept: "accepted", reject: "rejected" };

/** The layout, computed once. */
export function flowLayout(): FlowLayout {
  picture ??= draw();
  return picture;
}
let picture: FlowLayout | null = null;

function draw(): FlowLayout {
  const nodes = Object.entries(PLACES).map(([name, [column, line]]) => ({
    name: name as FlowNodeName,
    column,
    line,
  }));
  const begins = nodes.map(({ name }) => name).filter((name) => !Object.values(ENDS).includes(name));
  const edges = begins.flatMap((from) =>
    [...reachedFrom(from)].filter((to) => to !== from).map((to) => ({ from, to }))
  );
  return { nodes, edges };
}

/** The next nodes of a node, through the internal states of the server. */
function reachedFrom(from: FlowNodeName): Set<FlowNodeName> {
  const reached = new Set<FlowNodeName>();
  const seen = new Set<string>();
  const waiting: string[] = [from];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (seen.has(place)) continue;
    seen.add(place);
    for (const row of FLOW) {
      if (row.from !== place) continue;
      const node = ENDS[row.to] ?? (isStep(row.to) ? row.to : null);
      if (node === null) waiting.push(row.to);
      else reached.add(node);
    }
  }
  return reached;
}
