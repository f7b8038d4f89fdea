// Sets up an authenticator app: its key as QR code, link and text, and a first code that proves it.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { QrPicture } from "../../api/qr_svg.ts";
import { CopyButton } from "../../web/parts/copy_button.tsx";
import { Dialog } from "../../web/parts/dialog.tsx";
import { Field } from "../../web/parts/field.tsx";
import { Note } from "../../web/parts/note.tsx";
import { QrCode } from "../../web/parts/qr_code.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { FactorProps } from "./part_props.ts";

const CODE_DIGITS = 6;

export function AppDialog({ account, onClose }: FactorProps & { onClose: () => void }) {
  const made = useSignal<{ secret: string; uri: string; qr: QrPicture | null } | null>(null);
  const code = useSignal("");
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const onProblem = (sentence: string) => problem.value = sentence;
  useEffect(() => {
    void account.run({ call: account.calls.beginTotp, onProblem }).then((value) => made.value = value);
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    const done = await account.run({
      call: () => account.calls.confirmTotp(code.value),
      said: t("me.totp_added"),
      onProblem,
    });
    busy.value = false;
    if (done !== null) onClose();
  };
  const key = made.value;
  return (
    <Dialog title={t("me.totp_add_title")} onClose={onClose}>
      {key === null
        ? problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>
        : (
          <form class="me-form" onSubmit={submit}>
            <p>{t("me.totp_scan")}</p>
            <div class="me-qr">
              <QrCode picture={key.qr} label={t("me.totp_qr")} />
            </div>
            <a class="button" href={key.uri}>
              <Symbol name="external-link" />
              {t("me.totp_open")}
            </a>
            <div class="me-key">
              <span class="quiet small">{t("me.totp_by_hand")}</span>
              <code class="mono">{grouped(key.secret)}</code>
              <CopyButton text={key.secret} what={t("me.totp_copy")} />
            </div>
            <Field
              id="me-code"
              label={t("me.totp_code")}
              hint={t("me.totp_code_hint")}
              problem={problem.value}
              input={{
                value: code.value,
                required: true,
                inputMode: "numeric",
                pattern: "[0-9 ]*",
                autocomplete: "one-time-code",
                maxLength: 8,
                class: "mono",
                onInput: (event) => code.value = event.currentTarget.value.replace(/\D/g, ""),
              }}
            />
            <button
              type="submit"
              class="button button-primary me-wide"
              disabled={busy.value || code.value.length !== CODE_DIGITS}
            >
              {busy.value ? t("frame.working") : t("me.totp_confirm")}
            </button>
          </form>
        )}
    </Dialog>
  );
}

/** Groups of four are easier to type. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, "$& ");
}
