// Two changes of one directory: the merged table, and what the other administrator changed.

import { assertEquals } from "@std/assert";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import {
  type DirectoryTable,
  mergeDirectories,
  theirChanges,
} from "../../console/web/pages/targets/directory_form.ts";

// Group: english
activateCatalogue("en", en);

const LDAP = { kind: "ldap", url: "ldap://a", users_dn: "ou=p,dc=x" } as const;
const STORE = { kind: "store" } as const;
const BASE: DirectoryTable = { page_size: 50, backends: { local: STORE, ldap: LDAP } };

/** My table, theirs, and the result. */
const MERGES: readonly {
  readonly what: string;
  readonly mine: DirectoryTable;
  readonly theirs: DirectoryTable;
  readonly merged: DirectoryTable;
}[] = [
  {
    what: "different settings",
    mine: { ...BASE, page_size: 60 },
    theirs: { ...BASE, max_drop_percent: 5 },
    merged: { ...BASE, page_size: 60, max_drop_percent: 5 },
  },
  {
    what: "the same setting: mine",
    mine: { ...BASE, page_size: 60 },
    theirs: { ...BASE, page_size: 70 },
    merged: { ...BASE, page_size: 60 },
  },
  {
    what: "different fields of one connector",
    mine: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, url: "ldap://b" } } },
    theirs: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, users_dn: "ou=q" } } },
    merged: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, url: "ldap://b", users_dn: "ou=q" } } },
  },
  {
    what: "a setting that I reset, beside a new one of theirs",
    mine: { backends: BASE.backends ?? {} },
    theirs: { ...BASE, mapping: { user: { title: "job" } } },
    merged: { backends: BASE.backends ?? {}, mapping: { user: { title: "job" } } },
  },
  {
    what: "a connector that I removed and they changed",
    mine: { ...BASE, backends: { local: STORE } },
    theirs: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, url: "ldap://b" } } },
    merged: { ...BASE, backends: { local: STORE } },
  },
  {
    what: "a connector that I changed and they removed",
    mine: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, url: "ldap://b" } } },
    theirs: { ...BASE, backends: { local: STORE } },
    merged: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, url: "ldap://b" } } },
  },
  {
    what: "a secret that I typed",
    mine: { ...BASE, backends: { local: STORE, ldap: { ...LDAP, bind_password: "new" } } },
    theirs: { ...BASE, page_size: 70 },
    merged: { page_size: 70, backends: { local: STORE, ldap: { ...LDAP, bind_password: "new" } } },
  },
];

for (const { what, mine, theirs, merged } of MERGES) {
  Deno.test(`mergeDirectories() merges ${what}`, () =>
    assertEquals(mergeDirectories({ base: BASE, mine, theirs }), merged));
}

const orderOf = (table: DirectoryTable) => Object.keys(table.backends ?? {});

Deno.test("mergeDirectories() has my order of connectors if I changed it, else theirs", () => {
  const moved = { ...BASE, backends: { ldap: LDAP, local: STORE } };
  const more = { ...BASE, backends: { scim: STORE, local: STORE, ldap: LDAP } };
  assertEquals(orderOf(mergeDirectories({ base: BASE, mine: moved, theirs: more })), [
    "ldap",
    "local",
    "scim",
  ]);
  assertEquals(orderOf(mergeDirectories({ base: BASE, mine: { ...BASE, page_size: 9 }, theirs: moved })), [
    "ldap",
    "local",
  ]);
});

Deno.test("theirChanges() names what the other administrator changed, and what I changed too", () => {
  const theirs = {
    page_size: 70,
    mapping: { user: { title: "job" } },
    backends: { ldap: { ...LDAP, url: "ldap://b" }, local: STORE },
  };
  const mine = { ...BASE, page_size: 60 };
  assertEquals(theirChanges({ base: BASE, mine, theirs }), [
    { name: "Page size", now: "50", after: "70", note: "(yours: 60)" },
    { name: "ldap: Address", now: "ldap://a", after: "ldap://b" },
    { name: "Connectors", now: "local, ldap", after: "ldap, local" },
    { name: "title", now: null, after: "job" },
  ]);
  assertEquals(theirChanges({ base: BASE, mine, theirs: BASE }), []);
});
