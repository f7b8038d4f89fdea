// Name, password and code, as password managers know them.

import { t } from "../../i18n/translate.ts";
import { Field } from "../field.tsx";
import { FixedField } from "../inputs.tsx";

interface PasswordFieldsProps {
  readonly name: string;
  /** The name is known and stays. */
  readonly nameFixed: boolean;
  readonly needsCode: boolean;
  /** Whether the name field offers passkeys, too. */
  readonly autofill: boolean;
}

export function PasswordFields({ name, nameFixed, needsCode, autofill }: PasswordFieldsProps) {
  return (
    <>
      {nameFixed
        ? (
          <>
            <FixedField label={t("access.name")}>{name}</FixedField>
            <input type="hidden" name="name" autocomplete="username" value={name} />
          </>
        )
        : (
          <Field
            id="sign-in-name"
            label={t("access.name")}
            input={{
              name: "name",
              defaultValue: name,
              autocomplete: autofill ? "username webauthn" : "username",
              autocapitalize: "none",
              spellcheck: false,
              required: true,
              autofocus: name === "",
            }}
          />
        )}
      <Field
        id="sign-in-password"
        label={t("access.password")}
        input={{
          name: "password",
          type: "password",
          autocomplete: "current-password",
          required: true,
          autofocus: name !== "",
        }}
      />
      {needsCode && <CodeField />}
    </>
  );
}

/** A code of the authenticator app, or a recovery code. */
export function CodeField({ hint = t("access.code_hint") }: { hint?: string }) {
  return (
    <Field
      id="sign-in-code"
      label={t("access.code")}
      hint={hint}
      input={{
        name: "code",
        autocomplete: "one-time-code",
        autocapitalize: "none",
        spellcheck: false,
        required: true,
        maxLength: 32,
        ref: (input: HTMLInputElement | null) => input?.focus(),
      }}
    />
  );
}
