// What was changed in the form of a user: as attributes, as old and new, and two people's changes brought together. Pure.

import type { JsonObject, JsonValue } from "../../../scim/schema/resource.ts";
import type { DiffRow } from "../parts/diff_table.tsx";
import {
  changedFields,
  type Entry,
  FIELDS,
  fieldText,
  formOf,
  isList,
  isObject,
  type UserForm,
} from "./user_form.ts";

/** The attributes with the changed fields put in; an empty field takes its attribute away. What was not changed stays as it was given. */
export function attributesOf(form: UserForm, before: JsonObject): JsonObject {
  let attributes = before;
  for (const name of changedFields(formOf(before), form)) {
    if (isList(name)) {
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
  const next = without(isObject(inner) ? inner : {}, sub, value);
  return without(attributes, name, Object.keys(next).length === 0 ? undefined : next);
}

function without(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  const { [name]: _before, ...rest } = object;
  if (value === undefined) return rest;
  return name in object ? { ...object, [name]: value } : { ...rest, [name]: value };
}

function entryValue({ value, type, primary, rest }: Entry): JsonObject {
  return {
    ...rest,
    value: value.trim(),
    ...(type === "" ? {} : { type }),
    ...(primary ? { primary } : {}),
  };
}
