// Sign-in without a session: the page, and the dialog that opens over a page when the session ends or an action needs a factor.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Models } from "../../app/app_context.ts";
import { AuthLayout } from "../../components/page_layout.tsx";
import { SignInForm } from "./sign_in_form.tsx";
import { errorMessage, t } from "../../i18n/translate.ts";
import { refreshSession } from "./sign_in_calls.ts";
import { readyValue } from "../../app/resource.ts";
import { Dialog } from "../../components/dialog.tsx";

export default function SignInPage({ models }: { models: Models }) {
  const { session, router } = models;
  // The redirect from the identity provider puts its error code into the address.
  const code = useRef(router.param("problem")).current;
  useEffect(() => {
    if (code !== "") router.setParams({ problem: "" });
  }, []);
  const problem = code === "" ? null : { code, text: errorMessage(code) ?? t("errors.oidc_denied") };
  return (
    <AuthLayout
      title={t("signin.sign_in")}
      foot={t(session.needsSetUp.value ? "signin.needs_set_up" : "signin.about")}
    >
      <SignInForm models={models} problem={problem} />
    </AuthLayout>
  );
}

export function SignInDialog({ models }: { models: Models }) {
  const { session } = models;
  useReturn(models);
  const who = readyValue(session.session.value);
  if (session.isInterrupted.value) return <Again models={models} name={who?.name ?? ""} />;
  if (!session.isSteppingUp.value || who === null) return null;
  return (
    <Dialog title={t("common.step_up")} onClose={session.cancelStepUp}>
      <p>{t("signin.step_up_why")}</p>
      <SignInForm models={models} name={who.name} stepUp={who} />
    </Dialog>
  );
}

/** Escape does not close this dialog, because the page is not usable without a session. */
function Again({ models, name }: { models: Models; name: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect, because a plain effect is cleaned up one frame after the element was removed. A dialog that opens in
  // that frame would reopen this one.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (!element.open) element.showModal();
    // A dialog that opens later must not cover this one.
    const stayOnTop = ({ target }: Event) => {
      if (!(target instanceof HTMLDialogElement) || target === element || !target.open) return;
      element.close();
      element.showModal();
    };
    document.addEventListener("toggle", stayOnTop, true);
    return () => document.removeEventListener("toggle", stayOnTop, true);
  }, []);
  return (
    <dialog
      class="dialog"
      ref={dialog}
      aria-labelledby="sign-in-again"
      onCancel={(event) => event.preventDefault()}
    >
      <div class="panel-head">
        <h2 id="sign-in-again">{t("signin.sign_in_again")}</h2>
      </div>
      <SignInForm models={models} name={name} />
    </dialog>
  );
}

/** The user may sign in in another tab, so the return to this tab checks the session. */
function useReturn(models: Models): void {
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") void refreshSession(models);
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
}
