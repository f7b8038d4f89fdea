// Writes docs/scim.md from the tables of the identity interface: every operation with an example, its parameters, refusals and the mapping.

import { DEFAULT_GROUP_MAPPING, DEFAULT_USER_MAPPING } from "../scim/schema/mapping_table.ts";
import { type RefusalRow, SCIM_REFUSALS, type ScimRefusalCode } from "../scim/http/refusals.ts";
import { QUERY_PARAMETERS, type RouteRow, SCIM_ROUTES } from "../scim/http/routes.ts";
import { ALWAYS, RECEIPT_HEADER, receiptText } from "../scim/http/responses.ts";
import { DEED_FACTS } from "../scim/http/openapi.ts";
import type { Receipt } from "../scim/ports.ts";
import { etagOf } from "../scim/schema/render_resource.ts";
import { exampleAnswer, exampleRequest, exampleStored } from "./scim_examples.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# The identity interface

Generated from the tables of the interface by \`deno task docs\`; do not edit.

**This is not the interface for identity providers such as Okta or Entra ID.** They send \`filter=\`, which this interface ignores: it would answer with all
users, and the provider would change the wrong one. Do not enter its address there.

Programs read, create, replace and delete the users and groups of a target with HTTP and JSON, in the style of SCIM 2.0 (RFC 7643, RFC 7644). A
target is a directory that the settings define (\`[targets.<name>]\`); without settings there is one target, \`default\`. A running server describes the same
interface for programs at \`/openapi.json\`.

## Try it

    deno task scim-credential add provisioner --access write

prints a password once, and a command to try. The examples below ask for that password, because \`-u\` has only the name of the credential.

## Credentials

Every request carries HTTP Basic authentication. A credential is valid for named targets, with the permission \`read\`, or \`read\` and \`write\`. You create it with
\`deno task scim-credential\`, or in the settings as \`[[scim.credential]]\`. A revoked credential is refused at once. The limit for wrong credentials
is five a minute for one name from one address, and 30 a minute from one address. Above the limit a wrong credential is answered 429 with \`Retry-After\`. A
credential that was correct within the last day always passes; one that was never used is checked once a second. Addresses of one IPv6 /64 count as one. Behind a
reverse proxy, list the proxy in \`http.trusted_proxies\`; otherwise all callers share its address.

A request with a foreign \`Origin\`, or with \`Sec-Fetch-Site: cross-site\` or \`same-site\`, is refused with 403. A browser that sends a
body with the content type of a form (\`text/plain\`, \`multipart/form-data\`, \`application/x-www-form-urlencoded\`) is refused with 415. No page of another site
can therefore use a credential that a browser remembers. Programs may send any content type.

Without TLS (\`http.tls_cert\`, or a reverse proxy with TLS) the password is sent over the network in clear text.

## What every answer has
`;

const EXAMPLE_NOT_STORED: Receipt = {
  entries: [
    { backend: "local", outcome: "done" },
    { backend: "directory", outcome: "done", notStored: { count: 2, names: ["bob", "eve"] } },
  ],
};

const NAMES = `## Names

\`userName\` names a user, \`displayName\` a group. If it is missing, \`externalId\` is the name, then \`id\`, then a generated UUID. The name is the resource's \`id\` and
\`externalId\`, and its place in the path, percent-encoded. Names are compared without case in Unicode's composed form (NFC), and stored as given. A name has 1 to
256 characters and no slash, control character or bidirectional override, and is not \`.\`, \`..\` or \`.search\`. A name cannot be changed: create a new resource and delete the old one.

An attribute is read-only (RFC 7643 §2.2) if every backend of the target that can hold it lists it in \`read_only\` of the settings. Values of a body for it
are ignored, and the stored values stay (RFC 7644 §3.3, §3.5.1).

No attribute is required. PUT replaces the whole resource: attributes that the body leaves out are removed. The password is the exception: it stays, and no
answer contains it. \`active\` is true unless the body says otherwise. Members of a group are given as \`display\` or \`value\`, answered with both, and need
not be users. Attributes that are not in any table are stored as given.

A body has at most 1 MiB (64 KiB before the credential was checked), 32 levels and 200,000 values, and a list has at most 10,000 entries. A resource with its
indexes must fit into one commit of the store: about 512 KiB of text in single attributes.

## Versions

A resource's \`ETag\` changes with every write. \`If-None-Match\` on GET: 304 if it is unchanged. \`If-Match\` on PUT and DELETE: 412 if another client has changed the resource. Tags are weak, and compared weakly. The tag of a list depends on its content.

## Backends and the receipt

A write goes to all backends of the target, or to those that \`backends\` names. Answers to writes, and refusals after backends were asked, have the result of each backend:
\`${RECEIPT_HEADER}\` is a List of Strings (RFC 9651 §3.1), one for each backend, with the parameter \`outcome\`.

Some backends store only members that exist as users there: a directory with the schema \`active_directory\`, an OpenLDAP directory whose entries are not
named by the user name, and SCIM servers that know members by an id. Such a backend stores the group without the other members, and the receipt gives the
count in the parameter \`not-stored\` and the first names (at most ten) in \`names\`, percent-encoded and separated by spaces:

\`\`\`http
Backends-Receipt: ${receiptText(EXAMPLE_NOT_STORED)}
\`\`\`

With an asynchronous backend the receipt says \`queued\`. In both cases the console shows the count and the names in the group's sync status. The next write
of the group tries all members again. A refresh drops names that the backend holds by then.
`;

const OUTCOMES = {
  done: "The backend has it.",
  queued: "It is recorded, and delivered later, also after a restart.",
  failed: "The backend refused it, or could not be reached.",
  undone: "It was done, and then undone, because another backend failed.",
  undoing: "It was done; undoing it is pending, because another backend failed.",
  untried: "It was not tried, because another backend failed before.",
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
  const fixed = Object.entries(ALWAYS).map(([name, value]) => [`\`${name}\``, `\`${value}\``]);
  return table(["header", "value"], [...fixed, ["`etag`", "on answers that hold a resource or a list"]]);
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

Paths are below \`/idm/scim/<target>\`. HEAD is answered as GET. Any other method at these paths is answered 405, any other path 404.

${table(["method", "path", "operation", "parameters", "access"], rows)}
${supported.map(operationText).join("\n")}`;
}

function anchorOf({ operation }: RouteRow): string {
  return operation.replaceAll(" ", "-");
}

function operationText(row: RouteRow): string {
  const { refusals, writes } = DEED_FACTS[row.does];
  const stored = exampleStored(row.kind ?? "user");
  const receipt = receiptText({
    entries: [{ backend: "local", outcome: "done" }, { backend: "directory", outcome: "queued" }],
  });
  const answer = exampleAnswer(row, stored);
  const headers = [
    `HTTP/1.1 ${answer.status}`,
    ...answer.location === null ? [] : [`Location: ${answer.location}`],
    ...row.does === "get" || row.does === "create" || row.does === "replace"
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

Refused with ${refusals.map((code) => `[${code}](#refusals)`).filter(isNew).join(", ")}.
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

An operation reads the parameters that its row lists, and ignores all others. An invalid value of a listed parameter, or the same parameter twice, is answered 400.

${table(["name", "type", "default", "meaning"], rows)}
Words of \`q\` match the start of any word, without case: \`q=ann le\` finds Ann Lee. A filter names attributes: \`q=emails[type eq "work"]\`; percent-encode it.
`;
}

function outcomesTable(): string {
  return table(["outcome", "meaning"], Object.entries(OUTCOMES).map(([name, says]) => [`\`${name}\``, says]));
}

function refusalsTable(): string {
  const codes = Object.keys(SCIM_REFUSALS) as ScimRefusalCode[];
  const rows = codes.map((code) => {
    const { status, scimType, detail, ref }: RefusalRow = SCIM_REFUSALS[code];
    return [code, String(status), scimType === undefined ? "" : `\`${scimType}\``, detail, ref];
  });
  return `## Refusals

The body is that of RFC 7644 §3.12, with a more precise \`detail\` where there is one. 401 has \`WWW-Authenticate\`, 405 \`Allow\`, 429 and most 503 \`Retry-After\`.

${table(["name", "status", "scimType", "detail", "see"], rows)}`;
}

function mappingTables(): string {
  const rowsOf = (mapping: readonly { scim: string; frontEnd: string }[]) =>
    mapping.map(({ scim, frontEnd }) => [`\`${scim}\``, `\`${frontEnd}\``]);
  const head = ["SCIM attribute", "front-end attribute"];
  return `## Mapping

The names of attributes in backends other than SCIM. Attributes of the same name on both sides are left out. A target's settings change it
(\`[targets.<name>.mapping.user]\`, \`[targets.<name>.mapping.group]\`). Bodies may use the RFC's spellings as well (\`ims\`, \`postalCode\`).

### Users

${table(head, rowsOf(DEFAULT_USER_MAPPING))}
### Groups

${table(head, rowsOf(DEFAULT_GROUP_MAPPING))}`;
}
