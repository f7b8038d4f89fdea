// The fields that administrators set, as data: kind, bounds, default, and when a field applies. Values, checks, forms and answers of the
// API come from them. The browser reads this file too.

/** Values of other fields with which a field applies; all of them must match. `not`: any value except these. Compared as texts. */
export type When = Readonly<Record<string, readonly string[] | { readonly not: readonly string[] }>>;

interface Common {
  readonly when?: When;
  /** The form explains the field, with the message `<field>_hint`. */
  readonly hasHint?: true;
}

interface Typed extends Common {
  /** In characters. */
  readonly max: number;
  /** Unless it is empty and not required. */
  readonly min?: number;
  /** An empty text is not accepted. */
  readonly isRequired?: true;
  /** The lines of the form. Without it, the text has one line and no control characters. */
  readonly lines?: number;
  readonly placeholder?: string;
}

export interface OneText extends Typed {
  readonly type: "text";
  readonly default: string;
}

/** Stored encrypted and never shown. In a change, absent keeps it and "" removes it. */
export interface OneSecret extends Typed {
  readonly type: "secret";
  /** The form shows what is typed. */
  readonly isLegible?: true;
}

/** Texts, one on each line of the form. */
export interface TextList extends Common {
  readonly type: "list";
  /** In characters, of one text. */
  readonly max: number;
  readonly maxItems: number;
  readonly minItems?: number;
  readonly isUnique?: true;
  readonly default: readonly string[];
}

/** A whole number. */
export interface OneNumber extends Common {
  readonly type: "number";
  readonly min: number;
  readonly max: number;
  readonly default: number;
  readonly unit?: "ms" | "s" | "min" | "h" | "days";
  /** What an empty field of the form means, by the choice of another field. */
  readonly usual?: { readonly by: string; readonly of: Readonly<Record<string, number>> };
  /** The form offers only these. */
  readonly choices?: readonly number[];
}

interface OneFlag extends Common {
  readonly type: "flag";
  readonly default: boolean;
}

export interface OneChoice<T extends string = string> extends Common {
  readonly type: "choice";
  readonly of: readonly T[];
  readonly default: T;
  /** When single choices apply. */
  readonly only?: Readonly<Partial<Record<T, When>>>;
}

/** Each at most once. */
export interface ManyChoices<T extends string = string> extends Common {
  readonly type: "choices";
  readonly of: readonly T[];
  readonly default: readonly T[];
  /** The least number of them. */
  readonly min?: number;
}

/** The name of an object that an administrator sets up: a letter, then at most 39 letters a to z, digits and hyphens. */
export const OBJECT_NAME = /^[a-z][a-z0-9-]{0,39}$/;

export type AnyField = OneText | OneSecret | OneNumber | OneFlag | OneChoice | ManyChoices | TextList;
/** In the order of the form, of the checks and of the audit log. */
export type Fields = Readonly<Record<string, AnyField>>;

type Optional<F, K extends keyof F> = Omit<F, "type" | K> & Partial<Pick<F, K>>;

export function text(field: Optional<OneText, "default">): OneText {
  return { type: "text", default: "", ...field };
}
export function secret(field: Omit<OneSecret, "type">): OneSecret {
  return { type: "secret", ...field };
}
export function list(field: Optional<TextList, "default">): TextList {
  return { type: "list", default: [], ...field };
}
export function number(field: Omit<OneNumber, "type">): OneNumber {
  return { type: "number", ...field };
}
export function flag(field: Optional<OneFlag, "default"> = {}): OneFlag {
  return { type: "flag", default: false, ...field };
}
export function choice<const T extends string>(
  of: readonly T[],
  field: Omit<OneChoice<T>, "type" | "of">,
): OneChoice<T> {
  return { type: "choice", of, ...field };
}
export function choices<const T extends string>(
  of: readonly T[],
  field: Omit<ManyChoices<T>, "type" | "of">,
): ManyChoices<T> {
  return { type: "choices", of, ...field };
}

export type ValueOf<F> = F extends { readonly type: "text" | "secret" } ? string
  : F extends { readonly type: "list" } ? readonly string[]
  : F extends { readonly type: "number" } ? number
  : F extends { readonly type: "flag" } ? boolean
  : F extends OneChoice<infer T> ? T
  : F extends ManyChoices<infer T> ? readonly T[]
  : never;
type SecretName<F extends Fields> = { [K in keyof F]: F[K]["type"] extends "secret" ? K : never }[keyof F];
/** The values of all fields except secrets. */
export type ValuesOf<F extends Fields> = { readonly [K in Exclude<keyof F, SecretName<F>>]: ValueOf<F[K]> };
/** "": none. */
export type SecretsOf<F extends Fields> = { readonly [K in SecretName<F>]: string };
export type FieldName<F extends Fields> = keyof F & string;
type Values = Readonly<Record<string, unknown>>;

export function appliesTo(when: When | undefined, values: object): boolean {
  return Object.entries(when ?? {}).every(([name, wanted]) => {
    const value = String((values as Values)[name] ?? "");
    return "not" in wanted ? !wanted.not.includes(value) : wanted.includes(value);
  });
}

/** The choices that the other values allow. */
export function choicesFor<T extends string>(
  { of, only }: Pick<OneChoice<T>, "of" | "only">,
  values: object,
): readonly T[] {
  return only === undefined ? of : of.filter((one) => appliesTo(only[one], values));
}

/** The default of a number, by the other values. */
export function usualNumber({ usual, default: otherwise }: OneNumber, values: object): number {
  return usual?.of[String((values as Values)[usual.by])] ?? otherwise;
}

/** The values of a new object, without secrets. */
export function defaultsOf<F extends Fields>(fields: F, given: object = {}): ValuesOf<F> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) =>
      field.type === "secret"
        ? []
        : [[name, field.type === "number" ? usualNumber(field, given) : field.default]]
    ),
  ) as ValuesOf<F>;
}

/** `maxHours`: `max_hours`, in the keys of messages. */
export const snakeName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Values and secrets in which fields that do not apply have their default, so that nothing unchecked is stored. */
export function withoutInapplicable<V extends object>(fields: Fields, values: V): V {
  const reset = Object.entries(fields).flatMap(([name, field]) =>
    !(name in values) || appliesTo(field.when, values)
      ? []
      : [[name, field.type === "secret" ? "" : field.default]]
  );
  return { ...values, ...Object.fromEntries(reset) };
}

/** Checks of the server beyond the bounds. Each gets all values, with the secrets. */
export type FieldChecks<F extends Fields> = {
  readonly [K in keyof F]?: (value: ValueOf<F[K]>, values: ValuesOf<F> & SecretsOf<F>) => boolean;
};

/** The first field that applies and cannot be used, in the order of the fields; `null`: all can. */
export function firstBadField<F extends Fields>(
  fields: F,
  values: ValuesOf<F> & SecretsOf<F>,
  checks: FieldChecks<F> = {},
): FieldName<F> | null {
  for (const [name, field] of Object.entries(fields) as [FieldName<F>, AnyField][]) {
    if (!appliesTo(field.when, values)) continue;
    const value = values[name as keyof typeof values] as never;
    if (!isWithinBounds(field, value, values) || checks[name]?.(value, values) === false) return name;
  }
  return null;
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Whether a value has the type of a field, and is within its bounds. */
export function isWithinBounds(field: AnyField, value: unknown, values: object = {}): boolean {
  switch (field.type) {
    case "text":
    case "secret":
      if (typeof value !== "string" || value.length > field.max) return false;
      if (value === "") return field.isRequired !== true;
      if (value.length < (field.min ?? 0)) return false;
      return field.type === "secret" || field.lines !== undefined || !CONTROL.test(value);
    case "number":
      return Number.isInteger(value) && field.min <= Number(value) && Number(value) <= field.max;
    case "flag":
      return typeof value === "boolean";
    case "list":
      return isListWithin(field, value) &&
        value.every((one) => typeof one === "string" && one.length <= field.max);
    case "choice":
      return choicesFor(field, values).some((one) => one === value);
    case "choices":
      return isListWithin({ minItems: field.min, maxItems: field.of.length, isUnique: true }, value) &&
        value.every((one) => field.of.some((known) => known === one));
  }
}

function isListWithin(
  { minItems = 0, maxItems, isUnique }: { minItems?: number | undefined; maxItems: number; isUnique?: true },
  value: unknown,
): value is readonly unknown[] {
  return Array.isArray(value) && value.length >= minItems && value.length <= maxItems &&
    (isUnique !== true || new Set(value).size === value.length);
}
