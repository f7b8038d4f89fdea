// The calls of bulk actions on users, and of their jobs.

import type { BulkAction, BulkPreview, JobView } from "../../../api/api_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";

/** The filters of the list of users; an empty text for an unused filter. */
export type SelectionFilters = Readonly<
  Record<"q" | "status" | "enrolled" | "inactive" | "backend" | "sync", string>
>;

/** The users of the action: by name, or all that match the filters. */
export type UserChoice =
  | { readonly names: readonly string[] }
  | { readonly filters: SelectionFilters; readonly expected: number };

export interface BulkActionRequest {
  readonly target: string;
  readonly choice: UserChoice;
  readonly action: BulkAction;
  readonly group?: string;
  readonly backends: readonly string[] | null;
}

/** An action with its users. */
export interface PendingAction {
  readonly action: BulkAction;
  readonly selected: Pick<BulkActionRequest, "target" | "choice">;
}

/** The server validates the filters. */
type BulkBody = Parameters<Models["api"]["bulk"]["$post"]>[0]["json"];

export function startBulkJob({ api, session }: Models, request: BulkActionRequest): Promise<JobView> {
  const { target, backends, ...rest } = request;
  const json = {
    ...rest,
    ...(target === "" ? {} : { target }),
    ...(backends === null ? {} : { backends: [...backends] }),
  } as BulkBody;
  return session.whileSignedIn(() => take(api.bulk.$post({ json })));
}

export function previewBulkAction(
  { api, session }: Models,
  { target, choice, group }: Pick<BulkActionRequest, "target" | "choice" | "group">,
): Promise<BulkPreview> {
  const json = {
    choice,
    ...(target === "" ? {} : { target }),
    ...(group === undefined ? {} : { group }),
  } as Pick<BulkBody, "choice" | "target" | "group">;
  return session.whileSignedIn(() => take(api.bulk.preview.$post({ json })));
}

export function createJobCalls({ api, session }: Models, id: string) {
  const one = api.jobs[":id"];
  const param = escapeParams({ id });
  return {
    view: (): Promise<JobView> => session.whileSignedIn(() => take(one.$get({ param }))),
    stop: (): Promise<JobView> => session.whileSignedIn(() => take(one.stop.$post({ param, json: {} }))),
    undo: (): Promise<JobView> => session.whileSignedIn(() => take(one.undo.$post({ param, json: {} }))),
  };
}
