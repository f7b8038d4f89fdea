// Authenticator apps: add one with a QR code and a first code, or remove one.

import { plainTyped } from "../../../platform/typed_text.ts";
import { useSignal } from "@preact/signals";
import { useAction } from "../../web/app/action.ts";
import { ConfirmDialog } from "../../web/components/form_dialog.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { Time } from "../../web/components/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import { type FactorProps, Nothing, Section } from "./section.tsx";
import { useEffect } from "preact/hooks";
import type { QrMatrix } from "../../api/qr_svg.ts";
import { CopyButton } from "../../web/components/button.tsx";
import { Dialog } from "../../web/components/dialog.tsx";
import { Field } from "../../web/components/field.tsx";
import { Alert } from "../../web/components/alert.tsx";
import { QrCode } from "../../web/components/qr_code.tsx";

export function AuthenticatorApps(props: FactorProps) {
  const { models, account, factors: { totp } } = props;
  const adding = useSignal(false);
  const removing = useSignal<string | null>(null);
  const gone = removing.value;
  return (
    <Section
      title={t("common.authenticator_app")}
      why={t("account.totp_why")}
      action={
        <button type="button" class="button" onClick={() => adding.value = true}>
          <Icon name="plus" />
          {t(totp.length === 0 ? "account.totp_add" : "account.totp_add_another")}
        </button>
      }
    >
      {totp.length === 0
        ? <Nothing title={t("account.totp_none")} next={t("account.totp_none_next")} />
        : (
          <ul class="me-rows">
            {totp.map((app) => (
              <li class="me-row" key={app.pairingId}>
                <Icon name="key-round" size={20} />
                <div class="me-row-text">
                  <strong>{t("common.authenticator_app")}</strong>
                  <span class="quiet small">
                    {t("account.totp_added_on")} <Time models={models} atMs={app.createdMs} />,{" "}
                    {app.lastUsedMs === null ? t("account.never_used") : (
                      <>
                        {t("account.used")} <Time models={models} atMs={app.lastUsedMs} />
                      </>
                    )}
                  </span>
                  {app.isLast && <span class="quiet small">{t("account.last_factor")}</span>}
                </div>
                {!app.isLast && (
                  <button
                    type="button"
                    class="button button-plain me-remove"
                    onClick={() => removing.value = app.pairingId}
                  >
                    <Icon name="trash-2" />
                    <span>
                      {t("common.remove")}
                      <span class="unseen">{` ${t("common.authenticator_app")}`}</span>
                    </span>
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      {adding.value && <AddAuthenticatorDialog {...props} onClose={() => adding.value = false} />}
      {gone !== null && (
        <ConfirmDialog
          title={t("common.app_remove_title")}
          submitLabel={t("common.app_remove")}
          onClose={() => removing.value = null}
          onConfirm={async () => {
            let problem: string | null = null;
            await account.run({
              call: () => account.calls.removeTotp(gone),
              doneText: t("common.app_removed"),
              onProblem: (sentence) => problem = sentence,
            });
            return problem;
          }}
        >
          <ul class="me-effects">
            <li>{t("account.totp_remove_1")}</li>
            <li>{t("account.totp_remove_2")}</li>
          </ul>
        </ConfirmDialog>
      )}
    </Section>
  );
}

const CODE_DIGITS = 6;

function AddAuthenticatorDialog({ account, onClose }: FactorProps & { onClose: () => void }) {
  const made = useSignal<{ secret: string; uri: string; qr: QrMatrix | null } | null>(null);
  const code = useSignal("");
  const problem = useSignal<string | null>(null);
  const action = useAction();
  const onProblem = (sentence: string) => problem.value = sentence;
  useEffect(() => {
    void account.run({ call: account.calls.beginTotp, onProblem }).then((value) => made.value = value);
  }, []);
  const submit = async () => {
    problem.value = null;
    const done = await account.run({
      call: () => account.calls.confirmTotp(code.value),
      doneText: t("account.totp_added"),
      onProblem,
    });
    if (done !== null) onClose();
  };
  const key = made.value;
  return (
    <Dialog title={t("common.totp_add")} onClose={onClose} action={action}>
      {key === null ? problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert> : (
        <form
          class="me-form"
          onSubmit={(event) => {
            event.preventDefault();
            void action.run(submit);
          }}
        >
          <p>{t("account.totp_scan")}</p>
          <div class="me-qr">
            <QrCode picture={key.qr} label={t("account.totp_qr")} />
          </div>
          <a class="button" href={key.uri}>
            <Icon name="external-link" />
            {t("common.totp_open")}
          </a>
          <div class="me-key">
            <span class="quiet small">{t("common.totp_by_hand")}</span>
            <code class="mono">{grouped(key.secret)}</code>
            <CopyButton text={key.secret} what={t("common.copy_key")} />
          </div>
          <Field
            id="me-code"
            label={t("common.totp_code")}
            hint={t("account.totp_code_hint")}
            problem={problem.value}
            input={{
              value: code.value,
              required: true,
              inputMode: "numeric",
              pattern: "[0-9 ]*",
              autocomplete: "one-time-code",
              maxLength: 8,
              class: "mono",
              onInput: (event) => code.value = plainTyped(event.currentTarget.value).replace(/\D/g, ""),
            }}
          />
          <button
            type="submit"
            class="button button-primary me-wide"
            disabled={action.busy.value || code.value.length !== CODE_DIGITS}
          >
            {action.busy.value ? t("common.working") : t("common.verify_code")}
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
