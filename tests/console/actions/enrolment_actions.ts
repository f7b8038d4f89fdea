// API actions on campaigns and on deadlines.

import type { CampaignView } from "../../../console/api/enrolment/campaigns.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import { addressOf } from "../enrolment/enrolment_scene.ts";
import type { ApiActions, Stage } from "./api_action.ts";

const CAMPAIGN = { name: "Rollout", choice: { names: ["ada"] } };

async function withCampaign({ site, ask }: Stage): Promise<string> {
  await site.people.put("ada", { emails: addressOf("ada") });
  const { campaign: { id } } = await ask<{ campaign: CampaignView }>("/enrolment/campaigns", {
    json: CAMPAIGN,
  });
  await eventually("ada is invited", async () => {
    const path = `/enrolment/campaigns/${id}`;
    return (await ask<{ campaign: CampaignView }>(path, { method: "GET" })).campaign.state === "done";
  });
  return id;
}

export const ENROLMENT_ACTIONS: ApiActions = {
  "POST /enrolment/campaigns/preview": { silent: "counts users, and changes nothing" },
  "POST /enrolment/campaigns": {
    async prepare({ site }) {
      await site.people.put("ada");
      return { path: "/enrolment/campaigns", json: CAMPAIGN };
    },
    action: "enrolment.start",
    object: "campaign:Rollout",
  },
  "POST /enrolment/campaigns/:id/cancel": {
    prepare: async (stage) => ({ path: `/enrolment/campaigns/${await withCampaign(stage)}/cancel` }),
    action: "enrolment.cancel",
    object: "campaign:Rollout",
  },
  "POST /enrolment/deadline": {
    async prepare(stage) {
      await withCampaign(stage);
      return { path: "/enrolment/deadline", json: { choice: { names: ["ada"] }, deadlineMs: null } };
    },
    action: "enrolment.change_deadline",
    object: "user:ada",
  },
};
