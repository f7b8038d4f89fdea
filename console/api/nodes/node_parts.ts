// The other nodes as parts of the Health page.

import type { KnownNode } from "../../../platform/cluster/nodes.ts";
import type { HealthPart } from "../targets/target_types.ts";
import { nodeNames, type NodeRouteDeps } from "./node_routes.ts";

/** Codes of authenticator apps and deadlines need clocks that differ less. */
const MAX_CLOCK_OFFSET_MS = 5000;

/** A part for each node that shares the store; none while this node is alone. */
export function nodeParts(cluster: NodeRouteDeps["cluster"]): HealthPart[] {
  const [self, ...others] = cluster?.list() ?? [];
  if (self === undefined || others.length === 0) return [];
  const names = nodeNames(cluster);
  return [self, ...others].map((node): HealthPart => ({
    id: `node:${node.node}`,
    kind: "node",
    name: names[node.node] ?? node.name,
    ...stateOf(node, self),
    lastGoodMs: null,
    figure: null,
    detail: "",
    testable: false,
  }));
}

function stateOf(node: KnownNode, self: KnownNode): Pick<HealthPart, "state" | "note"> {
  if (!node.isAlive) return { state: "bad", note: "node_silent" };
  if (node.version !== self.version) return { state: "warning", note: "node_version" };
  if (node.settings !== self.settings) return { state: "warning", note: "node_settings" };
  if (Math.abs(node.clockOffsetMs) > MAX_CLOCK_OFFSET_MS) return { state: "warning", note: "node_clock" };
  return { state: "ok" };
}
