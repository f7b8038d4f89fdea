// Why a login was refused or a packet dropped: one sentence, and what to do about it.

import type { Explanation } from "../../../api/live/explain.ts";
import { whyText } from "../../why_text.ts";
import { t } from "../../words/translate.ts";

export function ExplanationText({ explanation }: { explanation: Explanation }) {
  return (
    <>
      <p class="explain">{whyText(explanation)}</p>
      {explanation.values.passwordRight === 1 && <p class="quiet">{t("live.password_right")}</p>}
      <p class="fix">
        <strong>{`${t("live.fix")}: `}</strong>
        {t(`explain.fix_${explanation.code}`, explanation.values)}
      </p>
    </>
  );
}
