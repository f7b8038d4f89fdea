// "Verified by hugo 20 sec ago": on the user page and in the dialogs of the help desk, while the result counts.

import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "./user_page_model.ts";

export function VerifiedCaller({ models, login: { verified } }: Pick<FactorPart, "models" | "login">) {
  if (verified === null || verified.untilMs <= models.clock.nowMs.value) return null;
  return (
    <p class="verified-caller tone-ok" role="status">
      <Icon name="line-check" size={14} />
      {t("users.verified_by", { name: verified.by })} <Time models={models} atMs={verified.atMs} />
    </p>
  );
}
