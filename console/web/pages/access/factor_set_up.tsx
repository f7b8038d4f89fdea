// Sets up an authenticator app: a QR code, a first code as proof, and recovery codes that are shown once.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { QrMatrix } from "../../../api/qr_svg.ts";
import { type Action, canClose, useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { OneTimeSecret } from "../../components/form_dialog.tsx";
import { QrCode } from "../../components/qr_code.tsx";
import { t } from "../../i18n/translate.ts";
import { CodeField } from "../sign_in/sign_in_form.tsx";
import { namedAddress, passkeyUnavailableReason } from "../sign_in/sign_in_calls.ts";
import { addPasskey, beginTotp, confirmTotp, newRecoveryCodes } from "./access_calls.ts";

interface Seed {
  readonly secret: string;
  readonly qr: QrMatrix | null;
}

interface TotpSetUpProps {
  readonly models: Models;
  readonly action: Action;
  /** Called with the recovery codes after the set-up. */
  readonly onCodes: (codes: readonly string[]) => void;
}

export function TotpSetUp({ models, action, onCodes }: TotpSetUpProps) {
  const seed = useSignal<Seed | null>(null);
  const { busy, fault, run } = action;
  useEffect(() => void run(async () => seed.value = await beginTotp(models)), []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const code = String(new FormData(event.currentTarget).get("code") ?? "");
    void run(async () => onCodes((await confirmTotp(models, code)).codes));
  };
  return (
    <form class="auth-fields" onSubmit={submit}>
      <ErrorAlert of={fault} />
      {seed.value !== null && (
        <>
          <p>{t("access.totp_scan")}</p>
          <QrCode picture={seed.value.qr} label={t("access.totp_qr")} />
          <p class="hint">
            {t("access.totp_by_hand")} <code class="mono">{grouped(seed.value.secret)}</code>
          </p>
          <CodeField hint={t("access.totp_first_code")} />
          <Button type="submit" kind="primary" disabled={busy.value}>{t("common.verify_code")}</Button>
        </>
      )}
    </form>
  );
}

export function CreatedRecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  return (
    <div class="auth-fields">
      <p>{t("access.recovery_why")}</p>
      <OneTimeSecret label={t("common.recovery_codes")} secret={codes.join("\n")} onDone={onDone} />
    </div>
  );
}

/** Groups of four are easier to type. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, "$& ");
}

// Adds a key to the signed-in account: a passkey or an authenticator app. New recovery codes are shown once.

interface KeySetUpProps {
  readonly models: Models;
  /** The label of the passkey in lists. */
  readonly label: string;
  readonly passkeyVerb: string;
  /** Absent: the key cannot be added later. */
  readonly onLater?: (() => void) | undefined;
  /** Called when the key is added, and its recovery codes were shown. */
  readonly onDone: () => void;
}

export function KeySetUp({ models, label, passkeyVerb, onLater, onDone }: KeySetUpProps) {
  const action = useAction();
  const isApp = useSignal(false);
  const codes = useSignal<readonly string[] | null>(null);
  const why = passkeyUnavailableReason();
  const add = () =>
    action.run(async () => {
      const { recoveryCodesLeft } = await addPasskey(models, label);
      if (recoveryCodesLeft > 0) onDone();
      else codes.value = (await newRecoveryCodes(models)).codes;
    });
  if (codes.value !== null) return <CreatedRecoveryCodes codes={codes.value} onDone={onDone} />;
  return (
    <>
      {isApp.value ? <TotpSetUp models={models} action={action} onCodes={(made) => codes.value = made} /> : (
        <>
          <ErrorAlert of={action.fault} />
          {why === null
            ? (
              <Button kind="primary" icon="key-round" busy={action.busy.value} onClick={add}>
                {passkeyVerb}
              </Button>
            )
            : <p class="hint">{t(why, { url: namedAddress() })}</p>}
          <Button
            {...(why === null ? {} : { kind: "primary" as const })}
            disabled={action.busy.value}
            onClick={() => isApp.value = true}
          >
            {t("common.totp_add")}
          </Button>
        </>
      )}
      {onLater !== undefined && (
        <Button kind="plain" disabled={!canClose(action)} onClick={onLater}>{t("access.later")}</Button>
      )}
    </>
  );
}
