// The flow table as a picture: where each step stands, and which steps lead to which. Worked out from the gateway's own rows; the page draws it.

import { FLOW } from "../../../radius/flow/flow.ts";
import { isStep, type Step } from "../../../radius/protocol/steps.ts";

/** A step or an end in the picture, by column and line; lines of one column stand below each other. */
export interface PictureNode {
  readonly name: PictureName;
  readonly column: number;
  readonly line: number;
}

/** A way from one node to another, and the rows of the table that take it, the last of each way. */
export interface PictureEdge {
  readonly from: PictureName;
  readonly to: PictureName;
}

export interface FlowPicture {
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
}

export type PictureName = "start" | Step | "accepted" | "rejected";

/** A line for each factor, a column for each turn that a login can take: typed, proven, waited for. */
const PLACES: Readonly<Record<PictureName, readonly [column: number, line: number]>> = {
  start: [0, 0],
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

const ENDS: Readonly<Record<string, PictureName>> = { accept: "accepted", reject: "rejected" };

/** The picture, worked out once. */
export function flowPicture(): FlowPicture {
  picture ??= draw();
  return picture;
}
let picture: FlowPicture | null = null;

function draw(): FlowPicture {
  const nodes = Object.entries(PLACES).map(([name, [column, line]]) => ({
    name: name as PictureName,
    column,
    line,
  }));
  const begins = nodes.map(({ name }) => name).filter((name) => !Object.values(ENDS).includes(name));
  const edges = begins.flatMap((from) =>
    [...reachedFrom(from)].filter((to) => to !== from).map((to) => ({ from, to }))
  );
  return { nodes, edges };
}

/** The next nodes of a node: passages are inside the server, and are passed through. */
function reachedFrom(from: PictureName): Set<PictureName> {
  const reached = new Set<PictureName>();
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
