// The nodes of a cluster as the console sees them, controlled by a test.

import type { HttpAppDeps } from "../../console/app.ts";
import { NO_LEASE } from "../../platform/cluster/lease.ts";
import type { KnownNode } from "../../platform/cluster/nodes.ts";
import { FORMAT } from "../../platform/upgrade/store_format.ts";

type FakeCluster = NonNullable<HttpAppDeps["cluster"]>;

/** A node that is well; `change` differs. */
export function knownNode(node: string, change: Partial<KnownNode> = {}): KnownNode {
  return {
    node,
    name: `gate-${node}`,
    version: "0.0.0",
    ...{ format: FORMAT, writes: FORMAT },
    startedMs: Date.now() - 3 * 3_600_000,
    radius: ["192.0.2.10:1812"],
    http: "https://gate.example.org",
    beat: 7,
    writtenMs: 0,
    publicKey: "",
    settings: "",
    auditMark: "",
    firstAuditMark: "",
    figures: { waiting: 3, requestsPerS: 120, rssOctets: 140_000_000, lagMs: 12, leases: [] },
    isSelf: false,
    isAlive: true,
    clockOffsetMs: 0,
    ...change,
  };
}

/** Three nodes: this one, one with another version and a wrong clock, and one that stopped. */
export function threeNodes(name = "gate-2"): KnownNode[] {
  const figures = { waiting: 0, requestsPerS: 0, rssOctets: 95_000_000, lagMs: 2400, leases: [] };
  return [
    knownNode("0a1b2c3d", {
      isSelf: true,
      figures: { ...knownNode("").figures, leases: ["charts", "target:default"] },
    }),
    knownNode("1a1b2c3d", {
      name,
      version: "0.1.0",
      clockOffsetMs: 7300,
      radius: ["[2001:db8::2]:1812", "192.0.2.11:1812"],
    }),
    knownNode("2a1b2c3d", { isAlive: false, figures }),
  ];
}

export function createFakeCluster(nodes: () => readonly KnownNode[]): FakeCluster {
  return {
    isShared: true,
    list: nodes,
    openLease: () => ({ ...NO_LEASE, claim: () => Promise.resolve(true) }),
    figures: () => {
      const alive = nodes().filter(({ isAlive }) => isAlive).length;
      return { alive, silent: nodes().length - alive, lagMs: 12, catchUpMs: 3, changes: 40, leases: 2 };
    },
  };
}
