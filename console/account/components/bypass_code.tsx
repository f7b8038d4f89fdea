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
    <Section title={t("account.bypass")} why={t("account.bypass_why")}>
      <div class="me-row me-any">
        <Icon name="key-round" size={20} />
        <div class="me-row-text">
          <strong>
            {usesLeft === null ? t("account.bypass_any_left") : t("account.bypass_left", { count: usesLeft })}
          </strong>
          <span class="quiet small">
            {t("account.bypass_until")} <Time models={models} atMs={expiresMs} absolute />
          </span>
          <span class="quiet small">
            {t("account.bypass_by", { by })} <Time models={models} atMs={createdMs} />
          </span>
        </div>
        <button type="button" class="button button-plain" onClick={() => asking.value = true}>
          <Icon name="x" />
          <span>{t("account.bypass_revoke")}</span>
        </button>
      </div>
      {asking.value && (
        <ConfirmDialog
          title={t("account.bypass_revoke_title")}
          submitLabel={t("account.bypass_revoke")}
          onConfirm={revoke}
          onClose={() => asking.value = false}
        >
          <p>{t("account.bypass_revoke_what")}</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}
