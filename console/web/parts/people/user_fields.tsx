// The fields of a user's profile: texts, and lists of addresses and numbers.

import type { Signal } from "@preact/signals";
import { isContactValue } from "../../../../scim/schema/contact_values.ts";
import {
  attributeName,
  EMPTY_ENTRY,
  EMPTY_FORM,
  type Entry,
  fieldText,
  LIST_FIELDS,
  type ListField,
  type TextField,
  type UserForm,
} from "../../models/user_form.ts";
import { t } from "../../i18n/translate.ts";
import { Field } from "../field.tsx";
import { Fields } from "../fields.tsx";
import { Checkbox, FixedField, SelectField } from "../inputs.tsx";
import { MultiField } from "../multi_field.tsx";

interface FieldsProps {
  /** Goes before the ids, which are one document's. */
  readonly prefix: string;
  readonly form: Signal<UserForm>;
  /** The form as it was loaded: its addresses and numbers may stay, whatever they are. */
  readonly base?: UserForm;
  /** Names of attributes that every backend keeps for itself: they are text. */
  readonly readOnly: readonly string[];
  /** Why nothing may be changed: then all is text. */
  readonly reason?: string | undefined;
}

const TEXTS: readonly TextField[] = [
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
  displayName: "people.display_name",
  givenName: "people.given_name",
  familyName: "people.family_name",
  formatted: "people.full_name",
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

export function UserFields({ prefix, form, base = EMPTY_FORM, readOnly, reason }: FieldsProps) {
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
        {TEXTS.filter((name) => name !== "formatted" || base.formatted !== "").map((name) =>
          isText(name) ? fixed(name) : <Text key={name} {...{ prefix, form, name }} />
        )}
        {LIST_FIELDS.filter(isText).map(fixed)}
      </div>
      {LIST_FIELDS.map((name) =>
        !isText(name) && <Entries key={name} {...{ prefix, form, name }} known={base[name]} />
      )}
    </>
  );
}

type Place<N> = Pick<FieldsProps, "prefix" | "form"> & { readonly name: N };

function Text({ prefix, form, name }: Place<TextField>) {
  const shown = name === "displayName" ? shownName(form.value) : "";
  const row = {
    name,
    label: LABELS[name],
    input: { maxLength: MAX_CHARACTERS, ...(shown === "" ? {} : { placeholder: shown }) },
  };
  return <Fields prefix={prefix} draft={form} rows={[row]} />;
}

/** Without a display name, lists show the full name. */
function shownName({ formatted, givenName, familyName }: UserForm): string {
  return formatted.trim() !== "" ? formatted.trim() : `${givenName} ${familyName}`.trim();
}

/** What is wrong with a new address or number; `null` for one that the user has already. */
function problemOf(
  name: ListField,
  { value, known }: { value: string; known: readonly Entry[] },
): string | null {
  const isFine = value.trim() === "" || known.some((entry) => entry.value === value) ||
    isContactValue(name, value);
  return isFine ? null : t(name === "emails" ? "people.not_a_mail" : "people.not_a_number");
}

function Entries({ prefix, form, name, known }: Place<ListField> & { readonly known: readonly Entry[] }) {
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

/** A type from another client stays among the choices. */
function typesWith(type: string): { value: string; label: string }[] {
  const known = TYPES.map((value) => ({ value, label: t(`people.type_${value}`) }));
  const other = type === "" || TYPES.some((value) => value === type) ? [] : [{ value: type, label: type }];
  return [{ value: "", label: t("frame.none") }, ...known, ...other];
}
