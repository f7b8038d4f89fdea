// The profile fields of a user: texts, and lists of e-mail addresses and phone numbers.

import type { Signal } from "@preact/signals";
import { isContactValue } from "../../../../scim/schema/contact_values.ts";
import {
  attributeName,
  type ContactEntry,
  EMPTY_ENTRY,
  EMPTY_FORM,
  fieldText,
  LIST_FIELDS,
  type ListFieldName,
  type TextFieldName,
  type UserForm,
} from "./user_form.ts";
import { t } from "../../i18n/translate.ts";
import { Checkbox, Field, MultiField, ReadOnlyField, SelectField } from "../../components/field.tsx";
import { FormFields } from "../../components/form_fields.tsx";

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
