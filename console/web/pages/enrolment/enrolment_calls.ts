// The calls of the enrolment pages.

import type { CampaignPreview, CampaignView, SkipReason } from "../../../api/enrolment/campaigns.ts";
import type { EnrolmentPage } from "../../../api/enrolment/enrolment_report.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { FilterQuery } from "../../app/filters.ts";
import type { SelectionFilters } from "../users/user_calls.ts";

/** The users of a campaign: selected ones, those of an import, of a group, or of a list of users. */
export type InviteChoice =
  | { readonly names: readonly string[]; readonly file?: string }
  | { readonly group: string }
  | { readonly filters: SelectionFilters };

export interface InviteOptions {
  readonly maximum?: number;
  readonly perMinute: number;
  readonly deadlineDays: number;
  readonly reminders: boolean;
  readonly includesNumbers: boolean;
  readonly again: boolean;
}

/** The server validates the filters. */
type CampaignBody = Parameters<Models["api"]["enrolment"]["campaigns"]["$post"]>[0]["json"];

export function fetchEnrolment({ api }: Models, query: FilterQuery) {
  const asked = { query } as Parameters<typeof api.enrolment.report.$get>[0];
  return take(api.enrolment.report.$get(asked)) as Promise<EnrolmentPage>;
}

export function fetchEnrolmentOptions({ api, session }: Models) {
  return session.whileSignedIn(() => take(api.enrolment.options.$get()));
}

export function fetchCampaigns({ api }: Models): Promise<{ campaigns: readonly CampaignView[] }> {
  return take(api.enrolment.campaigns.$get());
}

export function previewInvitations(
  { api, session }: Models,
  request: { choice: InviteChoice; options: InviteOptions },
): Promise<CampaignPreview> {
  const json = request as Pick<CampaignBody, "choice" | "options">;
  return session.whileSignedIn(() => take(api.enrolment.campaigns.preview.$post({ json })));
}

export async function startInvitations(
  { api, session }: Models,
  request: { name: string; choice: InviteChoice; options: InviteOptions },
): Promise<CampaignView> {
  const json = request as CampaignBody;
  return (await session.whileSignedIn(() => take(api.enrolment.campaigns.$post({ json })))).campaign;
}

export function cancelCampaign({ api, session }: Models, id: string) {
  const param = escapeParams({ id });
  return session.whileSignedIn(() => take(api.enrolment.campaigns[":id"].cancel.$post({ param, json: {} })));
}

/** @param deadlineMs `null`: no deadline */
export function changeDeadline(
  { api, session }: Models,
  json: {
    readonly choice: { readonly names: readonly string[] } | { readonly campaign: string };
    readonly deadlineMs: number | null;
  },
): Promise<{ changed: number }> {
  const body = json as Parameters<typeof api.enrolment.deadline.$post>[0]["json"];
  return session.whileSignedIn(() => take(api.enrolment.deadline.$post({ json: body })));
}

/** The reasons with users, most frequent first. */
export function skipReasons(
  skipped: CampaignPreview["skipped"],
): readonly (readonly [reason: SkipReason, count: number])[] {
  return (Object.entries(skipped) as [SkipReason, number][]).sort(([, a], [, b]) => b - a);
}
