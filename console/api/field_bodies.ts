// The fields of an administered object (platform/fields.ts) in the bodies of the API: their types, and the refusal of a value that cannot be used.

import * as v from "valibot";
import {
  type AnyField,
  type FieldChecks,
  type FieldName,
  type Fields,
  firstBadField,
  type SecretsOf,
  type ValueOf,
  type ValuesOf,
  withoutInapplicable,
} from "../../platform/fields.ts";
import { badField } from "./errors.ts";
import { textUpTo } from "./hono_env.ts";

type FieldEntries<F extends Fields> = {
  readonly [K in keyof F]: v.OptionalSchema<v.GenericSchema<ValueOf<F[K]>>, undefined>;
};

/**
 * The entries of a body for fields. Absent ones keep their value. What depends on other values, and the bounds of numbers, are checked by
 * {@link usableFields}; `isBounded`: numbers are checked here.
 */
export function fieldEntries<F extends Fields>(
  fields: F,
  { isBounded = false }: { readonly isBounded?: boolean } = {},
): FieldEntries<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, v.optional(schemaOf(field, isBounded))]),
  ) as unknown as FieldEntries<F>;
}

function schemaOf(field: AnyField, isBounded: boolean): v.GenericSchema {
  switch (field.type) {
    case "text":
    case "secret":
      return textUpTo(field.max);
    case "list":
      return v.pipe(v.array(textUpTo(field.max)), v.maxLength(field.maxItems));
    case "number":
      return isBounded
        ? v.pipe(v.number(), v.integer(), v.minValue(field.min), v.maxValue(field.max))
        : v.number();
    case "flag":
      return v.boolean();
    case "choice":
      return v.picklist(field.of);
    case "choices":
      return v.pipe(v.array(v.picklist(field.of)), v.maxLength(field.of.length));
  }
}

export interface FieldRules<F extends Fields> {
  readonly fields: F;
  readonly checks?: FieldChecks<F>;
  /** What is allowed, beyond the bounds of the field. For callers that are no form of the console. */
  readonly messages?: { readonly [K in FieldName<F>]?: string };
}

/** Values of a request, in which absent ones may be `undefined`. */
type GivenFields<F extends Fields> = {
  readonly [K in keyof F]?: ValueOf<F[K]> | undefined;
};

/**
 * The settings and secrets after a change. Fields that do not apply have their default.
 *
 * @param before those that are stored, or the defaults
 * @throws Refusal `bad_field` with the first field that cannot be used
 */
export function usableFields<F extends Fields, S extends ValuesOf<F>, X extends SecretsOf<F>>(
  { fields, checks, messages = {} }: FieldRules<F>,
  before: { readonly settings: S; readonly secrets: X },
  given: GivenFields<F>,
): { readonly settings: S; readonly secrets: X } {
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const all = withoutInapplicable(fields, { ...before.settings, ...before.secrets, ...defined });
  const bad = firstBadField(fields, all, checks);
  if (bad !== null) {
    throw badField(bad, (messages as Partial<Record<string, string>>)[bad] ?? boundsText(fields, bad));
  }
  const valuesOf = <T extends object>(known: T): T =>
    Object.fromEntries(Object.keys(known).map((name) => [name, Reflect.get(all, name)])) as T;
  return { settings: valuesOf(before.settings), secrets: valuesOf(before.secrets) };
}

function boundsText(fields: Fields, name: string): string {
  const field = fields[name];
  if (field?.type === "number") return `"${name}" is a whole number from ${field.min} to ${field.max}.`;
  if (field?.type === "choice") return `"${name}" does not have this value here.`;
  if (field?.type === "choices") return `Choose at least ${field.min ?? 0} of "${name}".`;
  return `"${name}" is missing or not valid.`;
}
