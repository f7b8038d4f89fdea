// Why a login was rejected or a packet was dropped, and how to fix it.

import type { Explanation } from "../../../api/conversations/explain_login.ts";
import type { SimilarUser } from "../../../api/conversations/live_routes.ts";
import { reasonText } from "../../app/login_state_labels.ts";
import { clientText } from "../../components/client_text.ts";
import { t } from "../../i18n/translate.ts";

interface ExplanationProps {
  readonly explanation: Explanation;
  /** A user with nearly the same name as the unknown one. */
  readonly similar: SimilarUser | null;
}

/** If there is a similar user, its fix replaces the fix of these reasons. */
const NAME_REASONS: ReadonlySet<string> = new Set(["user_unknown", "user_refused", "refused_user_name"]);

export function ExplanationText({ explanation, similar }: ExplanationProps) {
  const { values } = explanation;
  return (
    <>
      <p class="explain">{reasonText(explanation)}</p>
      {values.passwordRight === 1 && <p class="quiet">{t("live.password_right")}</p>}
      <ExplanationFix explanation={explanation} similar={similar} />
    </>
  );
}

/** The recommended action without the reason. */
export function ExplanationFix({ explanation: { code, values }, similar }: ExplanationProps) {
  return (
    <>
      {(similar === null || !NAME_REASONS.has(code)) && (
        <Fix>{t(`explain.fix_${code}`, { ...values, client: clientText(String(values.client ?? "")) })}</Fix>
      )}
      {similar !== null && <SimilarUserText similar={similar} client={clientText(String(values.client))} />}
    </>
  );
}

/** How an unknown name differs from the name of a user, and the fix. */
export function SimilarUserText({ similar, client }: { similar: SimilarUser; client: string }) {
  const { name, but, affix } = similar;
  const fix = affix !== "" && (but === "domain" || but === "realm") ? but : "name";
  return (
    <>
      <p class="explain">{t(`explain.similar_${but}`, { name })}</p>
      <Fix>{t(`explain.similar_fix_${fix}`, { name, affix, client })}</Fix>
    </>
  );
}

function Fix({ children }: { children: string }) {
  return (
    <p class="fix">
      <strong>{`${t("live.fix")}: `}</strong>
      {children}
    </p>
  );
}
