// Writes docs/configuration.md from the table of settings.

import { ADMIN_SETTINGS, GENERAL_ROWS } from "../platform/config/settings.ts";
import { meaningText } from "../platform/setting_problems.ts";
import { CLIENT_TABLE, RADIUS_ROWS } from "../platform/config/list_settings.ts";
import { defaultOf, meansOf } from "../platform/config/setting_values.ts";
import {
  rowsByKey,
  type SettingRow,
  type SettingRows,
  type SettingTable,
} from "../platform/config/setting_rows.ts";
import { BACKEND_ROWS, CREDENTIAL_SETTINGS, TARGET_SETTINGS } from "../platform/config/target_settings.ts";

type Value = ReturnType<typeof defaultOf>;

/** A table of the file as the page shows it. */
interface Section {
  readonly header: string;
  /** Keys below the header. */
  readonly rows: readonly (readonly [string, SettingRow])[];
}

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# Settings

Generated from the table of settings by \`deno task docs\`; do not edit.

The settings file is \`countersign.toml\` in the working directory, or the path in \`COUNTERSIGN_CONFIG\`. It is optional:
every setting has a default. Relative paths start in the working directory.

A text can be \`env:NAME\` or \`file:PATH\`, so that the settings file contains no secret. A line end at the end of that file
is removed.

The start fails if a key is unknown or a value is invalid. It lists all errors at once, each with its key and the expected
value. \`deno task check-config\` checks the settings without a start.

SIGHUP (\`systemctl reload countersign\`) reads the file again. [Run as a service](operating.md#run-as-a-service) lists what needs a restart.
`;

const REPLIES = `[radius.reply.default]           # attributes of every Access-Accept
Session-Timeout = 28800
# "Cisco-AVPair" = "shell:priv-lvl=15"   a vendor's attribute by its name in the dictionary
# "26.9.1" = "shell:priv-lvl=15"         the same attribute by its numbers
# "Tunnel-Type:1" = "VLAN"               with a tag

[radius.reply.group."vpn-admins"] # for members of that group; each attribute replaces the default of its name.
Class = "admins"                 # If a user is in two groups, the group that comes first in this file applies.
Filter-Id = "admins"

[radius.reply.user."ada"]        # for one user; each attribute replaces that of the directory, of the groups and of the default
Framed-IP-Address = "10.8.0.7"

[radius.reply.from_directory]    # reply attribute = the front-end attribute of the user that has its value
# "Framed-IP-Address" = "framedIp"
`;

const MAPPINGS = `[targets.corp.mapping.user]      # only differences from the table of the interface
"name.familyName" = "sn"         # SCIM attribute = front-end attribute; "emails[].value" is the value of each entry
[targets.corp.mapping.group]
`;

const COMMENT_COLUMN = 33;

const tomlOf = (value: Value): string =>
  typeof value === "object"
    ? `[${value.map((entry) => JSON.stringify(entry)).join(", ")}]`
    : JSON.stringify(value);

function lineOf(key: string, value: string, doc: string): string {
  return `${`${key} = ${value}`.padEnd(COMMENT_COLUMN - 1)} # ${doc}\n`;
}

const INLINE_TABLES: Readonly<Record<string, string>> = {
  first_factor_server: 'for first_factor = "radius"',
  tls: "for a client of radius.tls_listen, in place of address and secret",
};

/** Dotted keys become an inline table in the place of the first of them. */
function linesOf(rows: Section["rows"]): string {
  let lines = "";
  const inline = new Set<string>();
  for (const [key, row] of rows) {
    const [parent = "", child] = key.split(".");
    if (child === undefined) lines += lineOf(key, tomlOf(row.example ?? defaultOf(row)), row.doc);
    else if (!inline.has(parent)) {
      inline.add(parent);
      const entries = rows.filter(([other]) => other.startsWith(`${parent}.`))
        .map(([other, one]) =>
          `${other.slice(parent.length + 1)} = ${tomlOf(one.example ?? defaultOf(one))}`
        );
      lines += lineOf(parent, `{ ${entries.join(", ")} }`, INLINE_TABLES[parent] ?? "");
    }
  }
  return lines;
}

const entriesOf = (table: SettingTable) => Object.entries(rowsByKey(table));

function generalSections(): Section[] {
  const sections = new Map<string, [string, SettingRow][]>();
  for (const [key, row] of Object.entries(GENERAL_ROWS)) {
    const cut = key.lastIndexOf(".");
    const rows = sections.get(key.slice(0, cut)) ?? [];
    rows.push([key.slice(cut + 1), row]);
    sections.set(key.slice(0, cut), rows);
  }
  return [...sections].map(([name, rows]) => ({ header: `[${name}]`, rows }));
}

const CLIENT: Section = { header: "[[radius.client]]", rows: entriesOf(CLIENT_TABLE) };
const ADMIN: Section = { header: "[[console.admin]]", rows: entriesOf(ADMIN_SETTINGS) };
const backend = (name: string, rows: SettingRows): Section => ({
  header: `[targets.corp.backends.${name}]`,
  rows: Object.entries(rows),
});
const TARGET: Section = { header: "[targets.corp]", rows: entriesOf(TARGET_SETTINGS) };
const BACKENDS: readonly Section[] = [
  backend("local", BACKEND_ROWS.store),
  backend("directory", BACKEND_ROWS.ldap),
  backend("saas", BACKEND_ROWS.scim),
];
const CREDENTIAL: Section = { header: "[[scim.credential]]", rows: entriesOf(CREDENTIAL_SETTINGS) };
const sectionText = ({ header, rows }: Section) => `${header}\n${linesOf(rows)}`;

const ATTRIBUTES =
  "attributes = {}                  # front-end attribute = LDAP attribute: what differs from the schema's table\n";

function identityText(): string {
  const backends = BACKENDS.map((section) =>
    sectionText(section) + (section.header.endsWith(".directory]") ? ATTRIBUTES : "")
  );
  return [sectionText(TARGET), MAPPINGS, ...backends, sectionText(CREDENTIAL)].join("\n");
}

/** The whole file as an example: every key that can be set, with its default or an example. */
export function exampleToml(): string {
  const parts = generalSections().flatMap((section) => {
    const text = sectionText(section);
    if (section.header === "[radius]") {
      const keys = Object.keys(RADIUS_ROWS).filter((key) =>
        !key.includes(".") && key !== "first_factor_backend"
      );
      const hint =
        "# As long as no client is defined, [radius] can contain these keys of a client, for any client " +
        `address:\n# ${keys.join(", ")}, first_factor_server\n`;
      return [text + hint, sectionText(CLIENT), REPLIES];
    }
    return section.header === "[console]" ? [identityText(), text, sectionText(ADMIN)] : [text];
  });
  return parts.join("\n");
}

const cell = (text: string) => text.replaceAll("|", "\\|");

function tableOf({ header, rows }: Section): string {
  const lines = rows.map(([key, row]) => {
    const preset = row.mustBeGiven ? "required" : `\`${tomlOf(defaultOf(row))}\``;
    return `| \`${key}\` | ${preset} | ${cell(row.doc)} | ${cell(meaningText(meansOf(row)))} |\n`;
  });
  return `\n### \`${header}\`\n\n| key | default | meaning | must be |\n|---|---|---|---|\n${lines.join("")}`;
}

/** Settings that are saved in the console. */
const CONSOLE_SETTINGS = `## Settings in the console

Owners can change most settings in the console or with \`deno task settings\`. A change applies to the next packet, on every node,
and is stored with the data. These keys are read only from the settings file, at the start: ${lockedKeys()}.

- The settings file wins over the console, key by key. A target of the file is locked as a whole. The file must be valid without
  the console's values.
- \`env:\` and \`file:\` work only in the settings file. In the console, \`ca_cert\` of a connector is the text of a PEM file, and
  \`extensions\` of a directory is the JSON itself.
- A stored value that is not valid any more is not used: the default applies. The log, the console and
  \`deno task settings list\` name the key and the reason. If the setting protects
  sign-ins or is a directory, the gateway does not start without it: the default could be weaker. \`deno task check-config\` shows this before a restart.
- If an address of a service changes, its secret must be entered again: a stored secret is never sent to a new address. The same applies if StartTLS of an LDAP connector is turned off.
- A change of a setting that protects sign-ins needs a factor from the last five minutes, so API tokens cannot make it.
- Each save is one audit record with the values before and after. It can be undone for 30 days, while nothing else changed the keys.
- Use the same settings file on all nodes. System status warns if the settings of two nodes differ.

Effects that are not at once:

- \`conversation_ttl_s\` applies to sign-ins that begin later, \`audit_days\` to records that are written later, \`session_hours\` to
  sessions that begin later.
- \`radius.directory\` changes when the gateway has loaded the factors of the other directory. Sign-ins in progress end.
- A change between the embedded and an external service: each request ends at the service that it was sent to. Phones that are
  paired with one service are not known to the other.
- A changed directory waits until writes in progress have ended, at most 70 s. Pending writes of a connector that stays are delivered.
- A removed directory: its workers end at once. Its users, groups, factors and pending writes stay in the store for 30 days. Create
  it again, or undo the removal, to get them back. An owner can delete the data at once after confirming the number of users and
  groups. Pending writes of a removed connector stay, and are delivered if a connector with its name returns.
`;

function lockedKeys(): string {
  const locked = Object.entries(GENERAL_ROWS).filter(([, row]) => row.editable === false);
  return locked.map(([key]) => `\`${key}\``).join(", ");
}

/** The page of settings, in Markdown. */
export function configurationPage(): string {
  const sections = generalSections().flatMap((section) =>
    section.header === "[radius]"
      ? [section, CLIENT]
      : section.header === "[console]"
      ? [TARGET, ...BACKENDS, CREDENTIAL, section, ADMIN]
      : [section]
  );
  return `${INTRODUCTION}
\`\`\`toml
${exampleToml()}\`\`\`

The source address identifies a client of \`[[radius.client]]\`. If several clients share an address,
\`nas_identifier\` or \`nas_ip_address\` selects one. Requests from other addresses are dropped.

A target is a directory of users and groups.

- Its name is the \`<target_id>\` in the paths of SCIM requests. \`radius.directory\` names the target whose users sign in.
- There are at most 100 targets. The target \`default\` always exists. A target without backends has one of kind \`store\` with the
  name \`local\`.
- Names of targets and backends have 1 to 64 characters: letters A to Z and a to z, digits, dot, \`_\` and \`-\`.
- If backends differ, the one that comes first in the file takes precedence.
- \`mapping.user\` and \`mapping.group\` contain differences from the table of the interface: a SCIM attribute (\`title\`,
  \`name.familyName\`, \`emails[].value\`, or an attribute with the URN of its schema) and its front-end attribute.
- \`extensions\` adds schemas to \`/scim/v2\`: a JSON list in the form of \`/Schemas\` (RFC 7643 §7), each with \`resourceType\`
  (\`User\` or \`Group\`) and, if every resource must have it, \`"extensionRequired": true\`. A target has at most 20 of them, each with at
  most 100 attributes. A file is read at the start. The values of a removed extension are hidden, and return with it. Example:
  \`[{ "id": "urn:example:badge:2.0:User", "name": "Badge", "attributes": [{ "name": "number", "type": "integer" }] }]\`
- \`read_only\` of an LDAP or SCIM backend lists SCIM attributes of users that Countersign reads there and never writes. A
  different value in such an attribute is not a sync error.
- \`attributes\` of an LDAP backend maps front-end attributes to LDAP attributes, where they differ from the table of its schema.

\`radius.reply.group\` takes the same attributes as \`radius.reply.default\`. The gateway adds them to every Access-Accept for a
member of the group. The default and all groups together must fit into one packet.

- A list sends several attributes: \`"Fortinet-Group-Name" = ["vpn", "admins"]\`. An attribute that an Access-Accept has at most once
  (RFC 2865 §5.44) accepts no list.
- If a user is in several groups with one attribute, the first group wins. With \`groups = "all"\` in the table of a group, its values
  are added to those of the groups before it, if the attribute may be repeated.
- \`radius.reply.user\` has the attributes of one user, and so has the user's page in the console. They follow a renamed user, and end
  with the user's record.
- \`radius.reply.from_directory\` takes values from the user's record: a reply attribute, and the front-end attribute that has its
  value. For an address of Active Directory, add an attribute with \`extensions\` and \`mapping.user\` of the target, and map it with
  \`attributes\` of the LDAP backend: \`framedIp = "msRADIUSFramedIPAddress"\`. Its number is sent as an address. A value that cannot be
  sent is left out and logged.
- If an attribute has several sources, the policy wins over the user, the user over the directory, the directory over groups, and
  groups over the default.
- Values have the form of their type: \`"Framed-IPv6-Prefix" = "2001:db8:1::/64"\`, \`"Framed-Interface-Id" = "0211:22ff:fe33:4455"\`,
  \`"Framed-IP-Address" = "192.0.2.7"\`, a named value such as \`"Service-Type" = "Administrative-User"\`.
- The dictionary has the attributes of Access-Accepts of the RFCs, and those of Aruba, Check Point, Cisco, Citrix, F5, Fortinet,
  Huawei, Juniper, Microsoft, MikroTik, Nokia, Palo Alto Networks and SonicWall by name. Write any other vendor's attribute as
  \`26.<vendor>.<type>\`, and an extended one (RFC 6929) as \`241.<type>\` or \`241.26.<vendor>.<type>\`. There, a TOML integer is four
  octets, a text is text, and \`"0x…"\` is octets.

${CONSOLE_SETTINGS}
## Every key
${sections.map(tableOf).join("")}`;
}

if (import.meta.main) {
  Deno.writeTextFileSync(new URL("./configuration.md", import.meta.url), configurationPage());
}
