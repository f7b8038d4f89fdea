// Calls of targets. A change waits for a sign-in or a recent factor.

import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { FilterQuery } from "../../app/filters.ts";

type ApiSession = Pick<Models, "api" | "session">;
const idOf = (name: string) => ({ param: escapeParams({ id: name }) });

/** @param query.sync `problem`: only directories with a connector that fails. */
export const fetchTargets = ({ api }: ApiSession, query: FilterQuery = {}) =>
  take(api.targets.$get({ query } as Parameters<typeof api.targets.$get>[0]));

export const fetchTarget = ({ api }: ApiSession, name: string) => take(api.targets[":id"].$get(idOf(name)));

export const fetchSample = ({ api }: ApiSession, name: string) =>
  take(api.targets[":id"].sample.$get(idOf(name)));

export const testBackend = ({ api, session }: ApiSession, target: string, backend: string) =>
  session.whileSignedIn(() => take(api.targets[":id"].test.$post({ ...idOf(target), json: { backend } })));

export const retryBackend = ({ api, session }: ApiSession, target: string, backend: string) =>
  session.whileSignedIn(() => take(api.targets[":id"].retry.$post({ ...idOf(target), json: { backend } })));

export const startTargetRefresh = ({ api, session }: ApiSession, target: string) =>
  session.whileSignedIn(() => take(api.targets[":id"].refresh.$post({ ...idOf(target), json: {} })));

export const previewMapping = (
  { api, session }: ApiSession,
  target: string,
  json: { user: string; rows: Record<string, string> },
) => session.whileSignedIn(() => take(api.targets[":id"].preview.$post({ ...idOf(target), json })));
