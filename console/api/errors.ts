// Why an HTTP caller is told no: one row for each reason, with its status and its sentence.

import { HttpError } from "../../platform/http_error.ts";
import type { Receipt } from "../../scim/ports.ts";

/** One reason. `message` is what a person reads; programs branch on the row's name. */
interface RefusalRow {
  readonly status:
    | 400
    | 401
    | 403
    | 404
    | 405
    | 408
    | 409
    | 410
    | 413
    | 414
    | 415
    | 421
    | 429
    | 500
    | 502
    | 503;
  readonly message: string;
}

export const REFUSALS = {
  bad_target: { status: 400, message: "The request line must name a path, not a whole address." },
  bad_host: { status: 400, message: "The request needs exactly one well-formed Host." },
  foreign_host: { status: 421, message: "This server is not known by that name. Set http.public_url to it." },
  method: { status: 405, message: "That method is not supported here." },
  target_too_long: { status: 414, message: "The address is too long." },
  overloaded: { status: 503, message: "Too many requests are in progress. Try again in a moment." },
  body_too_large: {
    status: 413,
    message: "The body is too large: at most 1 MiB, and 64 KiB before you are signed in.",
  },
  body_too_slow: { status: 408, message: "The body took too long to arrive." },
  body_broken: { status: 400, message: "The body ended early." },
  not_json: { status: 415, message: "Send application/json." },
  malformed: { status: 400, message: "The body is not the JSON that this address takes." },
  not_same_origin: { status: 403, message: "That request did not come from this site's own pages." },
  not_found: { status: 404, message: "There is nothing here." },
  not_signed_in: { status: 401, message: "Sign in to go on." },
  wrong_sign_in: { status: 401, message: "That name and password do not match." },
  code_needed: { status: 401, message: "Now the code of the authenticator app, or a recovery code." },
  wrong_code: { status: 401, message: "That code is wrong, or was used already." },
  locked_out: { status: 429, message: "Too many wrong codes for this account." },
  step_up: {
    status: 403,
    message: "Confirm your sign-in first. This action needs a factor from the last 5 minutes.",
  },
  wrong_person: { status: 403, message: "That belongs to another administrator." },
  passkey_needed: { status: 403, message: "Confirm with your passkey. The password alone is not enough." },
  passkey_refused: { status: 401, message: "That passkey is not known here, or its answer came too late." },
  passkey_known: { status: 409, message: "That passkey is registered already." },
  passkeys_need_name: {
    status: 400,
    message: "Passkeys need a host name. You opened this console by IP address.",
  },
  too_many_passkeys: { status: 409, message: "An account holds at most 10 passkeys. Remove one first." },
  no_totp: { status: 409, message: "No authenticator app is being set up. Begin again." },
  last_factor: { status: 409, message: "This is the last way to sign in to this account." },
  last_owner: { status: 409, message: "The last owner who can sign in has to stay one." },
  settings_admin: { status: 409, message: "This administrator is defined in the settings file." },
  provider_admin: { status: 409, message: "The sign-in provider decides this." },
  unknown_administrator: { status: 404, message: "That administrator is not known." },
  name_taken: { status: 409, message: "An administrator or an invitation has that name already." },
  too_many_administrators: { status: 409, message: "There are 1,000 administrators already." },
  unknown_session: { status: 404, message: "That session is over." },
  bad_api_token: { status: 401, message: "That API token is not good: expired, revoked or not ours." },
  browser_only: { status: 403, message: "Only a browser that is signed in can do that." },
  not_for_tokens: { status: 403, message: "An API token cannot do that. Sign in." },
  too_many_tokens: { status: 409, message: "There are 200 API tokens already. Revoke one first." },
  changed_meanwhile: { status: 409, message: "This was changed in the meantime. Load it again." },
  no_oidc: { status: 404, message: "No sign-in provider is set up." },
  oidc_unreachable: { status: 502, message: "The sign-in provider did not answer, or not as it should." },
  oidc_denied: { status: 403, message: "The sign-in provider did not let you in." },
  oidc_state: { status: 400, message: "That sign-in took too long, or began elsewhere. Begin again." },
  oidc_code: { status: 502, message: "The sign-in provider did not take its own code back." },
  oidc_token: { status: 403, message: "What the sign-in provider said about you could not be verified." },
  oidc_name: { status: 403, message: "The sign-in provider gave no name that can be used here." },
  oidc_no_role: { status: 403, message: "The sign-in provider knows you, but gives you no role here." },
  role: { status: 403, message: "Your role does not allow that." },
  too_many_attempts: { status: 429, message: "Too many failed sign-ins from this address." },
  busy: { status: 503, message: "Too many sign-ins are being checked at once. Try again in a moment." },
  too_many_streams: { status: 503, message: "Too many live pages are open." },
  bad_invitation: {
    status: 410,
    message: "This invitation is no longer good. Ask an owner for a new one.",
  },
  bad_set_up_link: {
    status: 410,
    message:
      "This set-up link is no longer valid. Until there is an owner, each start of the server writes a new link to first-start.txt in the data directory.",
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
  account_changed: {
    status: 410,
    message:
      "This is no longer valid: the account that it was made for was deactivated or removed. Ask your administrator for a new link.",
  },
  already_used: { status: 410, message: "That invitation was used already." },
  expired: { status: 410, message: "That has expired." },
  unknown_request: { status: 404, message: "That request is not known to this phone." },
  wrong_number: { status: 403, message: "That was not the number of the login, so it was denied." },
  too_many_tries: { status: 429, message: "Too many tries. Wait a few minutes." },
  bad_query: { status: 400, message: "A filter in the address is not what it should be." },
  no_directory: { status: 404, message: "This console runs without a directory." },
  unknown_target: { status: 404, message: "There is no target of that name." },
  unknown_object: { status: 404, message: "That is not in the directory." },
  unknown_client: { status: 404, message: "No RADIUS client has that name." },
  unknown_pairing: { status: 404, message: "That factor is gone already." },
  object_exists: { status: 409, message: "The directory has that name already." },
  bad_value: { status: 400, message: "A value cannot be kept." },
  bad_contact: { status: 400, message: "An e-mail address or a phone number is not valid." },
  bad_filter: { status: 400, message: "That search cannot be answered." },
  bad_number: {
    status: 400,
    message: "A phone number is +, country code and digits, 8 to 15 digits in all, such as +14155550123.",
  },
  bad_user_name: {
    status: 400,
    message: "A user name has 1 to 256 characters, no control character and no slash.",
  },
  bad_phone_name: {
    status: 400,
    message:
      "A phone's name has 1 to 60 characters, none of them a control character or a turn of direction.",
  },
  bad_device_id: {
    status: 400,
    message: "The pairing id of a device has 1 to 128 printable characters and no blank.",
  },
  bad_seed: { status: 400, message: "A TOTP secret is base32 (A to Z, 2 to 7) of at least 16 characters." },
  known_seed: { status: 409, message: "The user has that TOTP secret already." },
  pairing_taken: { status: 409, message: "That pairing id is in use. Revoke it at its user first." },
  too_many_pairings: { status: 409, message: "This user has as many factors as are kept. Revoke one first." },
  no_invitations: {
    status: 409,
    message: "Phones are invited by the external second-factor service, not here.",
  },
  no_totp_begun: { status: 410, message: "That secret was not confirmed in time. Begin again." },
  wrong_totp: {
    status: 400,
    message: "That is not the code of this secret. Check the phone's clock, and try the next code.",
  },
  backend_failed: { status: 502, message: "A backend refused the change. Nothing was changed." },
  backend_unreachable: { status: 503, message: "A backend cannot be reached. Nothing was changed." },
  busy_target: { status: 503, message: "Too much is asked of the directory at once. Try again in a moment." },
  login_gone: { status: 404, message: "That login is not known here, or not kept any more." },
  too_many_chosen: { status: 400, message: "At most 10,000 users can be chosen at once. Narrow the list." },
  selection_changed: {
    status: 409,
    message: "The list matches other users now than when it was looked at. Look again, then do it.",
  },
  too_much_under_way: { status: 429, message: "Enough of your work is under way. Let it end first." },
  unknown_job: { status: 404, message: "Nothing of yours by that name is under way or kept." },
  cannot_undo: { status: 409, message: "That cannot be taken back, or was taken back already." },
  unknown_import: { status: 404, message: "That import is over. Choose the file again." },
  import_too_large: { status: 413, message: "A file may have up to 8 MiB of text." },
  import_not_now: { status: 409, message: "The import is busy, or was applied already." },
  import_row_fixed: {
    status: 400,
    message: "That row cannot be put right here. Skip it, or change the file.",
  },
  bad_address: { status: 400, message: "Not an IP address, nor a range such as 192.0.2.0/24." },
  bad_affix: {
    status: 400,
    message:
      "Not a domain or a realm. Enter it without backslash, @ and blanks, such as CORP or corp.example.",
  },
  bad_separator: {
    status: 400,
    message: "A separator is one punctuation mark. A dash, a letter, a digit or a blank is not allowed.",
  },
  client_taken: { status: 409, message: "A RADIUS client has that name already." },
  settings_client: { status: 409, message: "This client is defined in the settings file. Change it there." },
  settings_replies: {
    status: 409,
    message: "The settings file gives this group its reply attributes. Change them there.",
  },
  too_many_replies: { status: 409, message: "2,000 groups have reply attributes already." },
  bad_server: {
    status: 400,
    message: "A server is host:port, such as 192.0.2.20:1812 or [2001:db8::1]:1812.",
  },
  no_server_secret: { status: 400, message: "The server of the first factor needs its shared secret." },
  too_many_clients: { status: 409, message: "There are 2,000 RADIUS clients already." },
  bad_credential_name: {
    status: 400,
    message:
      "The name of a credential has 1 to 64 characters: letters A to Z, digits, dot, dash and underscore.",
  },
  bad_credential_password: {
    status: 400,
    message: "The password of a credential has 12 to 1024 characters and no control character.",
  },
  unknown_backend: { status: 404, message: "The target has no backend of that name." },
  unknown_credential: { status: 404, message: "No credential has that name." },
  settings_credential: {
    status: 409,
    message: "This credential is defined in the settings file. Change it there, and restart the server.",
  },
  credential_taken: { status: 409, message: "A credential has that name already." },
  unknown_part: { status: 404, message: "That part cannot be tested." },
  me_over: { status: 401, message: "Your visit is over. Use your phone or a new link to come back." },
  me_step_up: {
    status: 403,
    message: "Enter a code from your phone's page or your authenticator app first.",
  },
  wrong_me_code: { status: 403, message: "That code is wrong, or it was used already. Try the next one." },
  me_inactive: { status: 403, message: "This account is deactivated. Ask your administrator." },
  bad_me_link: {
    status: 410,
    message:
      "This link was used, is too old, or was replaced by a newer one. Ask your administrator for a new one.",
  },
  not_this_phone: { status: 403, message: "This phone is not paired for that user." },
  last_own_factor: {
    status: 409,
    message:
      "Without it you could not log in: you have no other factor, or it added the others. Ask your administrator for a link.",
  },
  unknown_notice: { status: 404, message: "That notice was dismissed, or replaced by a newer one." },
  internal: { status: 500, message: "Something went wrong here. The server's log says what." },
} as const satisfies Record<string, RefusalRow>;

/** The name of a reason. */
export type RefusalCode = keyof typeof REFUSALS;

/** Who made the newest change of an object, and when (milliseconds since the epoch). */
export interface LastChange {
  /** As in the audit log: an administrator's name, `scim:hr`, `token:ci`. */
  readonly actor: string;
  readonly atMs: number;
  /** The caller made it, in another tab or on another computer. */
  readonly isOwn: boolean;
}

/** The body of every refusal. `id` is in the log too, so that a person can quote it. */
export interface RefusalBody {
  readonly error: {
    readonly code: RefusalCode;
    readonly message: string;
    readonly id?: string;
    /** What each backend did, where some were asked. */
    readonly receipt?: Receipt;
    /** With `changed_meanwhile`: the change that came first. */
    readonly lastChange?: LastChange;
  };
}

/** Thrown to refuse a request; one handler renders the response. */
export class Refusal extends HttpError {
  readonly code: RefusalCode;
  /** Goes into the body beside the code and the sentence. */
  readonly receipt: Receipt | null = null;
  lastChange: LastChange | null = null;

  constructor(code: RefusalCode, headers: Readonly<Record<string, string>> = {}) {
    const { status, message } = REFUSALS[code];
    super(message, { status, headers });
    this.name = "Refusal";
    this.code = code;
  }
}

/** The answer for a refusal, as JSON. */
export function refusalResponse(refusal: Refusal): Response {
  const { code, message, status, headers, receipt, lastChange } = refusal;
  const body: RefusalBody = {
    error: {
      code,
      message,
      ...(receipt === null ? {} : { receipt }),
      ...(lastChange === null ? {} : { lastChange }),
    },
  };
  return Response.json(body, { status, headers });
}
