// The error codes about receivers of alerts, as rows of error_codes.ts.

import type { ErrorRow } from "./connection_errors.ts";

export const ALERT_ERRORS = {
  unknown_receiver: { status: 404, message: "No receiver of alerts has this name." },
  receiver_taken: { status: 409, message: "A receiver of alerts with this name already exists." },
  too_many_receivers: { status: 409, message: "There are already 10 receivers of alerts." },
} as const satisfies Record<string, ErrorRow>;
