// The prose of docs/identity-providers.md. Numbers come from the constants that enforce them.

import { MIN_ALLOWED_DELETIONS, REQUEST_LOG_DAYS } from "../scim/v2/connections/connection_settings.ts";
import { DEFAULT_CONNECTION } from "../scim/v2/connections/connection_settings.ts";
import { PAGE_SIZE } from "../scim/v2/http/read_operations.ts";
import { CURSOR_TIMEOUT_SECONDS } from "../scim/v2/query/query_cursor.ts";

export const START = `<!-- deno-fmt-ignore-file -->

# Identity providers

Generated in part from the tables of the interface by \`deno task docs\`; do not edit.

Okta, Entra ID and other products create, change and deactivate the users and groups of a directory through \`/scim/v2/<directory>\`. This is SCIM 2.0 as in
RFC 7643, RFC 7644 and RFC 9865. The users can then sign in with the second factors that they enrol here. The first packet after a deactivation is rejected.

**The base address** is the public URL of the gateway, \`/scim/v2/\` and the name of the directory: \`https://gate.example.org/scim/v2/default\`. Do not use
\`/idm/scim\`: it is [another interface](scim.md), for your own programs.

Okta and Entra ID call the gateway from the internet. They need:

- a public name and a certificate that they trust (\`http.tls_cert\`, or a reverse proxy with TLS);
- \`http.public_url\` with exactly that name, because the gateway refuses other names with 421;
- for Okta, a directory without an underscore in its name.

The same users can also be written to an LDAP directory or another SCIM server. See the backends of the directory in the console.

## Connect

In the console, open **Identity providers** and select **Connect Okta**, **Connect Entra ID** or **Connect another**. The page of the connection shows the base
address, the token (once), these steps, and a test that waits for the first request. Only owners can create and change connections.
`;

export const AFTER_STEPS =
  `Entra ID can add \`?aadOptscim062020\` to the address. It is accepted and not required: the shapes that Entra ID sends without it are in
[Tolerated shapes](#tolerated-shapes).

Okta can send a password with new users. It is stored as a hash. It matters only if the gateway checks passwords of
this directory (\`first_factor = "directory"\`).

## Secrets

A connection has bearer tokens, client secrets, or both. The store has only their hashes. Each secret is shown once, and can expire.

- **Rotate**: select **Rotate** at the old secret. Both are accepted for the overlap that you choose. Enter the new one at the provider before the old one ends.
- **Revoke**: the next request with the secret is refused, on every node. Access tokens that were made with it end, too.
- **Last used** shows the time and the address of the newest request with each secret.

After too many wrong secrets from one address, requests with wrong secrets get 429. A correct secret always passes.

### OAuth 2.0 client credentials

A product that supports OAuth gets access tokens itself (RFC 6749 §4.4). The client ID is the name of the connection. A token is valid for an hour.

\`\`\`sh
curl https://gate.example.org/scim/oauth/token -d grant_type=client_credentials -d client_id=okta -d client_secret=css_…
\`\`\`

\`\`\`json
{ "access_token": "eyJ…", "token_type": "Bearer", "expires_in": 3600, "scope": "scim" }
\`\`\`

HTTP Basic with a [SCIM credential](scim.md#credentials) works, too. Such a credential may change every resource of its directories.

## What the provider's actions do
`;

export const ACTIONS = [
  [
    "create a user",
    "The user exists and can sign in. If an inactive user has the name, and **Activate inactive users again** is on, the user becomes active: 200 instead of 201.",
  ],
  [
    "change a user",
    "PUT replaces the user. It keeps the password, \\`active\\` and the members that the body leaves out, and removes other attributes. PATCH changes only what it names.",
  ],
  [
    "change userName or a group's displayName",
    "A rename. The id, the factors and the memberships stay. The history keeps the name of its time: the page of the earlier name links to the new one.",
  ],
  [
    "deactivate a user",
    "The user cannot sign in: sign-ins in progress end, and the next packet is rejected. The user leaves all groups, and factors are removed.",
  ],
  [
    "reactivate a user",
    "The user can sign in, and must enrol factors again. **The user stays out of the groups** until the provider adds the user again. In Okta, push the group again. In Entra ID, use Provision on demand, or Restart provisioning.",
  ],
  [
    "delete a user",
    "The user moves to Deleted users, where an administrator can restore the user for 30 days. With **Deactivate instead of delete**, the user is deactivated.",
  ],
  [
    "add or remove a member",
    "Only that membership changes, in synchronous backends, too; an asynchronous backend gets the whole group. Parallel requests lose nothing. Adding twice and removing twice is allowed. Members are users; groups in groups are not supported. Members that another source added and that are no users are not shown, and stay.",
  ],
  ["remove \\`members\\` without a filter", "The group is emptied, if **Allow emptying a group** is on."],
  ["delete a group", "The group is deleted. Its members stay."],
].map((row) => row.map((cell) => cell.replaceAll("\\`", "`")));

export const PROTECTION = `## Existing users

A provider often connects to a directory that already has users. It finds them with a filter, usually by \`userName\`. A connection may change only the users and groups
that it created or took over. Its first change of another one gets 409, and the user appears in the tab **Existing users** with the name and the external id of
the request. Accept the right ones. The provider repeats the request and succeeds. An equal e-mail address is never enough.

If a policy or a reply attribute names a group, its members sign in differently. So a change of its members, its deletion or its rename is also a change of these users:
members that the connection did not create get 409, until you accept them.

A group can list a name that has no user yet. A user who is created or renamed with that name is then a member. Check groups with such names before you connect a
provider.

To take over a whole directory at once, turn on a dry run, let the provider finish a cycle, accept all, and turn off the dry run. With
**Take over existing users: Automatically**, no one has to accept.

## Protection

| setting | default | effect |
| --- | --- | --- |
| Permission | read and write | With \`read\`, writes get 403. |
| Paused | off | Each request gets 503 with \`Retry-After\`. The provider tries again later. |
| Requests per minute | ${
  DEFAULT_CONNECTION.requestsPerMinute.toLocaleString("en-US")
} | More requests get 429 with \`Retry-After\`, on each node. Each operation of a bulk request counts, so later requests may wait for a large one. |
| Dry run | off | Requests are checked, answered and logged ("Would create the user …"), but nothing is stored. |
| Deletion limit | ${DEFAULT_CONNECTION.deletionPercent} % | The most users that are deleted or deactivated in 24 hours, as a share of all users. ${MIN_ALLOWED_DELETIONS} are always allowed. More get 409, and the audit log has an entry. Raise the limit if the deletions are right. |
| Deactivate instead of delete | off | DELETE of a user deactivates. |
| Activate inactive users again | on | POST of an inactive user gets 200. Otherwise 409. |
| Allow emptying a group | on | See above. |
| Take over existing users | After you accept them | See above. |
| User of /Me | none | The user that \`/Me\` returns. None: 501. |

The tab **Requests** shows each request for ${REQUEST_LOG_DAYS} days: time, operation, user or group, status and reason, and the names of the attributes, never their values. Choose a time range above the list.

If you remove a connection, its users and groups stay as they are.

`;

export const QUERIES = `## Lists and filters

- **Pages by index**: \`startIndex\` and \`count\` (default ${PAGE_SIZE.preset}, at most ${PAGE_SIZE.max}). \`totalResults\` is exact.
- **Pages by cursor** (RFC 9865): \`cursor=\` gives the first page, and \`nextCursor\` the next one. A cursor is valid for ${
  CURSOR_TIMEOUT_SECONDS / 60
} minutes. Resources that change between the pages do not
  shift it. Use cursors to read a large directory.
- **Filters** have the whole grammar of RFC 7644 §3.4.2.2, with value paths (\`emails[type eq "work"]\`) and names after the URN of their schema.
- A filter on an attribute that no schema defines gets 400 \`invalidFilter\`, never an empty list. A provider that got an empty list would create the users again.
- **Order**: \`sortBy\` and \`sortOrder\`. Without them, resources are in the order of their names.
- \`attributes\` and \`excludedAttributes\` reduce the response. For large groups, use \`excludedAttributes=members\`.
- \`If-Match\` and \`If-None-Match\` work as in RFC 7644 §3.14.

`;

/** What a file of extensions can contain. */
export const EXTENSION_EXAMPLE = [{
  id: "urn:example:2.0:User",
  name: "Badge",
  resourceType: "User",
  attributes: [{ name: "badgeNumber", type: "string" }],
}];

export const EXTENSIONS = `## Attributes

Users have the core schema and the enterprise extension, groups the core schema: exactly the spelling of RFC 7643. \`/Schemas\` lists them.
Attributes that no schema defines are ignored. \`password\` is never returned. \`groups\` of a user is read-only: change the members of the groups.

**Custom extensions**: write the schemas as in RFC 7643 §7 to a JSON file, and name it in \`extensions\` of the directory's
[settings](configuration.md). Each schema can have \`resourceType\` (\`User\` or \`Group\`) and \`extensionRequired\`.

\`\`\`json
${JSON.stringify(EXTENSION_EXAMPLE, null, 2)}
\`\`\`

`;
