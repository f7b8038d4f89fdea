// The error codes about destinations of the log export, as rows of error_codes.ts.

import type { ErrorRow } from "./connection_errors.ts";

export const LOG_EXPORT_ERRORS = {
  unknown_destination: { status: 404, message: "No log export destination has this name." },
  destination_taken: { status: 409, message: "A log export destination with this name already exists." },
  too_many_destinations: { status: 409, message: "There are already 10 log export destinations." },
  destination_authorization_again: {
    status: 400,
    message: "Enter the Authorization header again: the stored one is for another server.",
  },
} as const satisfies Record<string, ErrorRow>;
