// Ends the session of this browser.

import { Symbol } from "../../web/parts/symbol.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { MeModels } from "../me_models.ts";

export function SignOut({ models }: { models: MeModels }) {
  const signOut = async () => {
    const problem = await models.session.signOut();
    if (problem !== null) models.toasts.say(problem, { tone: "bad" });
  };
  return (
    <button type="button" class="button button-plain" onClick={() => void signOut()}>
      <Symbol name="log-out" />
      {t("me.sign_out")}
    </button>
  );
}
