// The error codes about RADIUS clients, reply attributes, directories, credentials and connections, as rows of error_codes.ts.

export interface ErrorRow {
  readonly status: number;
  readonly message: string;
  /** The message of a response names the value or the backend, so it is shown as it is and has no translation. */
  readonly isDetailed?: true;
}

export const CONNECTION_ERRORS = {
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
} as const satisfies Readonly<Record<string, ErrorRow>>;
