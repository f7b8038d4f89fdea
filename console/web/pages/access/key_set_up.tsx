// Adds a key to the signed-in account: a passkey or an authenticator app. New recovery codes are shown once.

import { useSignal } from "@preact/signals";
import { canClose, useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";
import { namedAddress, passkeyUnavailableReason } from "../sign_in/sign_in_calls.ts";
import { addPasskey, newRecoveryCodes } from "./access_calls.ts";
import { CreatedRecoveryCodes, TotpSetUp } from "./totp_set_up.tsx";

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
