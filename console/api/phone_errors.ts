// The error codes of approvals, messages and the phone page. A part of the table in error_codes.ts.

import type { ErrorRow } from "./connection_errors.ts";

export const PHONE_ERRORS = {
  already_decided: { status: 409, message: "This request was already answered." },
  message_gone: { status: 410, message: "This message has expired and is no longer available." },
  no_phone_page: {
    status: 404,
    message: "This gateway uses an external second-factor service, so it has no phone page.",
  },
  no_approvals: { status: 404, message: "An external second-factor service handles approvals." },
  no_outbox: { status: 404, message: "An external telephony service sends the messages." },
  unknown_token: { status: 401, message: "This phone is not paired." },
  unknown_invitation: { status: 404, message: "This invitation is not valid." },
  account_changed: {
    status: 410,
    message:
      "This link is no longer valid: its account was deactivated or removed. Ask your administrator for a new one.",
  },
  already_used: {
    status: 410,
    message: "This invitation was already used.",
  },
  expired: { status: 410, message: "This has expired." },
  unknown_request: { status: 404, message: "This phone has no such request." },
  wrong_number: { status: 403, message: "The number was wrong, so the sign-in was denied." },
  too_many_tries: { status: 429, message: "Too many attempts. Wait a few minutes." },
  push_off: {
    status: 409,
    message: "Notifications are off. They are off here, or this phone did not allow them.",
  },
  push_host_not_allowed: {
    status: 422,
    message:
      "This browser's push service is not allowed here. Ask your administrator to add it to push.hosts.",
  },
  bad_push_subscription: { status: 422, message: "The browser's push subscription is not valid." },
  bad_phone_name: {
    status: 400,
    message: "A phone name has 1 to 60 characters, no control characters and no text direction marks.",
  },
} as const satisfies Record<string, ErrorRow>;
