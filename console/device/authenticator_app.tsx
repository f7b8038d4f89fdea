// An authenticator app instead of this phone: the QR code or the key for the app, a first code, and recovery codes on request.

import { plainTyped } from "../../platform/typed_text.ts";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../web/i18n/translate.ts";
import { Alert } from "../web/components/alert.tsx";
import { CopyButton } from "../web/components/button.tsx";
import { Checkbox, Field } from "../web/components/field.tsx";
import { InlineIcon } from "../web/components/inline_icon.tsx";
import { QrCode } from "../web/components/qr_code.tsx";
import type { AppKey, EnrolledApp } from "../api/enrolment/invited_app.ts";
import type { PhoneModel } from "./phone_model.ts";

interface AuthenticatorAppProps {
  readonly model: PhoneModel;
  readonly invitation: string;
  readonly userName: string;
  /** Back to the pairing of this phone. */
  readonly onBack: () => void;
  /** The app is set up, and the user has seen the recovery codes. */
  readonly onDone: () => void;
}

const CODE_DIGITS = 6;

export function AuthenticatorApp(props: AuthenticatorAppProps) {
  const { model, invitation } = props;
  const key = useSignal<AppKey | null>(null);
  const added = useSignal<EnrolledApp | null>(null);
  useEffect(() => {
    void model.beginApp(invitation).then((made) => key.value = made);
  }, [invitation]);
  return (
    <section class="card" aria-labelledby="app-title">
      <h2 id="app-title">
        <InlineIcon name="key" size={16} />
        {t(added.value === null ? "common.totp_add" : "device.app_done_title")}
      </h2>
      {added.value === null
        ? <AddApp {...props} appKey={key.value} added={added} />
        : <AddedApp {...props} added={added.value} />}
    </section>
  );
}

function AddApp(
  { model, invitation, userName, onBack, appKey, added }: AuthenticatorAppProps & {
    readonly appKey: AppKey | null;
    readonly added: Signal<EnrolledApp | null>;
  },
) {
  const code = useSignal("");
  const wantsCodes = useSignal(true);
  /** Why the last code was refused. The message at the top of the page is out of sight on a small phone. */
  const problem = useSignal<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const back = <button type="button" class="button" onClick={onBack}>{t("common.back")}</button>;
  if (appKey === null) {
    return (
      <>
        {model.busy.value && <p class="quiet" role="status">{t("device.reading")}</p>}
        {back}
      </>
    );
  }
  const isComplete = code.value.length === CODE_DIGITS;
  return (
    <form
      class="app-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isComplete || model.busy.value) return;
        void model.confirmApp(invitation, { code: code.value, recoveryCodes: wantsCodes.value }).then(
          (done) => {
            code.value = "";
            if (done !== null) return void (added.value = done);
            problem.value = model.result.value?.text ?? null;
            field.current?.focus();
          },
        );
      }}
    >
      <p>{t("device.app_scan", { user: userName })}</p>
      <KeyForApp {...appKey} />
      <Field
        id="app-code"
        label={t("device.app_code")}
        hint={t("device.app_code_hint")}
        problem={problem.value}
        input={{
          ref: field,
          value: code.value,
          required: true,
          inputMode: "numeric",
          pattern: "[0-9 ]*",
          autocomplete: "one-time-code",
          maxLength: 8,
          class: "mono",
          onInput: (event) => {
            code.value = plainTyped(event.currentTarget.value).replace(/\D/g, "");
            problem.value = null;
          },
        }}
      />
      <Checkbox
        label={t("device.app_recovery")}
        hint={t("device.app_recovery_hint")}
        checked={wantsCodes.value}
        onChange={(next) => wantsCodes.value = next}
      />
      <div class="choices">
        {back}
        <button type="submit" class="button button-primary" disabled={!isComplete || model.busy.value}>
          {t("device.app_confirm")}
        </button>
      </div>
    </form>
  );
}

/** The key as a QR code, as a link for an app on this device, and as text. */
function KeyForApp({ qr, uri, secret }: AppKey) {
  return (
    <>
      <div class="app-qr">
        <QrCode picture={qr} label={t("device.app_qr")} />
      </div>
      <a class="button" href={uri}>{t("common.totp_open")}</a>
      <div class="app-key">
        <span class="quiet small">{t("common.totp_by_hand")}</span>
        <code class="mono">{secret.replace(/.{4}(?=.)/g, "$& ")}</code>
        <CopyButton text={secret} what={t("common.copy_key")} />
      </div>
    </>
  );
}

function AddedApp(
  { userName, added: { codes }, onDone }: AuthenticatorAppProps & { readonly added: EnrolledApp },
) {
  return (
    <>
      <p>{t("device.app_done", { user: userName })}</p>
      {codes !== null && (
        <>
          <Alert tone="wait">{t("common.codes_once")}</Alert>
          <ol class="app-codes mono" aria-label={t("common.recovery_codes")}>
            {codes.map((code) => <li key={code}>{code}</li>)}
          </ol>
          <CopyButton text={codes.join("\n")} what={t("device.app_copy_codes")} />
        </>
      )}
      <button type="button" class="button button-primary" onClick={onDone}>
        {t(codes === null ? "common.done" : "common.codes_saved")}
      </button>
    </>
  );
}
