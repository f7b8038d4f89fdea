// The page of an administrator who must set up a second factor before anything else (console.second_factor = "required").

import type { Models } from "../../app/app_context.ts";
import { Button } from "../../components/button.tsx";
import { AuthLayout } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { KeySetUp } from "../access/factor_set_up.tsx";
import { refreshSession } from "./sign_in_calls.ts";

export default function RequiredFactorPage({ models }: { models: Models }) {
  return (
    <AuthLayout title={t("signin.second_factor")} foot={t("signin.required_foot")}>
      <div class="auth-form">
        <p>{t("signin.required_why")}</p>
        <KeySetUp
          models={models}
          label={t("signin.first_passkey")}
          passkeyVerb={t("common.passkey_add")}
          onDone={() => void refreshSession(models)}
        />
        <Button kind="plain" onClick={() => void models.session.signOut()}>{t("common.sign_out")}</Button>
      </div>
    </AuthLayout>
  );
}
