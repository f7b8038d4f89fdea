// The forms of directories: connectors between their table and their draft, the order, names, and the groups of the mapping.

import { assertEquals, assertThrows } from "@std/assert";
import { ApiFailure } from "../../console/web/app/api_client.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import {
  CONNECTOR_FIELDS,
  CONNECTOR_PRESETS,
  connectorPreset,
  connectorRows,
  connectorsOf,
  type ConnectorTable,
  type DirectoryTable,
  extensionNames,
  fieldProblem,
  fieldsOf,
  freeName,
  movedConnector,
  nameProblem,
  PRESET_NAMES,
  type PresetName,
  toConnector,
  toConnectorDraft,
  withConnector,
  withoutConnector,
} from "../../console/web/pages/targets/directory_form.ts";
import {
  requireDirectorySaved,
  toDirectory,
  toDirectorySaved,
} from "../../console/web/pages/targets/directory_calls.ts";
import {
  attributeLabel,
  groupRows,
  mappingToml,
  readOnlyOf,
  withMapping,
} from "../../console/web/pages/targets/mapping_form.ts";
import { BACKEND_ROWS } from "../../platform/config/target_settings.ts";
import { DEFAULT_USER_MAPPING } from "../../scim/schema/mapping.ts";

// Group: english
activateCatalogue("en", en);

const LDAP = {
  kind: "ldap",
  url: "ldap://127.0.0.1:389",
  users_dn: "ou=people,dc=example,dc=org",
} as const satisfies ConnectorTable;

for (const preset of PRESET_NAMES) {
  Deno.test(`CONNECTOR_FIELDS has only keys of the settings file for ${preset}, and each has a label`, () => {
    const { kind } = CONNECTOR_PRESETS[preset];
    const keys = [...Object.keys(BACKEND_ROWS[kind]), "attributes"];
    const fields = CONNECTOR_FIELDS[kind].map(({ name }) => name);
    assertEquals(fields.filter((name) => !keys.includes(name) || !(`targets.field_${name}` in en)), []);
  });

  Deno.test(`connectorPreset() recognizes a connector of ${preset}`, () => {
    assertEquals(connectorPreset(toConnector({ preset, draft: toConnectorDraft(preset) })), preset);
  });
}

/** The preset, the stored connector, the typed values, and the connector that is saved. */
const SAVED: readonly (readonly [
  what: string,
  preset: PresetName,
  stored: ConnectorTable,
  typed: Readonly<Record<string, string | boolean>>,
  expected: ConnectorTable,
])[] = [
  ["a new connector without defaults", "openldap", {}, {
    url: " ldap://127.0.0.1:389 ",
    users_dn: LDAP.users_dn,
    connections: "4",
    timeout_ms: "",
  }, { ...LDAP, access: "read" }],
  ["a new connector that may be written", "openldap", {}, {
    url: LDAP.url,
    users_dn: LDAP.users_dn,
    access: true,
  }, LDAP],
  ["a new SCIM connector that only reads", "scim", {}, { url: "https://saas" }, {
    kind: "scim",
    url: "https://saas",
    access: "read",
  }],
  ["a connector that may no longer be written", "openldap", LDAP, { access: false }, {
    ...LDAP,
    access: "read",
  }],
  ["a connector that may be written again", "openldap", { ...LDAP, access: "read" }, { access: true }, LDAP],
  ["a read-only connector that stays read-only", "openldap", { ...LDAP, access: "read" }, {
    connections: "8",
  }, { ...LDAP, access: "read", connections: 8 }],
  ["Active Directory with its schema", "active_directory", {}, { url: "ldaps://dc1" }, {
    kind: "ldap",
    schema: "active_directory",
    url: "ldaps://dc1",
    access: "read",
  }],
  ["a password with blanks", "openldap", LDAP, { bind_password: " s " }, { ...LDAP, bind_password: " s " }],
  ["a stored password that is kept", "openldap", LDAP, { bind_password: "" }, LDAP],
  ["another number", "openldap", LDAP, { connections: "8" }, { ...LDAP, connections: 8 }],
  [
    "a number that is back to its default",
    "openldap",
    { ...LDAP, connections: 8 },
    { connections: "" },
    LDAP,
  ],
  ["a switch", "openldap", LDAP, { start_tls: true }, { ...LDAP, start_tls: true }],
  ["a value that the form does not have", "openldap", { ...LDAP, read_only: ["title"] }, {}, {
    ...LDAP,
    read_only: ["title"],
  }],
  ["LDAP attributes", "openldap", LDAP, { attributes: "mail = rfc822Mailbox\n" }, {
    ...LDAP,
    attributes: { mail: "rfc822Mailbox" },
  }],
  ["an embedded store", "store", {}, {}, { kind: "store" }],
];

for (const [what, preset, stored, typed, expected] of SAVED) {
  Deno.test(`toConnector() makes ${what}`, () => {
    const draft = { ...toConnectorDraft(preset, stored), ...typed };
    assertEquals(toConnector({ preset, draft }, stored), expected);
  });
}

/** The field, the typed value, and the problem that the form finds. */
const PROBLEMS: readonly (readonly [name: string, typed: string, problem: string | null])[] = [
  ["url", " ", "Enter a value."],
  ["url", "ldap://127.0.0.1", null],
  ["groups_dn", "", null],
  ["connections", "four", "Enter a whole number."],
  ["connections", "", null],
  ["attributes", "mail", "“mail” is no pair. Write name = LDAP attribute, one per line."],
  ["attributes", "mail = m\nsn=n", null],
];

for (const [name, typed, problem] of PROBLEMS) {
  Deno.test(`fieldProblem() of ${name} with "${typed}" is ${problem}`, () => {
    const field = fieldsOf("openldap").find((one) => one.name === name);
    assertEquals(field === undefined ? "no field" : fieldProblem(field, { [name]: typed }), problem);
  });
}

const TABLE: DirectoryTable = { backends: { a: { kind: "store" }, b: LDAP, c: LDAP } };
const orderOf = (table: DirectoryTable) => connectorsOf(table).map(([name]) => name).join("");

for (
  const [name, by, order] of [["b", -1, "bac"], ["b", 1, "acb"], ["a", -1, "abc"], ["c", 1, "abc"], [
    "x",
    1,
    "abc",
  ]] as const
) {
  Deno.test(`movedConnector() moves ${name} by ${by}: ${order}`, () =>
    assertEquals(orderOf(movedConnector(TABLE, { name, by })), order));
}

Deno.test("withConnector() keeps the embedded store of a directory without connectors", () => {
  assertEquals(withConnector({}, { name: "ldap", connector: LDAP }).backends, {
    local: { kind: "store" },
    ldap: LDAP,
  });
});

Deno.test("withConnector() replaces a connector in its place, and withoutConnector() removes one", () => {
  const changed = withConnector(TABLE, { name: "b", connector: { ...LDAP, connections: 9 } });
  assertEquals([orderOf(changed), changed.backends?.b?.connections], ["abc", 9]);
  assertEquals(orderOf(withoutConnector(TABLE, "b")), "ac");
});

for (
  const [name, problem] of [
    ["corp", null],
    ["corp-1.eu_x", null],
    ["12", "Use letters, digits, dots, _ and -, but not digits alone."],
    ["..", "Use letters, digits, dots, _ and -, but not digits alone."],
    ["a b", "Use letters, digits, dots, _ and -, but not digits alone."],
    ["", "Use letters, digits, dots, _ and -, but not digits alone."],
    ["x".repeat(65), "Use letters, digits, dots, _ and -, but not digits alone."],
    ["taken", "This name is taken."],
  ] as const
) {
  Deno.test(`nameProblem() of "${name}" is ${problem}`, () =>
    assertEquals(nameProblem(name, ["taken"]), problem));
}

Deno.test("freeName() finds a name that no connector has", () => {
  const table: DirectoryTable = { backends: { ldap: LDAP, "ldap-2": LDAP } };
  assertEquals([freeName(table, "ldap"), freeName(table, "scim")], ["ldap-3", "scim"]);
});

Deno.test("connectorRows() shows the values for reading, and no secret", () => {
  const rows = connectorRows({
    ...LDAP,
    bind_password: "s",
    start_tls: true,
    mode: "async",
    ca_cert: "-----BEGIN",
  });
  assertEquals(rows.map(({ name, value }) => `${name}: ${value}`), [
    "Address: ldap://127.0.0.1:389",
    "Use StartTLS: yes",
    "Base DN of users: ou=people,dc=example,dc=org",
    "Writes: asynchronous writes",
    "Trusted certificate authority: Set",
  ]);
});

Deno.test("toDirectory() keeps secrets out of the table, and knows which ones are stored", () => {
  const view = {
    name: "corp",
    source: "console",
    ...{ locked: null, changed: null, problem: null, cause: null },
    table: {
      page_size: 50,
      backends: { b: { ...LDAP, bind_password: true }, c: { kind: "scim", token: false } },
    },
    impact: {
      ...{ users: 0, groups: 0, pendingWrites: 0, isLogin: false },
      ...{ credentials: [], connections: [], clients: [] },
    },
  } as const;
  const directory = toDirectory(view, { version: "3", file: null });
  assertEquals(directory.secrets, ["b.bind_password"]);
  assertEquals(directory.table, { page_size: 50, backends: { b: LDAP, c: { kind: "scim" } } });
  assertEquals(directory.version, "3");
});

Deno.test("toDirectorySaved() names who changed a directory meanwhile", () => {
  const conflicts = [{ key: "targets.corp", by: "grace", atMs: 1, value: null }];
  const fault = assertThrows(
    () => toDirectorySaved(new ApiFailure("changed_meanwhile", { conflicts })),
    ApiFailure,
  );
  assertEquals(fault.lastChange, { actor: "grace", atMs: 1, isOwn: false });
  assertThrows(() => toDirectorySaved(new ApiFailure("offline")), ApiFailure, "offline");
});

Deno.test("requireDirectorySaved() names the keys of values that cannot be saved", () => {
  const faults = [{ key: "targets.corp.backends", problem: "it is in use" }];
  assertThrows(
    () => requireDirectorySaved({ kind: "faults", faults }),
    ApiFailure,
    "targets.corp.backends: It is in use.",
  );
  assertEquals(requireDirectorySaved({ kind: "saved", auditId: "r1" }), "r1");
});

Deno.test("groupRows() has every attribute once, in groups with the usual attributes first", () => {
  const rows = [...DEFAULT_USER_MAPPING, { scim: "custom", frontEnd: "custom" }, {
    scim: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
    frontEnd: "department",
  }];
  const groups = groupRows(rows);
  assertEquals(groups.map(([name]) => name), ["name", "contact", "organisation", "account", "other"]);
  assertEquals(groups.flatMap(([, mine]) => mine).length, rows.length);
  assertEquals(groups[0]?.[1].slice(0, 3).map(({ scim }) => scim), [
    "name.givenName",
    "name.familyName",
    "name.formatted",
  ]);
  assertEquals(groups[2]?.[1].map(({ scim }) => attributeLabel(scim)), [
    "Department",
    "Manager",
    "Roles",
    "Entitlements",
  ]);
  assertEquals(groups[4]?.[1].map(({ scim }) => attributeLabel(scim)), ["custom"]);
});

Deno.test("attributeLabel() has a name for every attribute of the default table", () => {
  assertEquals(DEFAULT_USER_MAPPING.filter(({ scim }) => attributeLabel(scim) === scim), []);
});

Deno.test("withMapping() changes the mapping and the read-only attributes, and nothing else", () => {
  const table: DirectoryTable = {
    page_size: 50,
    mapping: { group: { displayName: "cn" } },
    backends: { local: { kind: "store" }, b: { ...LDAP, read_only: ["title"] }, c: LDAP },
  };
  const readOnly = { ...readOnlyOf(table), b: [], c: ["manager.displayName"] };
  assertEquals(withMapping(table, { values: { title: "jobTitle" }, readOnly }), {
    page_size: 50,
    mapping: { group: { displayName: "cn" }, user: { title: "jobTitle" } },
    backends: { local: { kind: "store" }, b: LDAP, c: { ...LDAP, read_only: ["manager.displayName"] } },
  });
});

Deno.test("mappingToml() prints what differs from the settings file", () => {
  const table: DirectoryTable = { backends: { b: LDAP } };
  const same = { table, values: {}, readOnly: readOnlyOf(table) };
  assertEquals(mappingToml("corp", same), "");
  assertEquals(
    mappingToml("corp", { ...same, values: { title: "jobTitle" }, readOnly: { b: ["manager.displayName"] } }),
    '[targets.corp.mapping.user]\n"title" = "jobTitle"\n\n[targets.corp.backends.b]\nread_only = ["manager.displayName"]',
  );
});

const EXTENSION_NAMES: readonly (readonly [extensions: string | undefined, names: readonly string[]])[] = [
  [undefined, []],
  [" ", []],
  ["[]", []],
  ['[{ "id": "urn:example:a" }, { "id": "urn:example:b" }]', ["urn:example:a", "urn:example:b"]],
  ["/etc/badge.json", ["/etc/badge.json"]],
  ['{ "id": "urn:example:a" }', ['{ "id": "urn:example:a" }']],
  ['[5, null, {}, { "id": 7 }]', ["?", "?", "?", "7"]],
];

for (const [extensions, names] of EXTENSION_NAMES) {
  Deno.test(`extensionNames() of ${extensions} lists ${names.join(" and ")}`, () => {
    assertEquals(extensionNames(extensions === undefined ? {} : { extensions }), names);
  });
}

Deno.test("readOnlyOf() leaves out a connector that is never written, and withMapping() keeps its attributes", () => {
  const read = { ...LDAP, access: "read", read_only: ["title"] };
  const table: DirectoryTable = { backends: { a: read, b: { ...LDAP, read_only: ["manager"] } } };
  const readOnly = readOnlyOf(table);
  assertEquals(readOnly, { b: ["manager"] });
  assertEquals(withMapping(table, { values: {}, readOnly }).backends, table.backends);
});
