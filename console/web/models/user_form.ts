// The profile of a user as a form: attributes into fields, and what differs between two. Pure; the way back is in user_changes.ts.

import type { JsonObject, JsonValue } from "../../../scim/schema/resource.ts";

/** One of several values, such as a mail address. What it has besides is kept. */
export interface Entry {
  readonly value: string;
  readonly type: string;
  readonly primary: boolean;
  readonly rest: JsonObject;
}

export interface UserForm {
  readonly displayName: string;
  readonly givenName: string;
  readonly familyName: string;
  /** The full name as one text, `name.formatted`; directories such as LDAP have it as `cn`. */
  readonly formatted: string;
  readonly title: string;
  readonly department: string;
  readonly preferredLanguage: string;
  readonly emails: readonly Entry[];
  readonly phoneNumbers: readonly Entry[];
}

export type TextField = {
  [K in keyof UserForm]: UserForm[K] extends string ? K : never;
}[keyof UserForm];
export type ListField = Exclude<keyof UserForm, TextField>;

export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** Where each field stands among the attributes (RFC 7643 §4.1, §4.3). */
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
export const LIST_FIELDS: readonly ListField[] = ["emails", "phoneNumbers"];

export const EMPTY_ENTRY: Entry = { value: "", type: "work", primary: false, rest: {} };

/** What a field's attribute is called where a backend keeps it: `title`, `name.givenName`, an extension's by its own name. */
export function attributeName(name: keyof UserForm): string {
  return FIELDS[name].filter((part) => part !== ENTERPRISE).join(".");
}

/** Attributes as fields; what no field shows stays where it is. */
export function formOf(attributes: JsonObject): UserForm {
  const fields = NAMES.map((name) => {
    const value = at(attributes, FIELDS[name]);
    return [name, isList(name) ? entriesOf(value) : textOf(value)] as const;
  });
  return Object.fromEntries(fields) as unknown as UserForm;
}

export const EMPTY_FORM: UserForm = formOf({});

/** Names of the fields that are not as they were. */
export function changedFields(before: UserForm, after: UserForm): (keyof UserForm)[] {
  return NAMES.filter((name) => fieldText(before, name) !== fieldText(after, name));
}

/** A field as one text. */
export function fieldText(form: UserForm, name: keyof UserForm): string {
  if (!isList(name)) return form[name].trim();
  return form[name].filter(({ value }) => value.trim() !== "").map(entryText).join(", ");
}

function entryText({ value, type, primary }: Entry): string {
  const marks = [type, primary ? "★" : ""].filter((one) => one !== "").join(" ");
  return marks === "" ? value.trim() : `${value.trim()} (${marks})`;
}

/** Attributes that no field shows, as texts: they are kept as they are. */
export function otherAttributes(attributes: JsonObject): { name: string; text: string }[] {
  return Object.entries(attributes).flatMap(([name, value]) => {
    const shown = NAMES.flatMap((field) => FIELDS[field][0] === name ? [FIELDS[field][1]] : []);
    if (shown.includes(undefined)) return [];
    const rest = shown.length === 0 || !isObject(value)
      ? value
      : Object.fromEntries(Object.entries(value).filter(([sub]) => !shown.includes(sub)));
    const text = valueText(rest);
    return text === "" ? [] : [{ name, text }];
  });
}

/** Any value as one line. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(valueText).filter((one) => one !== "").join(", ");
  if (!isObject(value)) return String(value);
  const named = Object.entries(value).map(([name, one]) => [name, valueText(one)] as const)
    .filter(([, text]) => text !== "");
  const main = named.find(([name]) => name === "value");
  if (main !== undefined) {
    const type = named.find(([name]) => name === "type");
    return type === undefined ? main[1] : `${main[1]} (${type[1]})`;
  }
  return named.map(([name, text]) => `${name}: ${text}`).join(", ");
}

export function isList(name: keyof UserForm): name is ListField {
  return (LIST_FIELDS as readonly string[]).includes(name);
}

function at(attributes: JsonObject, [name, sub]: readonly [string] | readonly [string, string]) {
  const value = attributes[name];
  if (sub === undefined) return value;
  return isObject(value) ? value[sub] : undefined;
}

function entriesOf(value: JsonValue | undefined): Entry[] {
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  return list.flatMap((one: JsonValue): Entry[] => {
    if (typeof one === "string") return [{ ...EMPTY_ENTRY, type: "", value: one }];
    if (!isObject(one)) return [];
    const { value, type, primary, ...rest } = one;
    return [{ value: textOf(value), type: textOf(type), primary: primary === true, rest }];
  });
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
