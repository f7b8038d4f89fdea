// The measured installations: one gateway with a file, and one or two gateways with denokv. Each has users with an authenticator app.

import { type Cluster, startCluster } from "../../support/cluster.ts";
import { DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE } from "../../support/denokv.ts";
import type { RunningProgram } from "../../support/program.ts";
import { awaitFirstAnswer, BENCH_DISK, BENCH_SETTINGS, startFileGateway } from "../gateway.ts";
import { addTotpUsers } from "../totp_users.ts";

/** Running gateways that have answered once. */
export interface Site {
  readonly name: string;
  readonly nodes: readonly RunningProgram[];
  /** `null` for a file. */
  readonly cluster: Cluster | null;
  stop(): Promise<void>;
}

export type SiteName = "file" | "one" | "two";

/** How many users a site has: `user00000` and so on. */
export interface SiteOptions {
  readonly users: number;
}

/** The installations in the order of the table. */
export const SITES: Readonly<
  Record<SiteName, { title: string; start(options: SiteOptions): Promise<Site> }>
> = {
  file: { title: "one node, file", start: startFileSite },
  one: { title: "one node, denokv", start: (options) => startClusterSite("one", { ...options, nodes: 1 }) },
  two: { title: "two nodes, denokv", start: (options) => startClusterSite("two", { ...options, nodes: 2 }) },
};

async function startFileSite(options: SiteOptions): Promise<Site> {
  const { gateway, stop } = await startFileGateway(options);
  return { name: SITES.file.title, nodes: [gateway], cluster: null, stop };
}

async function startClusterSite(
  name: "one" | "two",
  { users, nodes }: SiteOptions & { nodes: number },
): Promise<Site> {
  const cluster = await startCluster({
    nodes,
    toml: BENCH_SETTINGS,
    denokv: { dir: BENCH_DISK },
    async fill({ kvUrl, masterKeyHex }) {
      const dataDir = await Deno.makeTempDir({ prefix: "countersign-bench-" });
      Deno.env.set(DENOKV_TOKEN_VARIABLE, DENOKV_TOKEN);
      await addTotpUsers(dataDir, { users, masterKeyHex, kvUrl });
      await Deno.remove(dataDir, { recursive: true });
    },
  });
  for (const node of cluster.nodes) await awaitFirstAnswer(node.radiusPort);
  return { name: SITES[name].title, nodes: cluster.nodes, cluster, stop: () => cluster.dispose() };
}
