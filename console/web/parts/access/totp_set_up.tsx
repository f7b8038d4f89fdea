// Sets up an authenticator app: the QR code and its text, then a first code to check. And the recovery codes that follow, shown once.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { QrPicture } from "../../../api/qr_svg.ts";
import { useDeed } from "../../models/deed.ts";
import { beginTotp, confirmTotp } from "../../models/factor_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Problem } from "../note.tsx";
import { CodeField } from "./password_fields.tsx";
import { QrCode } from "../qr_code.tsx";
import { SecretOnce } from "../secret_once.tsx";

interface Seed {
  readonly secret: string;
  readonly qr: QrPicture | null;
}

interface TotpSetUpProps {
  readonly models: Models;
  /** The app is set up: shows the recovery codes, once. */
  readonly onCodes: (codes: readonly string[]) => void;
}

export function TotpSetUp({ models, onCodes }: TotpSetUpProps) {
  const seed = useSignal<Seed | null>(null);
  const { busy, fault, run } = useDeed();
  useEffect(() => void run(async () => seed.value = await beginTotp(models)), []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const code = String(new FormData(event.currentTarget).get("code") ?? "");
    void run(async () => onCodes((await confirmTotp(models, code)).codes));
  };
  return (
    <form class="gate-fields" onSubmit={submit}>
      <Problem of={fault} />
      {seed.value !== null && (
        <>
          <p>{t("access.totp_scan")}</p>
          <QrCode picture={seed.value.qr} label={t("access.totp_qr")} />
          <p class="hint">
            {t("access.totp_by_hand")} <code class="mono">{grouped(seed.value.secret)}</code>
          </p>
          <CodeField hint={t("access.totp_first_code")} />
          <button class="button button-primary" type="submit" disabled={busy.value}>
            {t("access.totp_confirm")}
          </button>
        </>
      )}
    </form>
  );
}

/** Ten codes, shown once. */
export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  return (
    <div class="gate-fields">
      <p>{t("access.recovery_why")}</p>
      <SecretOnce label={t("access.recovery_codes")} secret={codes.join("\n")} onDone={onDone} />
    </div>
  );
}

/** Groups of four are easier to type. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, "$& ");
}
