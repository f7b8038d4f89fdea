// The page without a session.

import { useEffect, useRef } from "preact/hooks";
import type { Models } from "../models/models.ts";
import { Gate } from "../parts/frame/gate.tsx";
import { SignInForm } from "../parts/access/sign_in_form.tsx";
import { failureMessage, t } from "../i18n/translate.ts";

export default function SignInPage({ models }: { models: Models }) {
  const { session, router } = models;
  // The way back from the provider says in the address what went wrong there.
  const code = useRef(router.param("problem")).current;
  useEffect(() => {
    if (code !== "") router.setParams({ problem: "" });
  }, []);
  const problem = code === "" ? null : { code, text: failureMessage(code) ?? t("access.fail_oidc_denied") };
  return (
    <Gate
      title={t("access.sign_in")}
      foot={t(session.needsSetUp.value ? "access.needs_set_up" : "access.about")}
    >
      <SignInForm models={models} problem={problem} />
    </Gate>
  );
}
