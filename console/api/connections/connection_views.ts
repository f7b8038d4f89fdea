// Connections in the form in which the API shows them.

import type { AdoptionProposal } from "../../../scim/v2/connections/adoption.ts";
import { MAX_COUNTED_MATCHES } from "../../../scim/v2/connections/connection_settings.ts";
import type { ConnectionRecord, SecretRecord } from "../../../scim/v2/connections/connection_records.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Connect } from "../deps.ts";
import {
  type ConnectionMatchRow,
  type ConnectionRow,
  type ConnectionSecretRow,
  type ConnectionTest,
} from "./connection_types.ts";

type ConnectionSources = Pick<Connect, "connections" | "targets" | "config">;

/** The address of the OAuth token endpoint. */
export function tokenUrlOf({ http }: Pick<Connect["config"], "http">): string {
  return `${http.publicUrl}/scim/oauth/token`;
}

export async function connectionRow(
  { settings, ...record }: ConnectionRecord,
  { connections, targets, config }: ConnectionSources,
): Promise<ConnectionRow> {
  const { name, target } = settings;
  const [lastRequest, deletions, waitingMatches] = await Promise.all([
    connections.lastRequest(name),
    connections.deletions(settings),
    connections.countWaiting(name, MAX_COUNTED_MATCHES),
  ]);
  const { version, createdMs, createdBy, changedMs, changedBy } = record;
  return {
    ...{ settings, version, createdMs, createdBy, changedMs, changedBy },
    url: `${config.http.publicUrl}/scim/v2/${encodeURIComponent(target)}`,
    secrets: connections.secretsOf(name).map(secretRow),
    ...{ lastRequest, deletions, waitingMatches },
    lacksTarget: targets.get(target) === null,
  };
}

function secretRow(
  { id, kind, createdMs, createdBy, expiresMs, usedMs, usedFrom }: SecretRecord,
): ConnectionSecretRow {
  return { id, kind, createdMs, createdBy, expiresMs, usedMs, usedFrom };
}

/** A proposal with the current name of the resource. */
export async function matchRow(
  { id: resourceId, ...proposal }: AdoptionProposal,
  target: Pick<Target, "directory"> | null,
): Promise<ConnectionMatchRow> {
  const { kind, externalId, state, firstMs, lastMs, decidedBy, decidedMs } = proposal;
  const found = await target?.directory.readHeadById(kind, resourceId) ?? null;
  return {
    id: `${kind}:${resourceId}`,
    ...{ kind, resourceId, externalId, state, firstMs, lastMs, decidedBy, decidedMs },
    name: found === null ? proposal.name : found.content.name,
    isGone: found === null,
  };
}

/** Whether the identity provider reached this server. */
export async function testConnection(
  { settings: { name, paused } }: ConnectionRecord,
  { connections, nowMs }: { connections: Connect["connections"]; nowMs: number },
): Promise<ConnectionTest> {
  const [lastRequest, lastSuccess] = await Promise.all([
    connections.lastRequest(name),
    connections.lastRequest(name, { outcome: "done" }),
  ]);
  const secrets = connections.secretsOf(name).filter((secret) => connections.isValid(secret)).map(secretRow);
  const stateOf = (): ConnectionTest["state"] => {
    if (secrets.length === 0) return "no_secret";
    if (paused) return "paused";
    if (lastRequest === null) return "unused";
    return lastRequest.status < 400 ? "works" : "refused";
  };
  return { nowMs, state: stateOf(), lastRequest, lastSuccessMs: lastSuccess?.atMs ?? null, secrets };
}
