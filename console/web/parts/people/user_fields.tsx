// The fields of a user's profile: texts, and lists of addresses and numbers.

import type { Signal } from "@preact/signals";
import {
  attributeName,
  EMPTY_ENTRY,
  type Entry,
  fieldText,
  LIST_FIELDS,
  type ListField,
  type TextField,
  type UserForm,
} from "../../models/user_form.ts";
import { t } from "../../words/translate.ts";
import { Field } from "../field.tsx";
import { Fields } from "../fields.tsx";
import { Checkbox, FixedField, SelectField } from "../inputs.tsx";
import { MultiField } from "../multi_field.tsx";

interface FieldsProps {
  /** Goes before the ids, which are one document's. */
  readonly prefix: string;
  readonly form: Signal<UserForm>;
  /** Names of attributes that every backend keeps for itself: they are text. */
  readonly readOnly: readonly string[];
  /** Why nothing may be changed: then all is text. */
  readonly reason?: string | undefined;
}

const TEXTS: readonly TextField[] = [
  "givenName",
  "familyName",
  "displayName",
  "title",
  "department",
  "preferredLanguage",
];
const TYPES = ["work", "home", "mobile", "other"] as const;
const MAX_CHARACTERS = 1000;

const LABELS = {
  displayName: "people.display_name",
  givenName: "people.given_name",
  familyName: "people.family_name",
  title: "people.job_title",
  department: "people.department",
  preferredLanguage: "people.language",
  emails: "people.mails",
  phoneNumbers: "people.numbers",
} as const satisfies Record<keyof UserForm, string>;

export function fieldLabel(name: keyof UserForm): string {
  return t(LABELS[name]);
}

const LISTS = {
  emails: { add: "people.add_mail", one: "people.mail", inputMode: "email" },
  phoneNumbers: { add: "people.add_number", one: "people.number", inputMode: "tel" },
} as const satisfies Record<ListField, unknown>;

export function UserFields({ prefix, form, readOnly, reason }: FieldsProps) {
  const hintOf = (name: keyof UserForm) =>
    readOnly.includes(attributeName(name)) ? t("people.kept_by_all") : undefined;
  const isText = (name: keyof UserForm) => (reason ?? hintOf(name)) !== undefined;
  /** What one may not change is text. */
  const fixed = (name: keyof UserForm) => (
    <FixedField key={name} label={fieldLabel(name)} hint={hintOf(name)}>
      <bdi>{fieldText(form.value, name) || t("frame.none")}</bdi>
    </FixedField>
  );
  return (
    <>
      <div class="people-fields">
        {TEXTS.map((name) => isText(name) ? fixed(name) : <Text key={name} {...{ prefix, form, name }} />)}
        {LIST_FIELDS.filter(isText).map(fixed)}
      </div>
      {LIST_FIELDS.map((name) => !isText(name) && <Entries key={name} {...{ prefix, form, name }} />)}
    </>
  );
}

type Place<N> = Pick<FieldsProps, "prefix" | "form"> & { readonly name: N };

function Text({ prefix, form, name }: Place<TextField>) {
  const row = { name, label: LABELS[name], input: { maxLength: MAX_CHARACTERS } };
  return <Fields prefix={prefix} draft={form} rows={[row]} />;
}

function Entries({ prefix, form, name }: Place<ListField>) {
  const { add, one, inputMode } = LISTS[name];
  const rows = form.value[name];
  const change = (next: readonly Entry[]) => form.value = { ...form.value, [name]: next };
  /** One of them is the first choice at most. */
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
            label={t("people.nth", { what: t(one), number: index + 1 })}
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
            label={t("people.type")}
            value={row.type}
            options={typesWith(row.type)}
            onChoose={(type) => put({ ...row, type })}
          />
          <Checkbox
            label={t("people.primary")}
            checked={row.primary}
            onChange={(primary) => choose(index, primary)}
          />
        </>
      )}
    />
  );
}

/** A type that somebody else gave stays among the choices. */
function typesWith(type: string): { value: string; label: string }[] {
  const known = TYPES.map((value) => ({ value, label: t(`people.type_${value}`) }));
  const other = type === "" || TYPES.some((value) => value === type) ? [] : [{ value: type, label: type }];
  return [{ value: "", label: t("frame.none") }, ...known, ...other];
}
