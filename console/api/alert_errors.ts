// The error codes about receivers of alerts, as rows of error_codes.ts.

import type { ErrorRow } from "./connection_errors.ts";

export const ALERT_ERRORS = {
  unknown_receiver: { status: 404, message: "No receiver of alerts has this name." },
  receiver_taken: { status: 409, message: "A receiver of alerts with this name already exists." },
  too_many_receivers: { status: 409, message: "There are already 10 receivers of alerts." },
  receiver_addresses: { status: 400, message: "Enter 1 to 20 valid mail addresses." },
  receiver_url: { status: 400, message: "Not an https: address, or it contains a user name or a password." },
  receiver_http: {
    status: 400,
    message:
      "The address begins with http:, so alerts would travel unencrypted. Allow it explicitly, or use https:.",
  },
} as const satisfies Record<string, ErrorRow>;
