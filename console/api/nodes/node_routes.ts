// The nodes that share the store, as this node knows them.

import { Hono } from "hono";
import type { Cluster, NodeDescription } from "../../../platform/cluster/cluster.ts";
import type { KnownNode } from "../../../platform/cluster/nodes.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { socketAddressText } from "../../../platform/addresses.ts";
import type { Config } from "../../../platform/config/config.ts";
import type { Store } from "../../../platform/store.ts";
import { FORMAT } from "../../../platform/upgrade/store_format.ts";
import { hostName } from "../../../platform/process.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
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

// What a node says about itself to the others.

interface NodeDescriptionDeps {
  readonly settings: { readonly config: Config };
  readonly vault: Pick<Vault, "digest">;
  readonly clock: Clock;
  readonly version: string;
  readonly startedMs: number;
  readonly radiusListeners: readonly string[];
  readonly dataDir: { readonly store: Pick<Store, "format"> };
}

const MIN_RATE_MS = 900;

/** @param monitorOf the gateway, as soon as it exists */
export function createNodeDescription(
  { settings: { config }, vault, clock, version, startedMs, radiusListeners, dataDir: { store } }:
    NodeDescriptionDeps,
  monitorOf: () => GatewayMonitor | null,
): () => NodeDescription {
  let last = { requests: 0, atMs: clock.nowMs() };
  let requestsPerS = 0;
  return () => {
    const monitor = monitorOf();
    const now = { requests: monitor?.counters().requests ?? 0, atMs: clock.nowMs() };
    // The pages ask more often than the heartbeat. A shorter time gives no useful rate.
    if (now.atMs - last.atMs >= MIN_RATE_MS) {
      requestsPerS = Math.round((now.requests - last.requests) * 1000 / (now.atMs - last.atMs));
      last = now;
    }
    return {
      name: hostName(),
      version,
      ...{ format: FORMAT, writes: store.format },
      startedMs,
      radius: radiusListeners,
      // All nodes have one public URL.
      http: socketAddressText(config.http.listen),
      settings: digestOf(config, vault),
      figures: { waiting: monitor?.aliveHere() ?? 0, requestsPerS, rssOctets: Deno.memoryUsage().rss },
    };
  };
}

/** Differs between nodes whose settings differ, except in what each node has of its own. */
function digestOf(config: Config, vault: Pick<Vault, "digest">): string {
  const {
    server,
    http: { publicUrl, trustedProxies },
    radius: { listen: _a, accounting: _b, ...radius },
    ...rest
  } = config;
  const { file: _c, store: _d, ...shared } = rest;
  const { logLevel, logFormat } = server;
  const text = plainText({ shared, radius, publicUrl, trustedProxies, logLevel, logFormat });
  return vault.digest("settings", text).slice(0, 16);
}

/** As JSON with secrets, which the tables of settings hide from JSON.stringify. */
function plainText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  return `[${Object.entries(value).map(([key, inner]) => `${key}:${plainText(inner)}`).join()}]`;
}
