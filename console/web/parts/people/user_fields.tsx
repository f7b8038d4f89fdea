// The fields of a user's profile: texts, and lists of addresses and numbers.

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
import { Checkbox, FixedField, SelectField } from "../inputs.tsx";
import { MultiField } from "../multi_field.tsx";

interface FieldsProps {
  /** Goes before the ids, which are one document's. */
  readonly prefix: string;
  readonly form: UserForm;
  readonly onChange: (form: UserForm) => void;
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

export function UserFields({ prefix, form, onChange, readOnly, reason }: FieldsProps) {
  const hintOf = (name: keyof UserForm) =>
    readOnly.includes(attributeName(name)) ? t("people.kept_by_all") : undefined;
  const isText = (name: keyof UserForm) => (reason ?? hintOf(name)) !== undefined;
  return (
    <>
      <div class="people-fields">
        {TEXTS.map((name) =>
          isText(name) ? <Fixed key={name} {...{ name, form }} hint={hintOf(name)} /> : (
            <Field
              key={name}
              id={`${prefix}-${name}`}
              label={fieldLabel(name)}
              input={{
                value: form[name],
                maxLength: MAX_CHARACTERS,
                autocomplete: "off",
                onInput: (event) => onChange({ ...form, [name]: event.currentTarget.value }),
              }}
            />
          )
        )}
        {LIST_FIELDS.filter(isText).map((name) => (
          <Fixed
            key={name}
            {...{ name, form }}
            hint={hintOf(name)}
          />
        ))}
      </div>
      {LIST_FIELDS.map((name) =>
        !isText(name) && <Entries key={name} {...{ prefix, form, onChange, name }} />
      )}
    </>
  );
}

/** What one may not change is text. */
function Fixed(
  { name, form, hint }: Pick<FieldsProps, "form"> & { name: keyof UserForm; hint: string | undefined },
) {
  return (
    <FixedField label={fieldLabel(name)} hint={hint}>
      <bdi>{fieldText(form, name) || t("frame.none")}</bdi>
    </FixedField>
  );
}

function Entries({ prefix, form, onChange, name }: Omit<FieldsProps, "readOnly"> & { name: ListField }) {
  const isMail = name === "emails";
  const one = t(isMail ? "people.mail" : "people.number");
  const rows = form[name];
  const change = (next: readonly Entry[]) => onChange({ ...form, [name]: next });
  /** One of them is the first choice at most. */
  const choose = (index: number, primary: boolean) =>
    change(rows.map((row, at) => ({ ...row, primary: at === index ? primary : row.primary && !primary })));
  return (
    <MultiField
      label={fieldLabel(name)}
      rows={rows}
      onChange={change}
      blank={() => EMPTY_ENTRY}
      addLabel={t(isMail ? "people.add_mail" : "people.add_number")}
      nameOf={({ value }) => value}
      renderRow={(row, put, index) => (
        <>
          <Field
            id={`${prefix}-${name}-${index}`}
            label={t("people.nth", { what: one, number: index + 1 })}
            input={{
              inputMode: isMail ? "email" : "tel",
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
  const known: { value: string; label: string }[] = TYPES.map((value) => ({
    value,
    label: t(`people.type_${value}`),
  }));
  const none = { value: "", label: t("frame.none") };
  const isKnown = type === "" || known.some(({ value }) => value === type);
  return [none, ...known, ...(isKnown ? [] : [{ value: type, label: type }])];
}
