// Authenticator apps: add one with a QR code and a first code, or remove one.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { plainTyped } from "../../../platform/typed_text.ts";
import { useAction } from "../../web/app/action.ts";
import { ConfirmDialog, FormDialog } from "../../web/components/form_dialog.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { Time } from "../../web/components/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { QrMatrix } from "../../api/qr_svg.ts";
import { CopyButton } from "../../web/components/button.tsx";
import { Dialog } from "../../web/components/dialog.tsx";
import { Field, TextField } from "../../web/components/field.tsx";
import { Alert } from "../../web/components/alert.tsx";
import { QrCode } from "../../web/components/qr_code.tsx";
import type { AccountToken } from "../../api/account/account_types.ts";
import { ApiFailure } from "../../web/app/api_client.ts";
import { type FactorProps, Nothing, Section } from "./section.tsx";

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

// The hardware tokens of the user: their last use, and resynchronization with two codes. An administrator assigns them.

export function OwnTokens(props: FactorProps) {
  const { models, factors: { tokens = [] } } = props;
  const opened = useSignal<AccountToken | null>(null);
  if (tokens.length === 0) return null;
  return (
    <Section title={t("common.hardware_tokens")} why={t("account.tokens_why")}>
      <ul class="me-rows">
        {tokens.map((token) => (
          <li class="me-row me-any" key={token.id}>
            <Icon name="calculator" size={20} />
            <div class="me-row-text">
              <strong class="mono">{token.serial}</strong>
              <span class="quiet small">
                {token.assignedMs !== null && (
                  <>
                    {t("common.added_at")} <Time models={models} atMs={token.assignedMs} />,{" "}
                  </>
                )}
                {token.usedMs === null ? t("account.never_used") : (
                  <>
                    {t("account.used")} <Time models={models} atMs={token.usedMs} />
                  </>
                )}
              </span>
              {!token.isUsable && <span class="quiet small">{t("account.token_unusable")}</span>}
            </div>
            <button type="button" class="button button-plain" onClick={() => opened.value = token}>
              <Icon name="refresh-cw" />
              <span>
                {t("account.token_resync")}
                <span class="unseen">{` ${token.serial}`}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {opened.value !== null && (
        <ResynchronizeOwn
          {...props}
          token={opened.value}
          onClose={() => opened.value = null}
        />
      )}
    </Section>
  );
}

const CODE_INPUT = {
  required: true,
  inputMode: "numeric",
  autocomplete: "off",
  pattern: "[0-9]{6,8}",
  maxLength: 8,
  class: "mono",
} as const;

function ResynchronizeOwn(
  { account, token, onClose }: FactorProps & { token: AccountToken; onClose: () => void },
) {
  const first = useSignal("");
  const second = useSignal("");
  const submit = async () => {
    let problem: string | null = null;
    await account.run({
      call: () => account.calls.resynchronizeToken(token.id, [first.value, second.value]),
      doneText: t("account.token_resynced"),
      onProblem: (sentence) => problem = sentence,
    });
    if (problem !== null) throw new ApiFailure("unconfirmed", { message: problem });
  };
  return (
    <FormDialog
      title={t("account.token_resync_title", { serial: token.serial })}
      submitLabel={t("account.token_resync")}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>{t(`account.token_resync_${token.kind}`)}</p>
      <TextField
        id="me-token-first"
        label={t("common.first_code")}
        text={first}
        input={{ ...CODE_INPUT, autofocus: true }}
      />
      <TextField
        id="me-token-second"
        label={t("common.next_code")}
        text={second}
        input={CODE_INPUT}
      />
    </FormDialog>
  );
}
