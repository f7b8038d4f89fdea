// The error codes of the console's API: one row for each, with its status and its English message. Programs branch on the code.
// The English catalogue of the browser takes these messages; other languages translate them as `errors.<code>`.

export interface ErrorRow {
  readonly status: number;
  readonly message: string;
  /** The message of a response names the value or the backend, so it is shown as it is and has no translation. */
  readonly isDetailed?: true;
}

export const ERROR_CODES = {
  // Requests
  bad_target: { status: 400, message: "The request line must contain a path, not an absolute URL." },
  bad_host: { status: 400, message: "The request needs exactly one well-formed Host." },
  foreign_host: { status: 421, message: "Unknown host name. Set http.public_url to this address." },
  method: { status: 405, message: "That method is not supported here." },
  target_too_long: { status: 414, message: "The address is too long." },
  overloaded: { status: 503, message: "Too many requests are in progress. Try again in a moment." },
  store_silent: { status: 503, message: "The store does not answer. Try again in a moment." },
  mixed_versions: {
    status: 409,
    message:
      "The store has the format of an earlier version. Upgrade and start all nodes: then settings, clients and directories can be changed.",
  },
  body_too_large: {
    status: 413,
    message: "The body is too large (limit 1 MiB; 64 KiB before sign-in).",
  },
  body_too_slow: { status: 408, message: "The body took too long to arrive." },
  body_broken: { status: 400, message: "The body ended early." },
  not_json: { status: 415, message: "Send application/json." },
  malformed: {
    status: 400,
    message:
      "The request is not valid. A field is missing, unknown, too short, too long or in the wrong format.",
  },
  bad_field: { status: 400, message: "The value of this field is not allowed." },
  not_same_origin: { status: 403, message: "This request did not come from a page of this site." },
  not_found: { status: 404, message: "This does not exist." },
  bad_query: { status: 400, message: "A query parameter is not valid." },
  changed_meanwhile: { status: 409, message: "This was changed in the meantime. Reload and try again." },
  unreadable_entry: {
    status: 409,
    message: "The stored settings or secrets of this entry cannot be read. Remove it, and add it again.",
  },
  bad_settings: { status: 422, message: "These settings are not valid.", isDetailed: true },
  target_counts_changed: {
    status: 409,
    message: "The directory has other users or groups now. Check the numbers and confirm again.",
  },
  setting_unknown_change: { status: 404, message: "This change can no longer be undone." },
  mail_off: { status: 409, message: "No mail server is configured. See Settings, Mail." },
  no_mail_address: {
    status: 409,
    message: "No mail can be sent to this user. Check the user's mail address and the mail server.",
  },
  bad_mail_address: { status: 422, message: "This mail address is not valid." },
  bad_mail_values: { status: 422, message: "The values of this mail are not valid." },
  bad_mail_template: {
    status: 422,
    message:
      "The template is not valid: a placeholder is unknown or missing, or the text is empty or too long.",
  },
  mail_queue_full: { status: 503, message: "Too many mails wait or failed. Remove failed mails." },
  too_many_changes: { status: 429, message: "Too many requests in a short time. Try again in a minute." },
  too_many_streams: { status: 503, message: "Too many live pages are open." },
  internal: { status: 500, message: "Something went wrong on the server. See the server log for details." },
  // Sign-in and administrators
  not_signed_in: { status: 401, message: "Sign in to continue." },
  wrong_sign_in: { status: 401, message: "Wrong name or password." },
  code_needed: { status: 401, message: "Enter the code from your authenticator app, or a recovery code." },
  wrong_code: { status: 401, message: "That code is wrong or was already used." },
  locked_out: { status: 429, message: "Too many wrong codes for this account." },
  codes_locked: {
    status: 429,
    message:
      "Too many wrong codes. Another owner, or a command on the gateway's machine, must unlock them. A recovery code still works.",
  },
  too_many_attempts: { status: 429, message: "Too many failed sign-ins from this address." },
  busy: { status: 503, message: "Too many sign-ins are being checked. Try again in a moment." },
  step_up: {
    status: 403,
    message:
      "Nothing was changed, because you didn't confirm your sign-in. This action needs a factor from the last 5 minutes.",
  },
  wrong_person: { status: 403, message: "This belongs to another administrator." },
  role: { status: 403, message: "Your role does not allow this." },
  second_factor_needed: {
    status: 403,
    message: "Set up a second factor first: a passkey or an authenticator app.",
  },
  passkey_or_code_needed: {
    status: 401,
    message:
      "A second factor is required, and this account has a passkey. Use the passkey, or enter a recovery code.",
  },
  passkey_needed: { status: 403, message: "Confirm with your passkey. The password alone is not enough." },
  passkey_refused: { status: 401, message: "This passkey isn't registered, or its response came too late." },
  passkey_known: { status: 409, message: "That passkey is already registered." },
  passkeys_need_name: {
    status: 400,
    message: "Passkeys need a host name. You opened this console by IP address.",
  },
  too_many_passkeys: { status: 409, message: "An account can have at most 10 passkeys. Remove one first." },
  no_totp: { status: 409, message: "No setup of an authenticator app is in progress. Start again." },
  last_factor: {
    status: 409,
    message: "You can't remove your only sign-in method.",
  },
  last_owner: { status: 409, message: "At least one owner must be able to sign in." },
  settings_admin: { status: 409, message: "This administrator is defined in the settings file." },
  provider_admin: { status: 409, message: "The sign-in provider manages this." },
  unknown_administrator: { status: 404, message: "That administrator does not exist." },
  unknown_alert: { status: 404, message: "This alert is not open any more." },
  name_taken: { status: 409, message: "An administrator or an invitation with this name already exists." },
  too_many_administrators: { status: 409, message: "There are already 1,000 administrators." },
  own_lock: {
    status: 409,
    message: "Another owner, or a command on the gateway's machine, must unlock your codes.",
  },
  unknown_session: { status: 404, message: "That session has ended." },
  bad_api_token: { status: 401, message: "This API token is not valid. It may be expired or revoked." },
  browser_only: { status: 403, message: "Only a signed-in browser can do this." },
  too_many_tests: {
    status: 429,
    message: "You sent five tests in the last minute. Wait a minute, then try again.",
  },
  not_for_tokens: { status: 403, message: "API tokens can't do this. Sign in instead." },
  too_many_tokens: { status: 409, message: "There are already 200 API tokens. Revoke one first." },
  no_oidc: { status: 404, message: "No sign-in provider is configured." },
  oidc_unreachable: {
    status: 502,
    message: "The sign-in provider sent no response, or an invalid one.",
  },
  oidc_denied: { status: 403, message: "The sign-in provider denied the sign-in." },
  oidc_state: {
    status: 400,
    message: "The sign-in expired or started in another browser. Start again.",
  },
  oidc_code: { status: 502, message: "The sign-in provider rejected its own authorization code." },
  oidc_token: { status: 403, message: "The sign-in provider's token could not be verified." },
  oidc_name: { status: 403, message: "The sign-in provider sent no usable user name." },
  oidc_no_role: { status: 403, message: "Your account at the sign-in provider has no role in this console." },
  bad_invitation: { status: 410, message: "This invitation is not valid. Ask an owner for a new one." },
  bad_set_up_link: {
    status: 410,
    message:
      "This set-up link is no longer valid. Until an owner exists, each server start writes a new link to first-start.txt in the data directory.",
  },
  weak_password: { status: 400, message: "The password needs at least 12 characters." },
  bad_name: { status: 400, message: "A name has 1 to 64 characters and no control characters." },
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
  // Users, groups and their factors
  no_directory: {
    status: 404,
    message: "This console has no directory.",
  },
  unknown_target: { status: 404, message: "There is no directory with this name." },
  unknown_object: { status: 404, message: "This object is not in the directory." },
  not_in_trash: {
    status: 404,
    message:
      "This user is not in the trash. It was restored, deleted permanently, or its 30 days have passed.",
  },
  trash_name_taken: {
    status: 409,
    message: "Another user has this name now. Delete that user first, then restore this one.",
  },
  object_exists: {
    status: 409,
    message: "An object with this name already exists in the directory.",
    isDetailed: true,
  },
  bad_value: { status: 400, message: "A value is not valid.", isDetailed: true },
  bad_contact: {
    status: 400,
    message: "An e-mail address or a phone number is not valid.",
    isDetailed: true,
  },
  bad_filter: { status: 400, message: "This search is not supported.", isDetailed: true },
  bad_number: {
    status: 400,
    message: "Enter the number with + and country code, 8 to 15 digits in total.",
  },
  bad_user_name: {
    status: 400,
    message: "A user name has 1 to 256 characters, no control characters, and is not . or .. beside a slash.",
  },
  unknown_pairing: { status: 404, message: "This factor was already removed." },
  bad_device_id: {
    status: 400,
    message: "A pairing id has 1 to 128 printable characters and no spaces.",
  },
  bad_seed: {
    status: 400,
    message:
      "A TOTP secret is base32 (A to Z, 2 to 7) of at least 16 characters, or an otpauth://totp URI with 6 to 8 digits and 30 or 60 seconds.",
  },
  known_seed: { status: 409, message: "The user already has this TOTP secret." },
  pairing_taken: { status: 409, message: "That pairing id is in use. Revoke it at its user first." },
  too_many_pairings: {
    status: 409,
    message: "This user has the maximum number of factors. Revoke one.",
    isDetailed: true,
  },
  unknown_hardware_token: { status: 404, message: "There is no hardware token with this serial number." },
  hardware_token_taken: {
    status: 409,
    message: "This token belongs to another user. Unassign it there first.",
  },
  too_many_hardware_tokens: {
    status: 409,
    message: "This user has 10 hardware tokens already. Unassign one first.",
  },
  hardware_token_codes_wrong: {
    status: 422,
    message: "These are not two consecutive codes of this token. Enter two codes that follow each other.",
  },
  hardware_token_unreadable: {
    status: 409,
    message:
      "The seed of this token cannot be read with this master key. Remove the token and import it again.",
  },
  too_many_tokens_stored: {
    status: 409,
    message: "The limit of 100,000 hardware tokens is reached. Remove tokens that are no longer used.",
  },
  token_file_too_large: { status: 413, message: "The file is larger than 16 MiB. Split it." },
  no_invitations: {
    status: 409,
    message: "The external second-factor service pairs phones, not this console.",
  },
  administrator_user: {
    status: 403,
    message: "This user is also an administrator of the console. A user manager or an owner can help.",
  },
  bad_bypass: { status: 400, message: "These limits of a bypass code are not allowed.", isDetailed: true },
  bypass_inactive: {
    status: 409,
    message: "Only an active user of the directory can get a bypass code or a new phone.",
  },
  no_lost_phone: { status: 422, message: "Select the phone that was lost." },
  no_bypass: { status: 404, message: "This user has no bypass code, or it was used or has expired." },
  too_many_bypass_codes: {
    status: 409,
    message: "There are already 10,000 bypass codes. Revoke some first.",
  },
  no_verification: {
    status: 409,
    message: "The external second-factor service sends the push requests, not this console.",
  },
  verification_waiting: {
    status: 409,
    message: "The phone of this user already shows a question of the help desk. Wait for its end.",
  },
  too_many_verifications: {
    status: 429,
    message: "This user was verified too often in the last hour. Wait, or verify the caller in another way.",
  },
  no_totp_begun: { status: 410, message: "The secret was not confirmed in time. Start again." },
  wrong_totp: {
    status: 400,
    message: "The code does not match this secret. Check the phone's clock and try the next code.",
  },
  read_only_connector: {
    status: 403,
    message: "The connector that has this object is read-only. Nothing was changed.",
    isDetailed: true,
  },
  backend_failed: {
    status: 502,
    message: "A connector rejected the change. Nothing was changed.",
    isDetailed: true,
  },
  backend_unreachable: {
    status: 503,
    message: "A connector cannot be reached. Nothing was changed.",
    isDetailed: true,
  },
  busy_target: {
    status: 503,
    message: "The directory is busy. Try again in a moment.",
  },
  login_gone: { status: 404, message: "This sign-in does not exist or is no longer available." },
  unknown_vpn_session: { status: 404, message: "This VPN session has ended." },
  unknown_notice: { status: 404, message: "This notice was dismissed or replaced by a newer one." },
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
  // Jobs and imports
  too_many_chosen: { status: 400, message: "You can select at most 10,000 users. Narrow the list." },
  selection_changed: {
    status: 409,
    message: "The list now matches other users than when you selected them. Check the list and try again.",
  },
  too_much_under_way: { status: 429, message: "Too many operations in progress. Wait until one finishes." },
  other_node: {
    status: 409,
    message:
      "Another node began this and has it in memory. Set the load balancer to send each browser to one node.",
  },
  unknown_job: { status: 404, message: "This operation is no longer available." },
  cannot_undo: { status: 409, message: "This can't be undone, or was already undone." },
  unknown_import: { status: 404, message: "This import has expired. Choose the file again." },
  import_too_large: { status: 413, message: "The file is larger than 8 MiB." },
  import_not_now: { status: 409, message: "The import is in progress or already completed." },
  import_row_fixed: {
    status: 400,
    message: "This row can't be fixed here. Skip it or change the file.",
  },
  // RADIUS clients, reply attributes, directories and credentials
  unknown_client: { status: 404, message: "No RADIUS client has this name." },
  certificate_taken: {
    status: 409,
    message: "Another RADIUS client is known by the same certificate.",
  },
  client_taken: { status: 409, message: "A RADIUS client with this name already exists." },
  settings_client: { status: 409, message: "This client is defined in the settings file. Change it there." },
  settings_replies: {
    status: 409,
    message: "The reply attributes of this group are defined in the settings file. Change them there.",
  },
  too_many_replies: { status: 409, message: "There are already 2,000 groups with reply attributes." },
  no_server_secret: { status: 400, message: "Enter the shared secret of the first-factor server." },
  unknown_policy: { status: 404, message: "This policy no longer exists." },
  policies_too_large: {
    status: 409,
    message: "The policies are too large together. Name groups instead of single users.",
  },
  policies_lock_out_users: {
    status: 409,
    message: "With these policies, no user can sign in any more. Confirm this, or change the policies.",
  },
  policies_lock_out_admins: {
    status: 409,
    message:
      "With these policies, no administrator who is also a user can sign in any more. Confirm this, or change the policies.",
  },
  too_many_clients: { status: 409, message: "There are already 2,000 RADIUS clients." },
  bad_filter_name: { status: 400, message: "Enter a name of 1 to 64 characters." },
  too_many_filters: {
    status: 409,
    message: "This list already has 20 saved filters. Remove one first.",
  },
  unknown_filter: { status: 404, message: "This saved filter does not exist any more." },
  unknown_backend: { status: 404, message: "The directory has no connector with this name." },
  bad_credential_name: {
    status: 400,
    message:
      "The name of a credential has 1 to 64 characters: letters A to Z, digits, dots, hyphens and underscores.",
  },
  bad_credential_password: {
    status: 400,
    message: "The password of a credential has 12 to 1024 characters and no control characters.",
  },
  unknown_credential: { status: 404, message: "No credential has this name." },
  settings_credential: {
    status: 409,
    message: "This credential is defined in the settings file. Change it there, and restart the server.",
  },
  credential_taken: { status: 409, message: "A credential or a connection with this name already exists." },
  bad_connection_name: {
    status: 400,
    message:
      "The name of a connection begins with a letter and has at most 40 characters: letters a to z, digits and hyphens.",
  },
  unknown_connection: { status: 404, message: "No connection has this name." },
  connection_taken: {
    status: 409,
    message: "A connection or a provisioning token with this name already exists.",
  },
  connection_name_reserved: {
    status: 409,
    message: "A connection with this name was removed in the last 30 days. Choose another name.",
  },
  too_many_connections: { status: 409, message: "There are already 200 connections. Remove one first." },
  unknown_connection_secret: {
    status: 404,
    message: "The connection has no such secret, or it was already revoked.",
  },
  too_many_connection_secrets: {
    status: 409,
    message: "A connection can have at most 20 secrets. Revoke one first.",
  },
  unknown_part: { status: 404, message: "This component can't be tested." },
  unknown_destination: { status: 404, message: "No log export destination has this name." },
  destination_taken: { status: 409, message: "A log export destination with this name already exists." },
  too_many_destinations: { status: 409, message: "There are already 10 log export destinations." },
  destination_authorization_again: {
    status: 400,
    message: "Enter the Authorization header again: the stored one is for another server.",
  },
  unknown_receiver: { status: 404, message: "No receiver of alerts has this name." },
  receiver_taken: { status: 409, message: "A receiver of alerts with this name already exists." },
  too_many_receivers: { status: 409, message: "There are already 10 receivers of alerts." },
  // The account page
  me_over: { status: 401, message: "Your session has ended. Use your phone or a new link to sign in again." },
  me_step_up: {
    status: 403,
    message:
      "Enter a code first. To remove a factor, enter a code of that factor, or of one that this phone did not add.",
  },
  wrong_me_code: { status: 403, message: "This code is wrong or was already used. Try the next one." },
  me_inactive: { status: 403, message: "This account is deactivated. Ask your administrator." },
  bad_me_link: {
    status: 410,
    message:
      "This link was used, has expired, or was replaced by a newer one. Ask your administrator for another.",
  },
  not_this_phone: { status: 403, message: "This phone is not paired with that user." },
  last_own_factor: {
    status: 409,
    message:
      "You can't sign in without it: you have no other factor, or it added the others. Ask your administrator for a link.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof ERROR_CODES;
