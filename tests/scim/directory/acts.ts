// Random writes for the laws of the directory: the acts, their effect on a naive model, and the comparison of both.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { TargetDirectory, WriteResult } from "../../../scim/ports.ts";
import type { Content, JsonObject, ResourceKind } from "../../../scim/schema/resource.ts";
import type { Model } from "./model.ts";
import { assertIndexed } from "./value_model.ts";
import { drop, links, loginOf, pageOf, putGroup, putUser } from "./world.ts";

export const FAMILY = ["Smith", "smithers", "Möller", "O'Brien", "van Dyke", "李", "😀😀", "ａ"];
const USERS = [
  "anna",
  "Anna",
  "bert",
  "bert.smith@example.com",
  "c",
  "möller",
  "李雷",
  "😀",
  "ﬀ",
  "zoe",
  "ab",
  "abc",
];
const GROUPS = ["staff", "Staff", "it-admins", "vpn users", "😀 club", "ab"];

export type Act =
  | { kind: "user"; name: string; active: boolean; attributes: JsonObject }
  | { kind: "group"; name: string; members: string[] }
  | { kind: "members"; group: string; add: string[]; remove: string[] }
  | { kind: "drop"; what: ResourceKind; name: string };

const attributes = fc.record({
  family: fc.constantFrom(...FAMILY),
  given: fc.constantFrom("Anna", "Bert", "", "annabel"),
  emails: fc.array(fc.constantFrom("a.smith@example.com", "bert@b.example", "x@y"), { maxLength: 2 }),
  displayName: fc.constantFrom(undefined, "Anna", "ann", "Bert 😀"),
  phones: fc.array(fc.constantFrom("+49 171 1234567", "0171 12", "+491711234568"), { maxLength: 2 }),
}).map(({ family, given, emails, displayName, phones }): JsonObject => ({
  ...displayName === undefined ? {} : { displayName },
  name: { familyName: family, givenName: given },
  emails: emails.map((value, at) => ({ value, primary: at === 1 })),
  phoneNumbers: phones.map((value) => ({ value })),
}));
const user = fc.constantFrom(...USERS);
const members = fc.array(user, { maxLength: 6 });
export const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    kind: fc.constant("user" as const),
    name: user,
    active: fc.boolean(),
    attributes,
  }),
  fc.record({ kind: fc.constant("group" as const), name: fc.constantFrom(...GROUPS), members }),
  fc.record({
    kind: fc.constant("members" as const),
    group: fc.constantFrom(...GROUPS),
    add: members,
    remove: members,
  }),
  fc.record({
    kind: fc.constant("drop" as const),
    what: fc.constantFrom<ResourceKind[]>("user", "group"),
    name: fc.constantFrom(...USERS, ...GROUPS),
  }),
);

export async function perform(directory: TargetDirectory, one: Act): Promise<void> {
  if (one.kind === "user") await putUser(directory, one.name, one);
  else if (one.kind === "group") await putGroup(directory, one.name, one.members);
  else if (one.kind === "members") await directory.changeMembers(one);
  else await drop(directory, { kind: one.what, name: one.name });
}

/** The write of an act, with the present version. */
export async function writeOf(directory: TargetDirectory, one: Act): Promise<() => Promise<WriteResult>> {
  if (one.kind === "members") return () => directory.changeMembers(one);
  const kind = one.kind === "drop" ? one.what : one.kind;
  const expected = (await directory.read(kind, canonicalName(one.name)))?.version ?? null;
  const content: Content | null = one.kind === "drop"
    ? null
    : one.kind === "user"
    ? one
    : { kind: "group", name: one.name, attributes: {}, members: one.members };
  const next = content === null ? null : { content, backends: {} };
  return () => directory.write({ kind, name: one.name, expected, next });
}

export function note(model: Model, one: Act): void {
  if (one.kind === "user") model.putUser(one);
  else if (one.kind === "group") model.putGroup(one.name, one.members);
  else if (one.kind === "members") model.changeMembers(one.group, one);
  else model.drop(one.what, canonicalName(one.name));
}

export const canonicals = (resources: readonly { content: { name: string } }[]): string[] =>
  resources.map(({ content }) => canonicalName(content.name));

export async function assertSame(directory: TargetDirectory, model: Model): Promise<void> {
  for (const kind of ["user", "group"] as const) {
    const names = model.names(kind);
    assertEquals(directory.count(kind), names.length);
    for (const size of [1, 3, 100]) {
      for (let page = 1; (page - 1) * size <= names.length; page++) {
        const got = await directory.page(kind, { page, size });
        assertEquals(got.total, names.length);
        assertEquals(canonicals(got.resources), names.slice((page - 1) * size, page * size));
      }
    }
  }
  for (const name of model.names("user")) {
    const stored = await directory.read("user", name);
    assertEquals(stored?.groups, model.groupsOf(name));
    assertEquals((await loginOf(directory, name)).groups, model.groupsOf(name));
  }
  for (const name of model.names("group")) {
    const stored = await directory.read("group", name);
    assertEquals(links(stored), model.members(name));
  }
  for (const name of model.gone) assertEquals((await loginOf(directory, name)).status, "deleted");
}

const QUERIES = [
  "a",
  "an",
  "anna",
  "smith",
  "SMITH",
  "s",
  "e",
  "example.com",
  "staff",
  "it",
  "admins",
  "club",
  "😀",
  "李",
  "+49 171",
  "49",
  "0171",
  "anna smith",
  "a b",
  "vpn users",
  "bert.smith@example.com and more",
  "zz",
];

export async function assertFinds(directory: TargetDirectory, model: Model): Promise<void> {
  await assertIndexed(directory);
  for (const q of QUERIES) {
    for (const kind of ["user", "group"] as const) {
      const expected = model.found(kind, q);
      const gathered: string[] = [];
      for (let page = 1; page <= expected.length / 2 + 1; page++) {
        const found = pageOf(await directory.search(kind, q, { page, size: 2 }));
        assertEquals([q, kind, found.total], [q, kind, expected.length]);
        gathered.push(...canonicals(found.resources));
      }
      assertEquals([q, kind, ...gathered.sort()], [q, kind, ...expected.sort()]);
    }
  }
}
