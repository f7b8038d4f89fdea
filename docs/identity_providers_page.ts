// Writes docs/identity-providers.md: the steps from the catalogue of the console, and the tables of /scim/v2.

import en from "../console/web/i18n/en.json" with { type: "json" };
import { INDEXED_VALUES } from "../scim/directory/index_keys.ts";
import { MAX_FILTER_COMPARISONS, MAX_FILTER_LEVELS } from "../scim/filter/filter.ts";
import { refusalRow, type ScimRefusalCode } from "../scim/http/refusals.ts";
import {
  MAX_GROUP_JSON_VALUES,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
  MAX_LIST_ENTRIES,
  MAX_MEMBERS,
} from "../scim/schema/attributes.ts";
import { BULK_LIMITS } from "../scim/v2/bulk/bulk_plan.ts";
import {
  CONNECTION_FIELDS,
  MAX_CONNECTIONS,
  MAX_SECRETS,
} from "../scim/v2/connections/connection_settings.ts";
import { MAX_QUERY_CHARACTERS, PAGE_SIZE } from "../scim/v2/http/read_operations.ts";
import { V2_ROUTES } from "../scim/v2/http/operation.ts";
import { MAX_TARGET_OCTETS, V2_ALWAYS, V2_HANDLER_ROWS } from "./scim_operations.ts";
import { MAX_PATCH_OPERATIONS } from "../scim/v2/patch/patch_request.ts";
import { TOLERATED_SHAPES } from "../scim/v2/patch/patch_shapes.ts";
import { MAX_QUERY_COMPARED } from "../scim/v2/query/query.ts";
import { VALUE_SHAPES } from "../scim/schema/read_value.ts";
import { MESSAGE_SHAPES, SCHEMAS_SHAPES } from "../scim/v2/schema/read_body.ts";
import { MAX_PROJECTION_NAMES, NAME_SHAPES } from "../scim/v2/schema/render_stored.ts";
import { MAX_USER_PASSWORD_CHARACTERS } from "../scim/v2/schema/stored_content.ts";
import { ACTIONS, AFTER_STEPS, EXTENSIONS, PROTECTION, QUERIES, START } from "./identity_providers_text.ts";

/** The page. */
export function identityProvidersPage(): string {
  return [
    START,
    steps("Okta", "okta"),
    steps("Entra ID", "entra"),
    steps("Another product", "other"),
    AFTER_STEPS,
    table(["the provider's action", "effect"], ACTIONS),
    PROTECTION + QUERIES + indexed(),
    EXTENSIONS + operations(),
    shapes(),
    limits(),
    troubleshooting(),
  ].join("\n");
}

/** A table of Markdown. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}

const MESSAGES: ReadonlyMap<string, unknown> = new Map(Object.entries(en));

/** The steps that the console shows, too. */
function steps(title: string, kind: "okta" | "entra" | "other"): string {
  const found: string[] = [];
  for (let number = 1;; number++) {
    const text = MESSAGES.get(`connections.step_${kind}_${number}`);
    if (typeof text !== "string") break;
    found.push(`${number}. ${text}`);
  }
  if (found.length === 0) throw new Error(`Cannot write the page: ${title} has no steps`);
  const remark = kind === "entra" ? `\n${String(MESSAGES.get("connections.entra_cycle"))}\n` : "";
  return `### ${title}\n\n${found.join("\n")}\n${remark}`;
}

function indexed(): string {
  const names = [
    "userName",
    "displayName",
    "id",
    "members.value",
    "groups.value",
    ...Object.keys(INDEXED_VALUES),
  ];
  return `Filters on these attributes use an index, also at a million users: ${
    [...new Set(names)].map((name) => `\`${name}\``).join(", ")
  }. Other filters compare at most ${
    number(MAX_QUERY_COMPARED)
  } resources, and otherwise get 400 \`tooMany\`. Combine them with an indexed attribute.
`;
}

function operations(): string {
  const rows = V2_ROUTES.map(({ method, path, access, handler, ref }) => [
    `\`${method}\``,
    `\`${path}\``,
    V2_HANDLER_ROWS[handler].success.join(", "),
    access,
    ref.startsWith("RFC") ? ref : `RFC 7644 ${ref}`,
  ]);
  return `## Operations

Paths are below the base address. The case of their names and a slash at the end do not matter. HEAD works like GET. Unknown query parameters are ignored. \`/openapi.json\`
describes each operation with its schemas, parameters and headers.

${table(["method", "path", "success", "permission", "see"], rows)}
A PATCH of a group returns 204, unless \`attributes\` is given. Members can be removed by any filter of their sub-attributes, such as
\`members[display eq "ann"]\`. Bulk requests can refer to resources that they create (\`bulkId:\`), in any order and also in a circle: such a resource is created
first, and its reference is set afterwards. A body with a Content-Encoding gets 415.
`;
}

/** JSON in one line. */
const code = (value: unknown) => `\`${JSON.stringify(value)}\``;
const link = (client: string, url: string) => `[${client}](${url})`;

function shapes(): string {
  const patches = Object.entries(TOLERATED_SHAPES).map(([name, { client, sample, becomes, link: url }]) => [
    name,
    link(client, url),
    code(sample),
    code(becomes),
  ]);
  const values = Object.values({ ...VALUE_SHAPES, ...NAME_SHAPES }).map((
    { client, example, becomes, link: url },
  ) => [
    link(client, url),
    `\`${example}\``,
    `\`${becomes}\``,
  ]);
  const schemas = Object.values({ ...SCHEMAS_SHAPES, ...MESSAGE_SHAPES }).map((
    { client, example, link: url },
  ) => [
    link(client, url),
    `\`${example}\``,
  ]);
  return `## Tolerated shapes

Some products send requests that the RFC does not allow. These are accepted.

### PATCH

${table(["shape", "sent by", "operations", "become"], patches)}
### Values in bodies

${table(["sent by", "value", "becomes"], values)}
### \`schemas\`

${table(["sent by", "body"], schemas)}`;
}

const number = (value: number) => value.toLocaleString("en-US");

function limits(): string {
  const rows = [
    ["body", "1 MiB; of a group, 16 MiB, so that a client can send back what it read"],
    [
      "JSON",
      `${MAX_JSON_DEPTH} levels, ${number(MAX_JSON_VALUES)} values; of a group, ${
        number(MAX_GROUP_JSON_VALUES)
      } values`,
    ],
    ["one resource", "about 512 KiB of text in single attributes, because it is one commit of the store"],
    [
      "name (userName, displayName of a group)",
      "1 to 256 characters; no control character or bidirectional override; not `.` or `..`, also beside a slash; unique, compared without case",
    ],
    ["password", `1 to ${number(MAX_USER_PASSWORD_CHARACTERS)} characters`],
    ["values of one attribute", number(MAX_LIST_ENTRIES)],
    ["members in one request", number(MAX_MEMBERS)],
    ["operations of a PATCH", number(MAX_PATCH_OPERATIONS)],
    [
      "bulk request",
      `${number(BULK_LIMITS.maxOperations)} operations, ${number(BULK_LIMITS.maxPayloadSize)} octets`,
    ],
    ["page", `${number(PAGE_SIZE.max)} resources`],
    [
      "filter, sort path, cursor",
      `${number(MAX_QUERY_CHARACTERS)} characters; the whole address ${
        number(MAX_TARGET_OCTETS)
      } octets (use \`/.search\` for more)`,
    ],
    ["one filter", `${MAX_FILTER_COMPARISONS} comparisons, ${MAX_FILTER_LEVELS} levels of brackets`],
    ["`attributes`, `excludedAttributes`", `${number(MAX_PROJECTION_NAMES)} names`],
    ["resources that one filter without an index compares", number(MAX_QUERY_COMPARED)],
    ["requests per minute of a connection", `up to ${number(CONNECTION_FIELDS.requestsPerMinute.max)}`],
    ["connections; secrets of one", `${number(MAX_CONNECTIONS)}; ${number(MAX_SECRETS)}`],
  ];
  return `## Limits

\`/ServiceProviderConfig\` shows the limits of RFC 7643 §5 and RFC 9865 §4 to clients.

${table(["what", "limit"], rows)}`;
}

/** What an administrator can do, where the text of the refusal is not enough. */
const ADVICE: Partial<Record<ScimRefusalCode, string>> = {
  no_token:
    "Compare the token at the provider with the list of secrets: expired, revoked, or a client secret in place of a token. Okta needs only the token, without `Bearer`.",
  forbidden: "Check the permission of the connection, and the directory in the base address.",
  unknown_target:
    "The base address ends with the name of a directory. Copy it from the page of the connection.",
  no_such_path: "The base address must end with the name of the directory, without `/Users`.",
  not_found:
    "Someone deleted the resource here. Let the provider send everything again: in Entra ID **Restart provisioning**, in Okta **Dashboard › Tasks › Retry Selected**.",
  taken:
    "Another user or group has the name. If it is the same person, let the provider match users by `userName`, so that it changes the user instead of creating one.",
  invalid_filter:
    "The provider matches by an attribute that does not exist here. Change the matching attribute to `userName` or `externalId`.",
  wrong_host: "Set `http.public_url` to the name in the base address.",
  unsupported: "A backend of the directory cannot do this, for example a rename.",
  busy: "The server has too much work. The provider tries again.",
};

function troubleshooting(): string {
  const codes = [
    ...new Set([...V2_ALWAYS, ...Object.values(V2_HANDLER_ROWS).flatMap(({ refusals }) => refusals)]),
  ];
  const rows = codes.map((one) => ({ one, ...refusalRow(one) })).sort((a, b) => a.status - b.status)
    .map(({ one, status, scimType, detail }) => [
      String(status),
      scimType === undefined ? "" : `\`${scimType}\``,
      detail.replace(/<\w+>/, "`$&`"),
      ADVICE[one] ?? "",
    ]);
  return `## Troubleshooting

Open the tab **Requests** of the connection first: it shows the status and the reason of each request. If a request is not there, it had no valid secret, or did not
reach the gateway. The body of an error follows RFC 7644 §3.12; its \`detail\` can be more precise than here. 401 has \`WWW-Authenticate\`, 405 has \`Allow\`, 429 and most 503
have \`Retry-After\`.

${table(["status", "scimType", "detail", "what to do"], rows)}
- **Entra ID: "Test connection" fails, and no request appears.** Entra ID cannot reach the address, or does not trust its certificate. A certificate needs its chain.
- **Entra ID is in quarantine.** Correct the cause, then select **Restart provisioning**.
- **Okta: a change failed.** Correct the cause, then open **Dashboard › Tasks** in Okta, and select **Retry Selected**.
- **A user is active, but not in any group.** See "reactivate a user" in [What the provider's actions do](#what-the-providers-actions-do).
- **A member is refused with "No user has the id".** The provider pushes a group before its users are assigned. Assign the users to the application, too.
`;
}
