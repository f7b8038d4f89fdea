// Connections of identity providers as tables for a terminal.

import type {
  ConnectionRequestRow,
  ConnectionRow,
  ConnectionSecretRow,
  CreatedConnectionSecret,
} from "../console/api/connections/connection_types.ts";
import { printable, table, utcTimeText } from "./format_result.ts";

const KINDS = { token: "token", client_secret: "client secret" } as const;

export function connectionTable(connections: readonly ConnectionRow[]): string {
  const rows = connections.map(({ settings, lastRequest, lacksTarget }) => [
    settings.name,
    settings.kind,
    settings.target,
    settings.access,
    stateText(settings, lacksTarget),
    lastRequest === null ? "none" : `${utcTimeText(lastRequest.atMs)} (${lastRequest.status})`,
  ]);
  return table([["name", "kind", "target", "access", "state", "last request"], ...rows]);
}

function stateText({ paused, dryRun }: ConnectionRow["settings"], lacksTarget: boolean): string {
  if (lacksTarget) return "no target";
  if (paused) return "paused";
  return dryRun ? "dry run" : "active";
}

export function secretTable(secrets: readonly ConnectionSecretRow[], nowMs: number): string {
  const rows = secrets.map(({ id, kind, createdMs, expiresMs, usedMs }) => [
    id,
    KINDS[kind],
    utcTimeText(createdMs),
    expiresMs === null ? "never" : `${expiresMs <= nowMs ? "expired " : ""}${utcTimeText(expiresMs)}`,
    usedMs === null ? "never" : utcTimeText(usedMs),
  ]);
  return table([["id", "kind", "created", "expires", "last used"], ...rows]);
}

export function requestTable(requests: readonly ConnectionRequestRow[]): string {
  const rows = requests.map(({ atMs, operation, resource, status, scimType, detail, source, dryRun }) => [
    utcTimeText(atMs),
    `${operation}${dryRun ? " (dry run)" : ""}`,
    resource?.name ?? resource?.id ?? "",
    scimType === null ? String(status) : `${status} ${scimType}`,
    source,
    detail ?? "",
  ]);
  return table([["time", "operation", "resource", "status", "source", "detail"], ...rows]);
}

/** What to enter at the identity provider. */
export function newSecretText(
  { item: { settings, url }, secret, tokenUrl }: CreatedConnectionSecret,
): string {
  if (secret === null) return "";
  const shown = "(shown only once)";
  const rows = secret.kind === "token" ? [["Base URL:", url], ["Token:", `${secret.text}   ${shown}`]] : [
    ["Base URL:", url],
    ["Token endpoint:", tokenUrl],
    ["Client ID:", settings.name],
    ["Client secret:", `${secret.text}   ${shown}`],
  ];
  return `Enter at the identity provider:\n\n${table(rows.map((row) => row.map(printable)))}`;
}
