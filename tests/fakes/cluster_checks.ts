// What tests of a cluster ask its gateways.

import { assertEquals } from "@std/assert";
import type { ClusterNode } from "../support/cluster.ts";
import type { RequestParts } from "../support/radius_packets.ts";
import { type ClusterWithServices, fromClient } from "./cluster_services.ts";

/** The attributes of a user at the client "vpn", with a station of its own. */
export const attributesOf = (userName: string): RequestParts => ({
  ...fromClient("vpn"),
  userName,
  callingStationId: `station of ${userName}`,
});

/** The lines of a log that report a fault. */
export const faultsOf = ({ logLines }: ClusterNode) =>
  logLines().filter((line) => /^\S+ error |cannot be read|could not be read|Uncaught|panic/.test(line));

/** The names that a list contains, sorted. */
export async function listed(world: ClusterWithServices, node: number, path: string): Promise<string[]> {
  const { status, json, text } = await world.scim(world.cluster.node(node)).get(path);
  assertEquals(status, 200, text);
  return (json.Resources as { id: string }[]).map(({ id }) => id).sort();
}
