// The calls of the pages about identity providers, and the state of a connection. A call that changes one waits for a
// sign-in or a recent factor.

import type {
  ChangedConnectionBody,
  ConnectionRow,
  ConnectionSecretRow,
  MatchDecisionBody,
  NewConnectionBody,
  NewConnectionSecretBody,
} from "../../../api/connections/connection_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { FilterQuery } from "../../app/filters.ts";
import { relativeText } from "../../app/format.ts";
import type { Resource } from "../../app/resource.ts";
import { t } from "../../i18n/translate.ts";

/** What each part of the page of a connection gets. */
export interface ConnectionPart {
  readonly models: Models;
  readonly item: ConnectionRow;
  /** The address of the OAuth token endpoint. */
  readonly tokenUrl: string;
  readonly page: Pick<Resource<unknown>, "reload">;
}

const by = (name: string) => ({ param: escapeParams({ name }) });

export const fetchConnections = ({ api }: Models) => take(api.connections.$get());

export const fetchConnection = ({ api }: Models, name: string) =>
  take(api.connections[":name"].$get(by(name)));

export const addConnection = ({ api, session }: Models, json: NewConnectionBody) =>
  session.whileSignedIn(() => take(api.connections.$post({ json })));

export const changeConnection = ({ api, session }: Models, name: string, json: ChangedConnectionBody) =>
  session.whileSignedIn(() => take(api.connections[":name"].$patch({ ...by(name), json })));

export const removeConnection = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api.connections[":name"].$delete(by(name))));

export const addSecret = ({ api, session }: Models, name: string, json: NewConnectionSecretBody) =>
  session.whileSignedIn(() => take(api.connections[":name"].secrets.$post({ ...by(name), json })));

export const revokeSecret = ({ api, session }: Models, { name, id }: { name: string; id: string }) =>
  session.whileSignedIn(() =>
    take(api.connections[":name"].secrets[":id"].$delete({ param: escapeParams({ name, id }) }))
  );

export const fetchRequests = ({ api }: Models, name: string, query: FilterQuery) =>
  take(api.connections[":name"].requests.$get({ ...by(name), query }));

export const fetchMatches = ({ api }: Models, name: string, query: FilterQuery) =>
  take(api.connections[":name"].matches.$get({ ...by(name), query }));

export function decideMatches({ api, session }: Models, name: string, { decision, ids }: MatchDecisionBody) {
  const json = { decision, ids: ids === "all" ? ids : [...ids] };
  return session.whileSignedIn(() => take(api.connections[":name"].matches.$post({ ...by(name), json })));
}

export const runConnectionTest = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api.connections[":name"].test.$post({ ...by(name) })));

export function connectionHref(name: string): string {
  return `/connections/${encodeURIComponent(name)}`;
}

/** Whether the connection works, for lists and headings. */
export function connectionState({ settings, lacksTarget, lastRequest }: ConnectionRow) {
  if (lacksTarget) {
    return { tone: "bad", shape: "cross", label: t("connections.state_lacks_target") } as const;
  }
  if (settings.paused) return { tone: "wait", shape: "pause", label: t("common.paused") } as const;
  if (settings.dryRun) return { tone: "wait", shape: "ring", label: t("connections.state_dry_run") } as const;
  if (lastRequest === null) {
    return { tone: "idle", shape: "ring", label: t("connections.state_unused") } as const;
  }
  return { tone: "ok", shape: "check", label: t("common.active") } as const;
}

/** A secret that ends earlier is announced. */
const SOON_MS = 14 * 86_400_000;

/** Whether the identity provider can still sign in soon: the newest valid secret counts, because a rotation ends the others. */
export function secretState(secrets: readonly ConnectionSecretRow[], nowMs: number) {
  const ends = secrets.map(({ expiresMs }) => expiresMs ?? Infinity).filter((endMs) => endMs > nowMs);
  const lastMs = Math.max(...ends);
  if (ends.length === 0) {
    return { tone: "bad", shape: "cross", label: t("connections.secrets_invalid") } as const;
  }
  if (lastMs - nowMs >= SOON_MS) {
    return { tone: "ok", shape: "key", label: t("connections.secrets_valid") } as const;
  }
  const label = t("connections.secrets_soon", { time: relativeText(lastMs, nowMs) });
  return { tone: "wait", shape: "clock", label } as const;
}
