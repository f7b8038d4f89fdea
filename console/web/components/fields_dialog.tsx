// A dialog whose form comes from fields as data (platform/fields.ts): a new object, or the settings of one.

import { type Signal, useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import {
  type AnyField,
  appliesTo,
  choicesFor,
  type FieldName,
  type Fields,
  OBJECT_NAME,
  type OneNumber,
  snakeName,
  usualNumber,
} from "../../../platform/fields.ts";
import { useAction } from "../app/action.ts";
import { ApiFailure } from "../app/api_client.ts";
import { type CreatedSecret, FormDialog } from "./form_dialog.tsx";
import { type FieldRow, FormFields } from "./form_fields.tsx";
import type { MessageKey } from "../i18n/catalogue.ts";
import { t } from "../i18n/translate.ts";

type DraftValue = string | boolean | readonly string[];
/** Numbers and lists are texts while they are typed. */
export type FieldsDraft = Readonly<Record<string, DraftValue>>;

/** The fields of a form, and what of it is not data. */
export interface FieldsForm<F extends Fields = Fields> {
  /** The prefix of the element ids. */
  readonly prefix: string;
  readonly fields: F;
  /** The message of a field, its hint (`_hint`) or one of its choices (`_<choice>`), by its name: `max_hours`. */
  readonly key: (name: string) => MessageKey;
  /** Fields that are hidden until they matter. */
  readonly isShown?: { readonly [K in FieldName<F>]?: (draft: FieldsDraft) => boolean };
  /** Notes below a field. */
  readonly below?: { readonly [K in FieldName<F>]?: (draft: FieldsDraft) => ComponentChildren };
  /** Labels of choices that have no message of their own. */
  readonly labels?: { readonly [K in FieldName<F>]?: (choice: string) => string };
  /** What is allowed, beyond the bounds of the field. Shown if the server refuses the value. */
  readonly refused?: { readonly [K in FieldName<F>]?: MessageKey };
}

interface FieldsDialogProps {
  readonly form: FieldsForm;
  readonly title: string;
  readonly submitLabel: string;
  /** The values of the object that is changed; `null`: a new one, which gets a name. */
  readonly values: object | null;
  /** Whether a secret is set. The form does not show it; empty keeps it. */
  readonly isSet?: (secret: string) => boolean;
  /** Sends the values, without fields that do not apply, and without secrets that stay empty. */
  readonly onSend: (body: Record<string, unknown>) => Promise<CreatedSecret | void>;
  readonly onClose: () => void;
}

export function FieldsDialog(
  { form, values, isSet = () => false, onSend, onClose, ...texts }: FieldsDialogProps,
) {
  const draft = useSignal<FieldsDraft>({ name: "", ...toFieldsDraft(form.fields, values) });
  const isNew = values === null;
  const name = String(draft.value["name"]);
  const isBadName = name !== "" && !OBJECT_NAME.test(name);
  // The kind of an object cannot be changed.
  const shown = Object.entries(form.fields).filter(([name, { when }]) =>
    (isNew || name !== "kind") && appliesTo(when, draft.value) &&
    form.isShown?.[name]?.(draft.value) !== false
  );
  const action = useAction();
  const { value: fault } = action.fault;
  /** The refusal is shown at its field, and not repeated above the form. */
  const isAtField = fault instanceof ApiFailure && shown.some(([name]) => name === fault.field);
  const isLacking = shown.some(([name, field]) => isOutOfBounds(field, draft.value[name] ?? ""));
  return (
    <FormDialog
      {...texts}
      {...{ action, isAtField }}
      reason={isBadName || isLacking ? "" : undefined}
      onClose={onClose}
      onSubmit={() =>
        onSend({ ...isNew ? { name } : {}, ...toFieldsBody(Object.fromEntries(shown), draft.value) })}
      wide
    >
      {isNew && <NameField {...{ form, draft, isBadName }} />}
      {shown.map(([name, field]) => (
        <Fragment key={name}>
          <FormFields
            prefix={form.prefix}
            draft={draft}
            rows={[fieldRow(form, { name, field, draft: draft.value, isNew, isSet: isSet(name) })]}
          />
          {form.below?.[name]?.(draft.value)}
        </Fragment>
      ))}
    </FormDialog>
  );
}

function NameField(
  { form: { prefix }, draft, isBadName }: {
    readonly form: FieldsForm;
    readonly draft: Signal<FieldsDraft>;
    readonly isBadName: boolean;
  },
) {
  const row: FieldRow<FieldsDraft> = {
    name: "name",
    label: "common.name",
    hint: "common.object_name_hint",
    ...isBadName ? { problem: t("common.object_name_invalid") } : {},
    input: { required: true, maxLength: 40, autofocus: true },
  };
  return <FormFields prefix={prefix} draft={draft} rows={[row]} />;
}

interface RowParts {
  readonly name: string;
  readonly field: AnyField;
  readonly draft: FieldsDraft;
  readonly isNew: boolean;
  /** A secret is stored. Means nothing for other fields. */
  readonly isSet: boolean;
}

/** The row of a field in a form. */
export function fieldRow(
  { key, labels = {}, refused = {} }: Pick<FieldsForm, "key" | "labels" | "refused">,
  { name, field, draft, isNew, ...parts }: RowParts,
): FieldRow<FieldsDraft> {
  const isSet = parts.isSet && field.type === "secret";
  const hint = isSet ? key("keep_hint") : field.hasHint === true ? key(`${snakeName(name)}_hint`) : undefined;
  const row = {
    ...{ name, label: key(snakeName(name)), hint },
    ...refusedText(field, refused[name]),
    choiceLabel: (choice: DraftValue) =>
      labels[name]?.(String(choice)) ?? t(key(`${snakeName(name)}_${choice}`)),
  };
  switch (field.type) {
    case "flag":
      return row;
    case "choice":
      return { ...row, choices: choicesFor(field, draft) };
    case "choices":
      return { ...row, choices: field.of };
    case "number":
      return field.choices !== undefined
        ? { ...row, choices: field.choices.map(String) }
        : { ...row, input: numberInput(field, draft) };
    case "list": {
      const problem = isOutOfBounds(field, draft[name] ?? "") ? { problem: row.refused } : {};
      const input = { required: true, maxLength: field.maxItems * (field.max + 2) };
      return { ...row, ...problem, lines: 3, input };
    }
    default: {
      const { max, lines, placeholder, isRequired = false } = field;
      const isHidden = field.type === "secret" && field.isLegible !== true && lines === undefined;
      return {
        ...row,
        ...lines === undefined ? {} : { lines },
        input: {
          ...{ maxLength: max, required: isRequired && !isSet && (isNew || field.type === "text") },
          ...isHidden ? { type: "password" } : {},
          ...placeholder === undefined ? {} : { placeholder: t("common.example", { value: placeholder }) },
        },
      };
    }
  }
}

/** The text beside a value that the server refuses. */
function refusedText(field: AnyField, why: MessageKey | undefined): { readonly refused?: string } {
  if (why !== undefined) return { refused: t(why) };
  return field.type === "number"
    ? { refused: t("common.not_in_range", { min: field.min, max: field.max }) }
    : {};
}

function numberInput(field: OneNumber, draft: FieldsDraft) {
  const { min, max, usual } = field;
  const limits = { type: "number", min, max } as const;
  return usual === undefined
    ? { ...limits, required: true }
    : { ...limits, placeholder: t("common.default_value", { value: usualNumber(field, draft) }) };
}

/** Several values have a least or a largest number. */
function isOutOfBounds(field: AnyField, value: DraftValue): boolean {
  if (field.type === "choices") return value instanceof Array && value.length < (field.min ?? 0);
  return field.type === "list" && itemsOf(value).length > field.maxItems;
}

/** What is typed for values; `null`: those of a new object. */
export function toFieldsDraft(fields: Fields, values: object | null): FieldsDraft {
  const draft = Object.entries(fields).map(([name, field]): [string, DraftValue] => {
    if (field.type === "secret") return [name, ""];
    const value: unknown = Reflect.get(values ?? {}, name) ?? field.default;
    if (field.type === "list") return [name, (value as readonly string[]).join("\n")];
    if (field.type !== "number") return [name, value as DraftValue];
    return [name, values === null && field.usual !== undefined ? "" : String(value)];
  });
  return Object.fromEntries(draft);
}

/** The values of a request. Fields that do not apply and secrets that stay empty are left out. */
export function toFieldsBody(fields: Fields, draft: FieldsDraft): Record<string, unknown> {
  const values = Object.entries(fields).flatMap(([name, field]): [string, unknown][] => {
    const value = draft[name] ?? "";
    if (!appliesTo(field.when, draft) || (field.type === "secret" && value === "")) return [];
    if (field.type === "number") return [[name, value === "" ? usualNumber(field, draft) : Number(value)]];
    if (field.type === "list") return [[name, itemsOf(value)]];
    // A choice that another kind does not have.
    if (field.type === "choice" && !choicesFor(field, draft).some((one) => one === value)) {
      return [[name, field.default]];
    }
    return [[name, typeof value === "string" ? value.trim() : value]];
  });
  return Object.fromEntries(values);
}

const itemsOf = (text: DraftValue): string[] => String(text).split(/[\s,;]+/).filter((one) => one !== "");
