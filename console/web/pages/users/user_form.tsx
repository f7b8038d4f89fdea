// The profile fields of a user: texts, and lists of e-mail addresses and phone numbers.

import type { Signal } from "@preact/signals";
import { isContactValue } from "../../../../scim/schema/contact_values.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import { t } from "../../i18n/translate.ts";
import { Checkbox, Field, MultiField, ReadOnlyField, SelectField } from "../../components/field.tsx";
import { FormFields } from "../../components/form_fields.tsx";
import type { DiffRow } from "../../components/diff_table.tsx";
import { isObjectValue, valueText } from "./user_summary.tsx";

interface FieldsProps {
  /** The prefix of element ids. */
  readonly prefix: string;
  readonly form: Signal<UserForm>;
  /** The loaded form. Its addresses and numbers are not validated. */
  readonly base?: UserForm;
  /** Attributes that are read-only in every backend. They are shown as text. */
  readonly readOnly: readonly string[];
  /** Why the profile cannot be changed. Then all fields are text. */
  readonly reason?: string | undefined;
}

const TEXTS: readonly TextFieldName[] = [
  "givenName",
  "familyName",
  "formatted",
  "displayName",
  "title",
  "department",
  "preferredLanguage",
];
const TYPES = ["work", "home", "mobile", "other"] as const;
const MAX_CHARACTERS = 1000;

const LABELS = {
  displayName: "common.display_name",
  givenName: "users.given_name",
  familyName: "users.family_name",
  formatted: "users.full_name",
  title: "users.job_title",
  department: "users.department",
  preferredLanguage: "common.language",
  emails: "users.mails",
  phoneNumbers: "common.phone_numbers",
} as const satisfies Record<keyof UserForm, string>;

export function fieldLabel(name: keyof UserForm): string {
  return t(LABELS[name]);
}

const LISTS = {
  emails: { add: "users.add_mail", one: "users.mail", inputMode: "email" },
  phoneNumbers: { add: "users.add_number", one: "users.number", inputMode: "tel" },
} as const satisfies Record<ListFieldName, unknown>;

export function UserFields({ prefix, form, base = EMPTY_FORM, readOnly, reason }: FieldsProps) {
  const hintOf = (name: keyof UserForm) =>
    readOnly.includes(attributeName(name)) ? t("users.kept_by_all") : undefined;
  const isText = (name: keyof UserForm) => (reason ?? hintOf(name)) !== undefined;
  /** A field as text. */
  const fixed = (name: keyof UserForm) => (
    <ReadOnlyField key={name} label={fieldLabel(name)} hint={hintOf(name)}>
      <bdi>{fieldText(form.value, name) || t("common.none")}</bdi>
    </ReadOnlyField>
  );
  return (
    <>
      <div class="people-fields">
        {TEXTS.filter((name) => name !== "formatted" || base.formatted !== "").map((name) =>
          isText(name) ? fixed(name) : <TextInput key={name} {...{ prefix, form, name }} />
        )}
        {LIST_FIELDS.filter(isText).map(fixed)}
      </div>
      {LIST_FIELDS.map((name) =>
        !isText(name) && <ContactFields key={name} {...{ prefix, form, name }} known={base[name]} />
      )}
    </>
  );
}

type Place<N> = Pick<FieldsProps, "prefix" | "form"> & { readonly name: N };

function TextInput({ prefix, form, name }: Place<TextFieldName>) {
  const shown = name === "displayName" ? shownName(form.value) : "";
  const row = {
    name,
    label: LABELS[name],
    input: {
      maxLength: MAX_CHARACTERS,
      ...(shown === "" ? {} : { placeholder: t("common.default_value", { value: shown }) }),
    },
  };
  return <FormFields prefix={prefix} draft={form} rows={[row]} />;
}

/** Without a display name, lists show the full name. */
function shownName({ formatted, givenName, familyName }: UserForm): string {
  return formatted.trim() !== "" ? formatted.trim() : `${givenName} ${familyName}`.trim();
}

/** The problem of a new address or number; `null` if it is valid or already stored. */
function problemOf(
  name: ListFieldName,
  { value, known }: { value: string; known: readonly ContactEntry[] },
): string | null {
  const isFine = value.trim() === "" || known.some((entry) => entry.value === value) ||
    isContactValue(name, value);
  return isFine ? null : t(name === "emails" ? "users.not_a_mail" : "users.not_a_number");
}

function ContactFields(
  { prefix, form, name, known }: Place<ListFieldName> & { readonly known: readonly ContactEntry[] },
) {
  const { add, one, inputMode } = LISTS[name];
  const rows = form.value[name];
  const change = (next: readonly ContactEntry[]) => form.value = { ...form.value, [name]: next };
  /** At most one entry is primary. */
  const choose = (index: number, primary: boolean) =>
    change(rows.map((row, at) => ({ ...row, primary: at === index ? primary : row.primary && !primary })));
  return (
    <MultiField
      label={fieldLabel(name)}
      rows={rows}
      onChange={change}
      blank={() => EMPTY_ENTRY}
      addLabel={t(add)}
      nameOf={({ value }) => value}
      renderRow={(row, put, index) => (
        <>
          <Field
            id={`${prefix}-${name}-${index}`}
            label={t("users.nth", { what: t(one), number: index + 1 })}
            problem={problemOf(name, { value: row.value, known })}
            input={{
              inputMode,
              value: row.value,
              maxLength: MAX_CHARACTERS,
              autocomplete: "off",
              onInput: (event) => put({ ...row, value: event.currentTarget.value }),
            }}
          />
          <SelectField
            id={`${prefix}-${name}-${index}-type`}
            label={t("common.type")}
            value={row.type}
            options={typesWith(row.type)}
            onChoose={(type) => put({ ...row, type })}
          />
          <Checkbox
            label={t("users.primary")}
            checked={row.primary}
            onChange={(primary) => choose(index, primary)}
          />
        </>
      )}
    />
  );
}

/** A type that another SCIM client set remains a choice. */
function typesWith(type: string): { value: string; label: string }[] {
  const known = TYPES.map((value) => ({ value, label: t(`users.type_${value}`) }));
  const other = type === "" || TYPES.some((value) => value === type) ? [] : [{ value: type, label: type }];
  return [{ value: "", label: t("common.none") }, ...known, ...other];
}

// The profile of a user as a form: SCIM attributes to fields and back, and the differences of two forms.

/** An e-mail address or a phone number. `rest` contains its other sub-attributes. */
interface ContactEntry {
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

type TextFieldName = {
  [K in keyof UserForm]: UserForm[K] extends string ? K : never;
}[keyof UserForm];
type ListFieldName = Exclude<keyof UserForm, TextFieldName>;

export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** The attribute of each field (RFC 7643 §4.1, §4.3). */
const FIELDS: Readonly<Record<keyof UserForm, readonly [string] | readonly [string, string]>> = {
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
const LIST_FIELDS: readonly ListFieldName[] = ["emails", "phoneNumbers"];

const EMPTY_ENTRY: ContactEntry = { value: "", type: "work", primary: false, rest: {} };

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
function fieldText(form: UserForm, name: keyof UserForm): string {
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

function isListField(name: keyof UserForm): name is ListFieldName {
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
