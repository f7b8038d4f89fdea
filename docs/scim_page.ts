// Writes docs/scim.md from the tables of the SCIM interface: every operation with an example, its parameters, refusals and the mapping.

import { DEFAULT_GROUP_MAPPING, DEFAULT_USER_MAPPING } from "../scim/schema/mapping.ts";
import { refusalRow, SCIM_REFUSALS, type ScimRefusalCode } from "../scim/http/refusals.ts";
import {
  COMMON_HEADERS,
  QUERY_PARAMETERS,
  RECEIPT_HEADER,
  receiptText,
  type RouteRow,
  SCIM_ROUTES,
} from "../scim/http/routes.ts";
import { HANDLER_FACTS } from "./scim_operations.ts";
import type { Receipt } from "../scim/ports.ts";
import { etagOf } from "../scim/schema/render_resource.ts";
import { exampleAnswer, exampleRequest, exampleStored } from "./scim_examples.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# SCIM

Generated from the tables of the interface by \`deno task docs\`; do not edit.

**Do not use this interface with identity providers such as Okta or Entra ID**: [\`/scim/v2\`](identity-providers.md) is for them. They send \`filter=\`, which
this interface ignores. The response would contain all users, and the provider would change the wrong one.

Programs read, create, replace and delete the users and groups of a target with HTTP and JSON, in the style of SCIM 2.0 (RFC 7643, RFC 7644). A
target is a directory in the settings (\`[targets.<name>]\`); without settings there is one target, \`default\`. A running server provides an OpenAPI
description of the interface at \`/openapi.json\`.

## Try it

    deno task scim-credential add provisioner --access write

prints a password once, and an example request. The examples below prompt for the password, because \`-u\` has only the name of the credential.

## Credentials

Every request requires HTTP Basic authentication. A credential is valid for certain targets, with the permission \`read\`, or \`read\` and \`write\`. You create it in
the console, with \`deno task scim-credential\`, or in the settings as \`[[scim.credential]]\`. A revoked credential is refused immediately.

The rate limit for wrong credentials is five per minute for one name from one address, and 30 per minute from one address. Beyond the limit, a wrong credential gets
429 with \`Retry-After\`. A credential that was correct within the last day always passes. A credential that was never used is checked once per second. Addresses of one
IPv6 /64 count as one. Behind a reverse proxy, list the proxy in \`http.trusted_proxies\`; otherwise all callers share its address.

A request with a foreign \`Origin\`, or with \`Sec-Fetch-Site: cross-site\` or \`same-site\`, is refused with 403. A browser that sends a
body with the content type of a form (\`text/plain\`, \`multipart/form-data\`, \`application/x-www-form-urlencoded\`) is refused with 415. No page of another site
can therefore use a credential that a browser remembers. Programs may send any content type.

Without TLS (\`http.tls_cert\`, or a reverse proxy with TLS) the password is sent over the network in clear text.

## Response headers
`;

const EXAMPLE_NOT_STORED: Receipt = {
  entries: [
    { backend: "local", outcome: "done" },
    { backend: "directory", outcome: "done", notStored: { count: 2, names: ["bob", "eve"] } },
  ],
};

const NAMES = `## Names

\`userName\` names a user, \`displayName\` a group. If it is missing, \`externalId\` is the name, then \`id\`, then a generated UUID. The name is the resource's \`id\` and
\`externalId\`, and the last segment of its path, percent-encoded. Names are compared without case in Unicode's composed form (NFC), and stored as given. A name has 1 to
256 characters, no control character and no bidirectional override, and is not \`.\`, \`..\` or \`.search\`. A slash is allowed: in a path it is \`%2F\`, and \`.\` and \`..\`
beside it are refused. If a reverse proxy decodes \`%2F\`, let it pass the path unchanged. An empty name is refused. A name cannot be changed: create a new resource and delete the old one.

An attribute is read-only (RFC 7643 §2.2) if every backend of the target that can hold it lists it in \`read_only\` of the settings. Values for it in a body
are ignored, and the stored values stay (RFC 7644 §3.3, §3.5.1).

No attribute is required. PUT replaces the whole resource: attributes that the body leaves out are removed. The password is the exception: it stays, and no
response contains it. \`active\` is true by default. A member of a group has \`display\` or \`value\` in a request, and both in a response. Members need
not be users. Unknown attributes are stored as given.

A body has at most 1 MiB (64 KiB before authentication), 32 levels and 200,000 values, and a list has at most 10,000 entries. An object with the same
name twice returns 400. A resource with its indexes must fit into one commit of the store: about 512 KiB of text in single attributes.

## Versions

A resource's \`ETag\` changes with every write. GET with \`If-None-Match\` returns 304 if the resource is unchanged. PUT and DELETE with
\`If-Match\` return 412 if another client has changed the resource. Tags are weak, and compared weakly. The tag of a list depends on its content.

## Backends and the receipt

A write goes to all backends of the target, or to those that \`backends\` names. Responses to writes contain the result of each backend, also if a backend failed:
\`${RECEIPT_HEADER}\` is a List of Strings (RFC 9651 §3.1), one for each backend, with the parameter \`outcome\`.

Some backends can store a member only if it exists there as a user: a directory with the schema \`active_directory\`, an OpenLDAP directory whose entries are not
named by the user name, and SCIM servers that know members by an id. Such a backend stores the group without the other members, and the receipt gives the
count in the parameter \`not-stored\` and the first names (at most ten) in \`names\`, percent-encoded and separated by spaces:

\`\`\`http
Backends-Receipt: ${receiptText(EXAMPLE_NOT_STORED)}
\`\`\`

For an asynchronous backend, the outcome is \`queued\`. In both cases, the sync status of the group in the console shows the count and the names. The next write
of the group tries all members again. A refresh removes names from the list that the backend has by then.
`;

const OUTCOMES = {
  done: "The backend stored it.",
  queued: "The write is pending. It is delivered later, also after a restart.",
  failed: "The backend refused the write, or could not be reached.",
  undone: "The write was rolled back, because another backend failed.",
  undoing: "The rollback is pending, because another backend failed.",
  untried: "The write was not attempted, because another backend failed before.",
} as const;

/** The page. */
export function scimPage(): string {
  return [
    INTRODUCTION,
    headersTable(),
    operations(),
    parametersTable(),
    NAMES,
    outcomesTable(),
    refusalsTable(),
    mappingTables(),
  ].join("\n");
}

/** A table of Markdown. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}

function headersTable(): string {
  const fixed = Object.entries(COMMON_HEADERS).map(([name, value]) => [`\`${name}\``, `\`${value}\``]);
  return table(["header", "value"], [...fixed, ["`etag`", "on responses with a resource or a list"]]);
}

function operations(): string {
  const rows = SCIM_ROUTES.map((row: RouteRow) => [
    `\`${row.method}\``,
    `\`${row.path}\``,
    row.supported ? `[${row.operation}](#${anchorOf(row)})` : row.operation,
    row.query.map((name) => `\`${name}\``).join(", "),
    row.supported ? row.access : "not supported: 501",
  ]);
  const supported = SCIM_ROUTES.filter(({ supported }) => supported);
  return `## Operations

Paths are below \`/idm/scim/<target>\`. HEAD works like GET. Other methods on these paths return 405, and other paths return 404.

${table(["method", "path", "operation", "parameters", "access"], rows)}
${supported.map(operationText).join("\n")}`;
}

function anchorOf({ operation }: RouteRow): string {
  return operation.replaceAll(" ", "-");
}

function operationText(row: RouteRow): string {
  const { refusals, writes } = HANDLER_FACTS[row.handler];
  const stored = exampleStored(row.kind ?? "user");
  const receipt = receiptText({
    entries: [{ backend: "local", outcome: "done" }, { backend: "directory", outcome: "queued" }],
  });
  const answer = exampleAnswer(row, stored);
  const headers = [
    `HTTP/1.1 ${answer.status}`,
    ...answer.location === null ? [] : [`Location: ${answer.location}`],
    ...row.handler === "get" || row.handler === "create" || row.handler === "replace"
      ? [`ETag: ${etagOf(stored.version)}`]
      : [],
    ...writes ? [`Backends-Receipt: ${receipt}`] : [],
  ];
  return `### ${row.operation}

\`\`\`sh
${exampleRequest(row, stored)}
\`\`\`

\`\`\`http
${headers.join("\n")}${answer.body === null ? "" : `\n\n${answer.body}`}
\`\`\`

Errors: ${refusals.map((code) => `[${code}](#errors)`).filter(isNew).join(", ")}.
`;
}

function isNew(one: string, at: number, all: readonly string[]): boolean {
  return all.indexOf(one) === at;
}

function parametersTable(): string {
  const rows = Object.entries(QUERY_PARAMETERS).map(([name, { type, preset, meaning }]) => [
    `\`${name}\``,
    type,
    preset,
    meaning,
  ]);
  return `## Query parameters

An operation reads the parameters in its row, and ignores all others. An invalid value, or the same parameter twice, returns 400.

${table(["name", "type", "default", "meaning"], rows)}
Words of \`q\` match the start of any word, without case: \`q=ann le\` finds Ann Lee. A filter selects attributes: \`q=emails[type eq "work"]\`; percent-encode it.
`;
}

function outcomesTable(): string {
  return table(["outcome", "meaning"], Object.entries(OUTCOMES).map(([name, says]) => [`\`${name}\``, says]));
}

function refusalsTable(): string {
  const codes = Object.keys(SCIM_REFUSALS) as ScimRefusalCode[];
  const rows = codes.map((code) => {
    const { status, scimType, detail, ref } = refusalRow(code);
    return [code, String(status), scimType === undefined ? "" : `\`${scimType}\``, detail, ref];
  });
  return `## Errors

The body of an error follows RFC 7644 §3.12. Its \`detail\` can be more precise than in this table. 401 has \`WWW-Authenticate\`, 405 has \`Allow\`, 429 and most 503 have
\`Retry-After\`.

${table(["name", "status", "scimType", "detail", "see"], rows)}`;
}

function mappingTables(): string {
  const rowsOf = (mapping: readonly { scim: string; frontEnd: string }[]) =>
    mapping.map(({ scim, frontEnd }) => [`\`${scim}\``, `\`${frontEnd}\``]);
  const head = ["SCIM attribute", "front-end attribute"];
  return `## Mapping

These are the names of attributes in backends other than SCIM. The tables omit attributes with the same name on both sides. The settings of a target change the
mapping (\`[targets.<name>.mapping.user]\`, \`[targets.<name>.mapping.group]\`). Bodies can also use the spellings of the RFC (\`ims\`, \`postalCode\`).

The spellings \`imgs\`, \`postralCode\` and \`honirificSuffix\` are intended: the interface specification, which this interface implements, has them.

### Users

${table(head, rowsOf(DEFAULT_USER_MAPPING))}
### Groups

${table(head, rowsOf(DEFAULT_GROUP_MAPPING))}`;
}
