// The error codes about destinations of the log export, as rows of error_codes.ts.

import type { ErrorRow } from "./connection_errors.ts";

export const LOG_EXPORT_ERRORS = {
  unknown_destination: { status: 404, message: "No log export destination has this name." },
  destination_taken: { status: 409, message: "A log export destination with this name already exists." },
  too_many_destinations: { status: 409, message: "There are already 10 log export destinations." },
  destination_kind: { status: 400, message: "Not a kind of destination." },
  destination_url: {
    status: 400,
    message: "Not an https: address. User name and password belong in the Authorization header.",
  },
  destination_http: {
    status: 400,
    message:
      "The address begins with http:, so records would travel unencrypted. Allow it explicitly, or use https:.",
  },
  destination_host: { status: 400, message: "Not a host name or an IP address." },
  destination_port: { status: 400, message: "A port is a number from 1 to 65535." },
  destination_format: { status: 400, message: "This kind of destination does not have this format." },
  destination_facility: { status: 400, message: "A facility is a number from 0 to 23." },
  destination_records: { status: 400, message: "Choose at least one kind of records." },
  destination_hours: { status: 400, message: "The age of the backlog is 1 to 720 hours." },
  destination_count: { status: 400, message: "The size of the backlog is 1,000 to 5,000,000 records." },
  destination_ca: { status: 400, message: "The authority is not a certificate in PEM format." },
  destination_certificate: {
    status: 400,
    message: "The client certificate is not a certificate in PEM format.",
  },
  destination_key: {
    status: 400,
    message: "A client certificate needs its unencrypted private key in PEM format.",
  },
  destination_authorization: {
    status: 400,
    message: "The Authorization header has at most 2,000 printable ASCII characters.",
  },
  destination_authorization_again: {
    status: 400,
    message: "Enter the Authorization header again: the stored one is for another server.",
  },
} as const satisfies Record<string, ErrorRow>;
