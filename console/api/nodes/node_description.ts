// What a node says about itself to the others. Apart from the routes, whose libraries are loaded after the first answer.

import type { NodeDescription } from "../../../platform/cluster/cluster.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { socketAddressText } from "../../../platform/addresses.ts";
import type { Config } from "../../../platform/config/config.ts";
import type { Store } from "../../../platform/store.ts";
import { FORMAT } from "../../../platform/upgrade/store_format.ts";
import { hostName } from "../../../platform/process.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";

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
