// The profile of a user as a form: SCIM attributes to fields and back, and the differences of two forms.

import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import type { DiffRow } from "../../components/diff_table.tsx";
import { isObjectValue, valueText } from "./attribute_text.ts";

/** An e-mail address or a phone number. `rest` contains its other sub-attributes. */
export interface ContactEntry {
  readonly value: string;
  readonly type: string;
  readonly primary: boolean;
  readonly rest: JsonObject;
}

export interface UserForm {
  readonly displayName: string;
  readonly givenName: string;
  readonly familyName: string;
  /** `name.formatted`, which is `cn` in LDAP. */
  readonly formatted: string;
  readonly title: string;
  readonly department: string;
  readonly preferredLanguage: string;
  readonly emails: readonly ContactEntry[];
  readonly phoneNumbers: readonly ContactEntry[];
}

export type TextFieldName = {
  [K in keyof UserForm]: UserForm[K] extends string ? K : never;
}[keyof UserForm];
export type ListFieldName = Exclude<keyof UserForm, TextFieldName>;

export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** The attribute of each field (RFC 7643 §4.1, §4.3). */
export const FIELDS: Readonly<Record<keyof UserForm, readonly [string] | readonly [string, string]>> = {
  displayName: ["displayName"],
  givenName: ["name", "givenName"],
  familyName: ["name", "familyName"],
  formatted: ["name", "formatted"],
  title: ["title"],
  department: [ENTERPRISE, "department"],
  preferredLanguage: ["preferredLanguage"],
  emails: ["emails"],
  phoneNumbers: ["phoneNumbers"],
};
const NAMES = Object.keys(FIELDS) as (keyof UserForm)[];
export const LIST_FIELDS: readonly ListFieldName[] = ["emails", "phoneNumbers"];

export const EMPTY_ENTRY: ContactEntry = { value: "", type: "work", primary: false, rest: {} };

/** The attribute of a field, such as `title` or `name.givenName`, without the URN of an extension. */
export function attributeName(name: keyof UserForm): string {
  return FIELDS[name].filter((part) => part !== ENTERPRISE).join(".");
}

/** The form of attributes. Attributes without a field are ignored. */
export function toUserForm(attributes: JsonObject): UserForm {
  const fields = NAMES.map((name) => {
    const value = at(attributes, FIELDS[name]);
    return [name, isListField(name) ? entriesOf(value) : textOf(value)] as const;
  });
  return Object.fromEntries(fields) as unknown as UserForm;
}

export const EMPTY_FORM: UserForm = toUserForm({});

/** The names of the fields that differ. */
export function changedFields(before: UserForm, after: UserForm): (keyof UserForm)[] {
  return NAMES.filter((name) => fieldText(before, name) !== fieldText(after, name));
}

/** A field as one text. */
export function fieldText(form: UserForm, name: keyof UserForm): string {
  if (!isListField(name)) return form[name].trim();
  return form[name].filter(({ value }) => value.trim() !== "").map(entryText).join(", ");
}

function entryText({ value, type, primary }: ContactEntry): string {
  const marks = [type, primary ? "★" : ""].filter((one) => one !== "").join(" ");
  return marks === "" ? value.trim() : `${value.trim()} (${marks})`;
}

/** Attributes without a field, as texts. The form does not change them. */
export function otherAttributes(attributes: JsonObject): { name: string; text: string }[] {
  return Object.entries(attributes).flatMap(([name, value]) => {
    const shown = NAMES.flatMap((field) => FIELDS[field][0] === name ? [FIELDS[field][1]] : []);
    if (shown.includes(undefined)) return [];
    const rest = shown.length === 0 || !isObjectValue(value)
      ? value
      : Object.fromEntries(Object.entries(value).filter(([sub]) => !shown.includes(sub)));
    const text = valueText(rest);
    return text === "" ? [] : [{ name, text }];
  });
}

export function isListField(name: keyof UserForm): name is ListFieldName {
  return (LIST_FIELDS as readonly string[]).includes(name);
}

function at(attributes: JsonObject, [name, sub]: readonly [string] | readonly [string, string]) {
  const value = attributes[name];
  if (sub === undefined) return value;
  return isObjectValue(value) ? value[sub] : undefined;
}

function entriesOf(value: JsonValue | undefined): ContactEntry[] {
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  return list.flatMap((one: JsonValue): ContactEntry[] => {
    if (typeof one === "string") return [{ ...EMPTY_ENTRY, type: "", value: one }];
    if (!isObjectValue(one)) return [];
    const { value, type, primary, ...rest } = one;
    return [{ value: textOf(value), type: textOf(type), primary: primary === true, rest }];
  });
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The attributes with the changed fields. An empty field removes its attribute. Other attributes stay unchanged. */
export function toAttributes(form: UserForm, before: JsonObject): JsonObject {
  let attributes = before;
  for (const name of changedFields(toUserForm(before), form)) {
    if (isListField(name)) {
      const entries = form[name].filter(({ value }) => value.trim() !== "").map(entryValue);
      attributes = put(attributes, FIELDS[name], entries.length === 0 ? undefined : entries);
    } else {
      const text = form[name].trim();
      attributes = put(attributes, FIELDS[name], text === "" ? undefined : text);
    }
  }
  return attributes;
}

/** My changes on top of another administrator's changes. */
export function mergeForms(
  { base, mine, theirs }: { base: UserForm; mine: UserForm; theirs: UserForm },
): UserForm {
  const own = changedFields(base, mine).map((name) => [name, mine[name]] as const);
  return { ...theirs, ...Object.fromEntries(own) };
}

/** Old and new, field by field; `labelOf` names a field. */
export function diffRows(
  { now, after }: { now: UserForm; after: UserForm },
  labelOf: (name: keyof UserForm) => string,
): DiffRow[] {
  return changedFields(now, after).map((name) => ({
    name: labelOf(name),
    now: fieldText(now, name) || null,
    after: fieldText(after, name) || null,
  }));
}

function put(
  attributes: JsonObject,
  [name, sub]: readonly [string] | readonly [string, string],
  value: JsonValue | undefined,
): JsonObject {
  if (sub === undefined) return without(attributes, name, value);
  const inner = attributes[name];
  const next = without(isObjectValue(inner) ? inner : {}, sub, value);
  return without(attributes, name, Object.keys(next).length === 0 ? undefined : next);
}

function without(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  const { [name]: _before, ...rest } = object;
  if (value === undefined) return rest;
  return name in object ? { ...object, [name]: value } : { ...rest, [name]: value };
}

function entryValue({ value, type, primary, rest }: ContactEntry): JsonObject {
  return {
    ...rest,
    value: value.trim(),
    ...(type === "" ? {} : { type }),
    ...(primary ? { primary } : {}),
  };
}
