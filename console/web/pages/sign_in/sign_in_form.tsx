// The sign-in form: passkey, identity provider, or password and code. Used by the sign-in page and the sign-in dialog.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { SessionInfo } from "../../../api/api_types.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Field, ReadOnlyField } from "../../components/field.tsx";
import { t } from "../../i18n/translate.ts";
import {
  namedAddress,
  passkeyUnavailableReason,
  signIn,
  type SignInFailure,
  signInWithPasskey,
  signInWithProvider,
  signInWithRecoveryCode,
} from "./sign_in_calls.ts";

interface SignInFormProps {
  readonly models: Models;
  /** The name of the user who was signed in here before. */
  readonly name?: string;
  /** Confirms a factor for this session instead of starting a new session. */
  readonly stepUp?: SessionInfo;
  /** A failure from before the form was opened, such as one of the identity provider. */
  readonly problem?: SignInFailure | null;
}

export function SignInForm({ models, name = "", stepUp, problem: first = null }: SignInFormProps) {
  const problem = useSignal<SignInFailure | null>(first);
  const busy = useSignal(false);
  const needsCode = useSignal(stepUp?.has.totp === true);
  const noPasskey = passkeyUnavailableReason();
  // Before the set-up there is no account, so no passkey can work.
  const hasAccounts = !models.session.needsSetUp.value;
  const withPasskey = noPasskey === null && hasAccounts && (stepUp === undefined || stepUp.has.passkey);
  const isPasskeyNeeded = stepUp?.has.passkey === true && !stepUp.has.totp;
  const withPassword = stepUp?.origin !== "provider" && !isPasskeyNeeded;
  const { provider } = models.session;
  const withProvider = provider.value !== null && (stepUp === undefined || stepUp.origin === "provider");
  useAutofill(withPasskey && stepUp === undefined, async () => {
    const found = await signInWithPasskey(models, { autofill: true });
    // A user who dismisses the suggestion needs no message.
    if (found !== null && found.code !== "passkey_not_shown") problem.value = found;
  });
  const run: RunSignIn = async (signInBy) => {
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    const found = await signInBy();
    busy.value = false;
    if (found?.code === "code_needed" || found?.code === "passkey_or_code_needed") needsCode.value = true;
    if (found?.code !== "code_needed") problem.value = found;
  };
  const fields = (
    <PasswordForm
      {...{ models, stepUp, run }}
      isBusy={busy.value}
      name={stepUp?.name ?? name}
      needsCode={needsCode.value}
      autofill={withPasskey}
    />
  );
  return (
    <div class="auth-form">
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value.text}</Alert>}
      {withPasskey && (
        <Button
          kind="primary"
          icon="key-round"
          autofocus={stepUp !== undefined}
          disabled={busy.value}
          onClick={() => run(() => signInWithPasskey(models, { stepUp: stepUp !== undefined }))}
        >
          {t("signin.use_passkey")}
        </Button>
      )}
      {withProvider && (
        <Button
          icon="external-link"
          disabled={busy.value}
          onClick={() =>
            run(() =>
              signInWithProvider(models, {
                again: stepUp !== undefined,
                newTab: stepUp !== undefined || name !== "",
              })
            )}
        >
          {t("signin.use_provider", { provider: provider.value ?? "" })}
        </Button>
      )}
      {withPassword && (withPasskey
        ? (
          <details open={needsCode.value || stepUp?.has.passkey === false || undefined}>
            <summary>{t("signin.use_password")}</summary>
            {fields}
          </details>
        )
        : fields)}
      {stepUp === undefined && hasAccounts && <RecoveryForm {...{ models, name, run }} isBusy={busy.value} />}
      {/* Over a page, a user who signed in here before needs the hint only where nothing else helps. */}
      {noPasskey !== null && (name === "" || isPasskeyNeeded) && (
        <p class="hint">{t(noPasskey, { url: namedAddress() })}</p>
      )}
    </div>
  );
}

type RecoveryProps = Pick<PasswordFormProps, "models" | "name" | "run" | "isBusy">;

/** For an account with passkeys only, whose passkeys are lost. The form replaces its button, so that fields of a name are there once. */
function RecoveryForm({ models, name, run, isBusy }: RecoveryProps) {
  const isOpen = useSignal(false);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    const typed = { name: String(form.get("name") ?? ""), code: String(form.get("code") ?? "") };
    void run(() => signInWithRecoveryCode(models, typed));
  };
  if (!isOpen.value) {
    return <Button kind="plain" onClick={() => isOpen.value = true}>{t("signin.use_recovery")}</Button>;
  }
  const input = { autocapitalize: "none", spellcheck: false, required: true } as const;
  return (
    <form class="auth-fields" onSubmit={submit} aria-label={t("signin.use_recovery")}>
      <p class="hint">{t("signin.recovery_why")}</p>
      <Field
        id="recovery-name"
        label={t("signin.recovery_name")}
        input={{ ...input, name: "name", defaultValue: name, autocomplete: "username", autofocus: true }}
      />
      <Field
        id="recovery-code"
        label={t("signin.recovery_code")}
        input={{ ...input, name: "code", autocomplete: "off", maxLength: 32 }}
      />
      <Button type="submit" disabled={isBusy}>{t("signin.recovery_verb")}</Button>
    </form>
  );
}

type RunSignIn = (signInBy: () => Promise<SignInFailure | null>) => Promise<void>;

interface PasswordFormProps extends Pick<SignInFormProps, "models" | "stepUp"> {
  readonly name: string;
  readonly needsCode: boolean;
  readonly autofill: boolean;
  readonly isBusy: boolean;
  readonly run: RunSignIn;
}

function PasswordForm({ models, stepUp, name, needsCode, autofill, isBusy, run }: PasswordFormProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    const field = (name: string) => String(form.get(name) ?? "");
    const shown = { name: field("name"), password: field("password"), code: field("code") };
    void run(() => signIn(models, { ...shown, stepUp: stepUp !== undefined }));
  };
  return (
    <form class="auth-fields" onSubmit={submit}>
      <PasswordFields {...{ name, needsCode, autofill }} nameFixed={stepUp !== undefined} />
      <Button type="submit" kind="primary" disabled={isBusy}>
        {t(isBusy ? "signin.signing_in" : stepUp === undefined ? "signin.sign_in" : "common.confirm")}
      </Button>
    </form>
  );
}

/** Offers passkeys among the suggestions of the name field if the browser supports this. */
function useAutofill(on: boolean, offer: () => Promise<void>): void {
  const begun = useRef(false);
  useEffect(() => {
    if (!on || begun.current) return;
    begun.current = true;
    void PublicKeyCredential.isConditionalMediationAvailable?.().then((can) => can ? offer() : undefined);
  }, [on]);
}

interface PasswordFieldsProps {
  readonly name: string;
  /** The name cannot be changed. */
  readonly nameFixed: boolean;
  readonly needsCode: boolean;
  /** The name field also offers passkeys. */
  readonly autofill: boolean;
}

function PasswordFields({ name, nameFixed, needsCode, autofill }: PasswordFieldsProps) {
  return (
    <>
      {nameFixed
        ? (
          <>
            <ReadOnlyField label={t("common.name")}>{name}</ReadOnlyField>
            <input type="hidden" name="name" autocomplete="username" value={name} />
          </>
        )
        : (
          <Field
            id="sign-in-name"
            label={t("common.name")}
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
        label={t("common.password")}
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
export function CodeField({ hint = t("signin.code_hint") }: { hint?: string }) {
  return (
    <Field
      id="sign-in-code"
      label={t("common.code")}
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
