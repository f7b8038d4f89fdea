// The cases of the Backend port's test suite about renames. A backend that cannot rename does not have the method.

import { assertEquals } from "@std/assert";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import type { GroupContent, UserContent } from "../../../scim/schema/resource.ts";

/** The part of the suite's bench that the cases need. */
interface RenameBench {
  readonly backend: Backend;
  readonly mayRefuse?: ReadonlySet<string>;
}

function person(name: string, title: string): UserContent {
  const attributes = { name: { familyName: "", givenName: "" }, title };
  return { kind: "user", name, active: true, attributes };
}

function team(name: string, members: readonly string[]): GroupContent {
  return { kind: "group", name, attributes: {}, members };
}

async function rename(backend: Backend, from: string, content: UserContent | GroupContent): Promise<string> {
  const outcome = await backend.rename?.(from, { content });
  if (outcome === undefined) throw new Error("the backend cannot rename");
  if (!outcome.ok) throw new Error(`${outcome.fault.kind}: ${outcome.fault.detail}`);
  return outcome.value.remoteId;
}

async function read(backend: Backend, kind: "user" | "group", name: string) {
  const outcome = await backend.read(kind, name);
  if (!outcome.ok) throw new Error(outcome.fault.detail);
  return outcome.value?.content ?? null;
}

async function members(backend: Backend, name: string): Promise<string[]> {
  const content = await read(backend, "group", name);
  return content?.kind === "group" ? content.members.map(canonicalName).sort() : [];
}

/** Characters that have a meaning in a DN, a filter or a URL. */
const HOSTILE = [
  "a,ou=groups",
  "a+cn=b",
  "back\\slash",
  '"quoted"',
  "per%cent%2F",
  "ümläut",
  "#4100",
];

export const RENAME_CASES: Readonly<Record<string, (bench: RenameBench) => Promise<void>>> = {
  async "renames a user with the groups, twice, and there and back"({ backend }) {
    if (backend.rename === undefined) return;
    for (const name of ["anna", "bert"]) await backend.put({ content: person(name, "old") });
    await backend.put({ content: team("staff", ["anna", "bert"]) });
    await backend.put({ content: team("alone", ["anna"]) });
    for (let times = 0; times < 2; times++) await rename(backend, "anna", person("zoe", "new"));
    assertEquals(await read(backend, "user", "anna"), null);
    assertEquals(await read(backend, "user", "zoe"), person("zoe", "new"));
    assertEquals(await members(backend, "staff"), ["bert", "zoe"]);
    assertEquals(await members(backend, "alone"), ["zoe"]);
    await rename(backend, "zoe", person("anna", "old"));
    assertEquals(await read(backend, "user", "zoe"), null);
    assertEquals(await members(backend, "staff"), ["anna", "bert"]);
  },

  async "renames a group, which keeps its members"({ backend }) {
    if (backend.rename === undefined) return;
    for (const name of ["anna", "bert", "cleo"]) await backend.put({ content: person(name, "x") });
    await backend.put({ content: team("staff", ["anna", "bert"]) });
    await rename(backend, "staff", team("crew", ["bert", "cleo"]));
    assertEquals(await read(backend, "group", "staff"), null);
    assertEquals(await members(backend, "crew"), ["bert", "cleo"]);
  },

  async "creates a resource that has neither name"({ backend }) {
    if (backend.rename === undefined) return;
    await rename(backend, "anna", person("zoe", "new"));
    assertEquals(await read(backend, "user", "zoe"), person("zoe", "new"));
  },

  async "renames to hostile names and from them"({ backend, mayRefuse = new Set() }) {
    if (backend.rename === undefined) return;
    let name = "anna";
    await backend.put({ content: person(name, "same") });
    await backend.put({ content: team("staff", [name]) });
    // SCIM servers differ in what they make of a backslash in a filter.
    const names = backend.kind === "ldap" ? [...HOSTILE, "comma\\,", "\\"] : HOSTILE;
    for (const next of names.filter((one) => !mayRefuse.has(one))) {
      await rename(backend, name, person(next, "same"));
      assertEquals(await read(backend, "user", next), person(next, "same"));
      assertEquals(await members(backend, "staff"), [canonicalName(next)]);
      assertEquals(await read(backend, "user", name), null);
      name = next;
    }
  },
};
