// The nodes that share the store, as this node knows them.

import { Hono } from "hono";
import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { KnownNode } from "../../../platform/cluster/nodes.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { NodeNames } from "../api_types.ts";
import { may } from "../auth/permissions.ts";
import type { HttpEnv } from "../hono_env.ts";
import type { HealthPart } from "../targets/target_types.ts";

/** A node in the console. `figures` are those of its last report. */
export interface NodeRow
  extends
    Pick<KnownNode, "name" | "version" | "startedMs" | "radius" | "http" | "figures" | "isSelf" | "isAlive"> {
  readonly id: string;
  /** Its clock minus the clock of this node. */
  readonly clockOffsetMs: number;
}

export interface NodeList {
  readonly nowMs: number;
  /** Whether other nodes can use the store. */
  readonly isShared: boolean;
  /** This node first. Empty if no other node can use the store. */
  readonly items: readonly NodeRow[];
}

export interface NodeRouteDeps {
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "isShared" | "list"> | undefined;
  readonly clock: Clock;
}

export function createNodeRoutes({ cluster, clock }: NodeRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), (c) => {
      const items = (cluster?.list() ?? []).map(nodeRow);
      return c.json({ nowMs: clock.nowMs(), isShared: cluster?.isShared ?? false, items } satisfies NodeList);
    });
}

function nodeRow({ node: id, ...known }: KnownNode): NodeRow {
  const { name, version, startedMs, radius, http, figures, isSelf, isAlive, clockOffsetMs } = known;
  return { id, name, version, startedMs, radius, http, figures, isSelf, isAlive, clockOffsetMs };
}

/** The names of the nodes, by id. Nodes of one host have their id behind the name. Empty while there is one node. */
export function nodeNames(cluster: NodeRouteDeps["cluster"]): NodeNames {
  const nodes = cluster?.list() ?? [];
  if (nodes.length < 2) return {};
  const isUnique = ({ name }: KnownNode) => nodes.filter((one) => one.name === name).length === 1;
  return Object.fromEntries(
    nodes.map((one) => [one.node, isUnique(one) ? one.name : `${one.name} (${one.node})`]),
  );
}

/** The name of the node that handles a login; `null` while there is one node, or if the node is unknown. */
export function nodeNameOf(cluster: NodeRouteDeps["cluster"], node: string | undefined): string | null {
  const nodes = cluster?.list() ?? [];
  if (nodes.length < 2 || node === undefined) return null;
  const found = nodes.find((one) => one.node === node);
  return found === undefined ? node : `${found.name} (${node})`;
}

// The other nodes as parts of the Health page.

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
