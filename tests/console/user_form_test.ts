// The form of a user profile: unchanged attributes stay, and the changes of two editors merge.

import { assertEquals } from "@std/assert";
import {
  changedFields,
  diffRows,
  ENTERPRISE,
  mergeForms,
  otherAttributes,
  toAttributes,
  toUserForm,
  type UserForm,
} from "../../console/web/pages/users/user_form.tsx";
import { valueText } from "../../console/web/pages/users/user_summary.tsx";
import type { JsonObject } from "../../scim/schema/resource.ts";
import fc from "../packages/fast_check.ts";

const ADA: JsonObject = {
  name: { familyName: "Lovelace", givenName: "Ada", honorificPrefix: "Lady" },
  displayName: "Ada",
  nickName: "Enchantress",
  emails: [{ value: "ada@example.org", type: "work", primary: true, display: "Work" }, "second@example.org"],
  [ENTERPRISE]: { department: "Engines", costCenter: "7" },
};

Deno.test("attributesOf() returns its input when nothing was changed, whatever the values are", () => {
  const attributes = fc.dictionary(
    fc.constantFrom("displayName", "title", "emails", "phoneNumbers", "name", ENTERPRISE, "x", "__proto__"),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(fc.property(attributes, (given) => {
    const before = given as JsonObject;
    assertEquals(toAttributes(toUserForm(before), before), before);
  }));
});

Deno.test("toUserForm() has a field for the full name, as LDAP stores it, and no leftover part of the name", () => {
  const harry: JsonObject = { name: { formatted: "Harry Potter", familyName: "Potter", givenName: "Harry" } };
  assertEquals([toUserForm(harry).formatted, toUserForm(harry).displayName], ["Harry Potter", ""]);
  assertEquals(otherAttributes(harry), []);
  assertEquals(toAttributes({ ...toUserForm(harry), formatted: "H. Potter" }, harry).name, {
    formatted: "H. Potter",
    familyName: "Potter",
    givenName: "Harry",
  });
});

Deno.test("attributesOf() changes one field and keeps the related ones", () => {
  const form: UserForm = { ...toUserForm(ADA), familyName: "King", department: "" };
  assertEquals(toAttributes(form, ADA), {
    ...ADA,
    name: { familyName: "King", givenName: "Ada", honorificPrefix: "Lady" },
    [ENTERPRISE]: { costCenter: "7" },
  });
  const [first] = toUserForm(ADA).emails;
  const emails = first === undefined ? [] : [{ ...first, value: " new@example.org " }];
  assertEquals(toAttributes({ ...toUserForm(ADA), emails }, ADA).emails, [
    { display: "Work", value: "new@example.org", type: "work", primary: true },
  ]);
  assertEquals("emails" in toAttributes({ ...toUserForm(ADA), emails: [] }, ADA), false);
});

Deno.test("changedFields() and diffRows() list the differences, and ignore blanks around a text", () => {
  const now = toUserForm(ADA);
  const after: UserForm = { ...now, displayName: " Ada ", title: "Countess", emails: now.emails.slice(1) };
  assertEquals(changedFields(now, after), ["title", "emails"]);
  assertEquals(diffRows({ now, after }, (name) => name), [
    { name: "title", now: null, after: "Countess" },
    { name: "emails", now: "ada@example.org (work ★), second@example.org", after: "second@example.org" },
  ]);
});

Deno.test("mergeForms() keeps their value where I changed nothing, and mine where I did", () => {
  const base = toUserForm(ADA);
  const mine: UserForm = { ...base, title: "mine", displayName: "mine" };
  const theirs: UserForm = { ...base, title: "theirs", department: "theirs" };
  const merged = mergeForms({ base, mine, theirs });
  assertEquals([merged.title, merged.displayName, merged.department], ["mine", "mine", "theirs"]);
});

Deno.test("otherAttributes() shows the attributes without a field, as text", () => {
  assertEquals(otherAttributes(ADA), [
    { name: "name", text: "honorificPrefix: Lady" },
    { name: "nickName", text: "Enchantress" },
    { name: ENTERPRISE, text: "costCenter: 7" },
  ]);
  assertEquals(valueText([{ value: "a", type: "b" }, { x: { y: [true, null] } }]), "a (b), x: y: true");
});
