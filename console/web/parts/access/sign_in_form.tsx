// The ways in, on a page of their own or in a dialog over the work: a passkey first, a password and code behind it.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { SessionInfo } from "../../../api/api_types.ts";
import type { Models } from "../../models/models.ts";
import { goToProvider, type Problem, signIn, usePasskey, whyNoPasskey } from "../../models/sign_in_calls.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Note } from "../note.tsx";
import { PasswordFields } from "./password_fields.tsx";

interface SignInFormProps {
  readonly models: Models;
  /** Filled in when it is known who was here. */
  readonly name?: string;
  /** Shows a factor again for this session, instead of beginning one. */
  readonly stepUp?: SessionInfo;
  /** Already known to have gone wrong, such as at the provider. */
  readonly problem?: Problem | null;
}

export function SignInForm({ models, name = "", stepUp, problem: first = null }: SignInFormProps) {
  const problem = useSignal<Problem | null>(first);
  const busy = useSignal(false);
  const needsCode = useSignal(stepUp?.has.totp === true);
  const noPasskey = whyNoPasskey();
  const withPasskey = noPasskey === null && (stepUp === undefined || stepUp.has.passkey);
  const isPasskeyNeeded = stepUp?.has.passkey === true && !stepUp.has.totp;
  const withPassword = stepUp?.origin !== "provider" && !isPasskeyNeeded;
  const { provider } = models.session;
  const withProvider = provider.value !== null && (stepUp === undefined || stepUp.origin === "provider");
  useAutofill(withPasskey && stepUp === undefined, async () => {
    const found = await usePasskey(models, { autofill: true });
    // A dismissed suggestion is nothing to say.
    if (found !== null && found.code !== "passkey_not_shown") problem.value = found;
  });

  const run = async (way: () => Promise<Problem | null>) => {
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    const found = await way();
    busy.value = false;
    // The first time it is a question, not a problem.
    if (found?.code === "code_needed") needsCode.value = true;
    else problem.value = found;
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    const field = (name: string) => String(form.get(name) ?? "");
    const shown = { name: field("name"), password: field("password"), code: field("code") };
    void run(() => signIn(models, { ...shown, stepUp: stepUp !== undefined }));
  };
  const fields = (
    <form class="gate-fields" onSubmit={submit}>
      <PasswordFields
        name={stepUp?.name ?? name}
        nameFixed={stepUp !== undefined}
        needsCode={needsCode.value}
        autofill={withPasskey}
      />
      <Button type="submit" kind="primary" disabled={busy.value}>
        {t(busy.value ? "access.signing_in" : stepUp === undefined ? "access.sign_in" : "access.confirm")}
      </Button>
    </form>
  );
  return (
    <div class="gate-form">
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value.text}</Note>}
      {withPasskey && (
        <Button
          kind="primary"
          icon="key-round"
          disabled={busy.value}
          onClick={() => run(() => usePasskey(models, { stepUp: stepUp !== undefined }))}
        >
          {t("access.use_passkey")}
        </Button>
      )}
      {withProvider && (
        <Button
          icon="external-link"
          disabled={busy.value}
          onClick={() =>
            run(() =>
              goToProvider(models, {
                again: stepUp !== undefined,
                newTab: stepUp !== undefined || name !== "",
              })
            )}
        >
          {t("access.use_provider", { provider: provider.value ?? "" })}
        </Button>
      )}
      {withPassword && (withPasskey
        ? (
          <details open={needsCode.value || stepUp?.has.passkey === false || undefined}>
            <summary>{t("access.use_password")}</summary>
            {fields}
          </details>
        )
        : fields)}
      {/* Over a page, a user who signed in here before needs the hint only where nothing else helps. */}
      {noPasskey !== null && (name === "" || isPasskeyNeeded) && (
        <p class="hint">{t(`access.${noPasskey}`)}</p>
      )}
    </div>
  );
}

/** Offers passkeys among the suggestions of the name field, where the browser can. */
function useAutofill(on: boolean, offer: () => Promise<void>): void {
  const begun = useRef(false);
  useEffect(() => {
    if (!on || begun.current) return;
    begun.current = true;
    void PublicKeyCredential.isConditionalMediationAvailable?.().then((can) => can ? offer() : undefined);
  }, [on]);
}
