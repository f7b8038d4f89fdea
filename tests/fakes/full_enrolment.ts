// The campaigns of a full console: one that ended, with an invited user, and one that still runs.

import type { CampaignView } from "../../console/api/enrolment/campaigns.ts";
import { eventually } from "../upstream/manual_clock.ts";

const API = "/console/api/enrolment";
const INVITED = "iris";

type Call = <T>(path: string, options?: { method?: string; json?: unknown }) => Promise<T>;

export async function fillEnrolment(
  { people, call }: {
    people: { put(name: string, attributes: Record<string, unknown>): Promise<void> };
    call: Call;
  },
  { user, text, group }: { user: string; text: string; group: string },
): Promise<void> {
  await people.put(INVITED, { displayName: text, emails: [{ value: "iris@example.org" }] });
  const start = async (json: object): Promise<string> =>
    (await call<{ campaign: CampaignView }>(`${API}/campaigns`, { method: "POST", json })).campaign.id;
  const ended = await start({
    ...{ name: text.slice(0, 100), choice: { names: [INVITED, user] }, options: { deadlineDays: 7 } },
  });
  await start({ name: "Group", choice: { group }, options: { perMinute: 1 } });
  await eventually("the first campaign ended", async () => {
    const { campaign } = await call<{ campaign: CampaignView }>(`${API}/campaigns/${ended}`);
    return campaign.state === "done";
  });
}
