// Why an HTTP caller is told no: one row for each reason, with its status and its sentence.

/** One reason. `message` is what a person reads; programs branch on the row's name. */
interface RefusalRow {
  readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 409 | 410 | 413 | 414 | 415 | 421 | 429 | 500 | 503;
  readonly message: string;
}

export const REFUSALS = {
  bad_target: { status: 400, message: "The request line must name a path, not a whole address." },
  bad_host: { status: 400, message: "The request needs exactly one well-formed Host." },
  foreign_host: { status: 421, message: "This server is not known by that name. Set http.public_url to it." },
  method: { status: 405, message: "That method is not supported here." },
  target_too_long: { status: 414, message: "The address is too long." },
  body_too_large: { status: 413, message: "The body is over 1 MiB." },
  body_too_slow: { status: 408, message: "The body took too long to arrive." },
  body_broken: { status: 400, message: "The body ended early." },
  not_json: { status: 415, message: "Send application/json." },
  malformed: { status: 400, message: "The body is not the JSON that this address takes." },
  not_same_origin: { status: 403, message: "That request did not come from this site's own pages." },
  not_found: { status: 404, message: "There is nothing here." },
  not_signed_in: { status: 401, message: "Sign in to go on." },
  wrong_sign_in: { status: 401, message: "That name and password do not match." },
  role: { status: 403, message: "Your role does not allow that." },
  too_many_attempts: { status: 429, message: "Too many failed sign-ins from this address." },
  busy: { status: 503, message: "Too many sign-ins are being checked at once. Try again in a moment." },
  too_many_streams: { status: 503, message: "Too many live pages are open." },
  bad_set_up_link: {
    status: 410,
    message:
      "This set-up link is no longer good. While nobody is the owner, each start of the server prints a new one.",
  },
  weak_password: { status: 400, message: "The password needs at least 12 characters." },
  bad_name: { status: 400, message: "A name has 1 to 64 characters, none of them a control character." },
  already_decided: { status: 409, message: "That request was decided already." },
  message_gone: { status: 410, message: "That message is over." },
  no_phone_page: {
    status: 404,
    message: "This gateway uses an external second-factor service, so it has no phone page.",
  },
  no_approvals: { status: 404, message: "Approvals are with an external second-factor service." },
  no_outbox: { status: 404, message: "Messages go to an external telephony service." },
  unknown_token: { status: 401, message: "This phone is not paired." },
  unknown_invitation: { status: 404, message: "That invitation is not known." },
  already_used: { status: 410, message: "That invitation was used already." },
  expired: { status: 410, message: "That has expired." },
  unknown_request: { status: 404, message: "That request is not known to this phone." },
  wrong_number: { status: 403, message: "That was not the number of the login, so it was denied." },
  too_many_tries: { status: 429, message: "Too many tries. Wait a few minutes." },
  internal: { status: 500, message: "Something went wrong here. The server's log says what." },
} as const satisfies Record<string, RefusalRow>;

/** The name of a reason. */
export type RefusalCode = keyof typeof REFUSALS;

/** The body of every refusal. `id` is in the log too, so that a person can quote it. */
export interface RefusalBody {
  readonly error: { readonly code: RefusalCode; readonly message: string; readonly id?: string };
}

/** Thrown by whoever says no; one handler turns it into an answer. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: RefusalCode, headers: Readonly<Record<string, string>> = {}) {
    super(REFUSALS[code].message);
    this.name = "Refusal";
    this.code = code;
    this.headers = headers;
  }
}

/** The answer for a refusal, as JSON. */
export function refusalResponse(refusal: Refusal): Response {
  const body: RefusalBody = { error: { code: refusal.code, message: refusal.message } };
  return Response.json(body, { status: REFUSALS[refusal.code].status, headers: refusal.headers });
}
