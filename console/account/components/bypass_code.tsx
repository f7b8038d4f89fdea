// The bypass code that the help desk issued to the user: until when it is valid, and its end. The code itself is not shown.

import { useSignal } from "@preact/signals";
import { ApiFailure } from "../../web/app/api_client.ts";
import { ConfirmDialog } from "../../web/components/form_dialog.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { Time } from "../../web/components/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import { type FactorProps, Section } from "./section.tsx";

export function OwnBypassCode({ models, account, factors: { bypass = null } }: FactorProps) {
  const asking = useSignal(false);
  const revoke = async () => {
    let problem: string | null = null;
    await account.run({
      call: account.calls.revokeBypass,
      doneText: t("account.bypass_revoked"),
      onProblem: (sentence) => problem = sentence,
    });
    if (problem !== null) throw new ApiFailure("unconfirmed", { message: problem });
  };
  if (bypass === null) return null;
  const { usesLeft, expiresMs, by, createdMs } = bypass;
  return (
    <Section title={t("common.bypass_code")} why={t("account.bypass_why")}>
      <div class="me-row me-any">
        <Icon name="key-round" size={20} />
        <div class="me-row-text">
          <strong>
            {usesLeft === null
              ? t("common.any_number_of_sign_ins")
              : t("common.sign_ins_left", { count: usesLeft })}
          </strong>
          <span class="quiet small">
            {t("common.until")} <Time models={models} atMs={expiresMs} absolute />
          </span>
          <span class="quiet small">
            {t("common.issued_by", { by })} <Time models={models} atMs={createdMs} />
          </span>
        </div>
        <button type="button" class="button button-plain" onClick={() => asking.value = true}>
          <Icon name="x" />
          <span>{t("common.revoke_code")}</span>
        </button>
      </div>
      {asking.value && (
        <ConfirmDialog
          title={t("account.bypass_revoke_title")}
          submitLabel={t("common.revoke_code")}
          onConfirm={revoke}
          onClose={() => asking.value = false}
        >
          <p>{t("account.bypass_revoke_what")}</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}
