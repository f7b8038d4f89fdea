// The errors of campaigns. error_codes.ts has the others.

import type { ErrorRow } from "./connection_errors.ts";

export const ENROLMENT_ERRORS = {
  campaign_too_large: {
    status: 400,
    message: "A campaign can have at most 50,000 users. Narrow the selection.",
  },
  too_many_campaigns: {
    status: 409,
    message: "200 campaigns are running. Cancel one, or wait until one ends.",
  },
  unknown_campaign: {
    status: 404,
    message: "This campaign does not exist. Campaigns are kept for 180 days.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
