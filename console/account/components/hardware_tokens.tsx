// The hardware tokens of the user: their last use, and resynchronization with two codes. An administrator assigns them.

import { useSignal } from "@preact/signals";
import { FormDialog } from "../../web/components/form_dialog.tsx";
import { TextField } from "../../web/components/field.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { Time } from "../../web/components/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { AccountToken } from "../../api/account/account_types.ts";
import { ApiFailure } from "../../web/app/api_client.ts";
import { type FactorProps, Section } from "./section.tsx";

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
