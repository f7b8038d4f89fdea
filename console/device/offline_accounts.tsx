// The phone page without the network: the passcodes of its accounts, and a warning if the clock of the phone is wrong.

import { useSignal } from "@preact/signals";
import { durationText } from "../web/app/format.ts";
import { t } from "../web/i18n/translate.ts";
import { Alert } from "../web/components/alert.tsx";
import { InlineIcon } from "../web/components/inline_icon.tsx";
import { ShownPasscode } from "./paired.tsx";
import type { PhoneAppModel } from "./phone_app.ts";
import type { Passcode } from "./passcodes.ts";
import type { PasscodeKey } from "./phone_storage.ts";

interface OfflineProps {
  readonly app: PhoneAppModel;
  readonly nowMs: number;
}

/** The accounts whose passcodes this phone can compute without the server. */
export function OfflineAccounts({ app, nowMs }: OfflineProps) {
  const keys = app.passcodes.keys.value;
  if (keys.length === 0) return null;
  return (
    <>
      <section class="card accounts" aria-labelledby="accounts">
        <h2 id="accounts">{t("device.offline_title")}</h2>
        <ul>
          {keys.map((account) => (
            <OfflineAccount key={account.pairingId} account={account} app={app} nowMs={nowMs} />
          ))}
        </ul>
      </section>
      <ClockError app={app} />
    </>
  );
}

function OfflineAccount({ account, app, nowMs }: OfflineProps & { readonly account: PasscodeKey }) {
  const passcode = useSignal<Passcode | null>(null);
  const shown = passcode.value !== null && passcode.value.validUntilMs > nowMs ? passcode.value : null;
  const toggle = async () => {
    passcode.value = shown === null ? await app.passcodes.current(account.pairingId) : null;
  };
  return (
    <li class="pairing">
      <div class="pairing-name">
        <strong class="mono">{account.userName}</strong>
        <span class="quiet">{account.requesterName}</span>
      </div>
      {shown !== null && <ShownPasscode passcode={shown} nowMs={nowMs} />}
      <button type="button" class="button" onClick={() => void toggle()}>
        <InlineIcon name="key" />
        {t(shown === null ? "device.show_passcode" : "device.hide_passcode")}
        <span class="unseen">{` ${t("device.passcode_of", { user: account.userName })}`}</span>
      </button>
    </li>
  );
}

/** Passcodes are corrected by the difference at the last contact, but a change of the clock offline would make them wrong. */
export function ClockError({ app }: Pick<OfflineProps, "app">) {
  const errorMs = app.passcodes.clockErrorMs();
  if (errorMs === 0) return null;
  const span = durationText(Math.abs(errorMs));
  return (
    <Alert tone="wait">
      <strong>{t(errorMs > 0 ? "device.clock_ahead" : "device.clock_behind", { span })}</strong>
      <p>{t("device.clock_next")}</p>
    </Alert>
  );
}
