// The session ended during work, or an action needs a fresh factor: signing in over the page, which keeps
// what it shows.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Models } from "../../models/models.ts";
import { refreshSession } from "../../models/sign_in_calls.ts";
import { valueOf } from "../../remote.ts";
import { t } from "../../i18n/translate.ts";
import { Dialog } from "../dialog.tsx";
import { SignInForm } from "./sign_in_form.tsx";

export function SignInDialog({ models }: { models: Models }) {
  const { session } = models;
  useReturn(models);
  const who = valueOf(session.session.value);
  if (session.interrupted.value) return <Again models={models} name={who?.name ?? ""} />;
  if (!session.steppingUp.value || who === null) return null;
  return (
    <Dialog title={t("access.step_up")} onClose={session.leaveStepUp}>
      <p>{t("access.step_up_why")}</p>
      <SignInForm models={models} name={who.name} stepUp={who} />
    </Dialog>
  );
}

/** Escape would leave a page that can do nothing, so this one has no way out but in. */
function Again({ models, name }: { models: Models; name: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Not a plain effect: what those leave behind is cleared a frame after the element went, and a dialog that opens within
  // that frame would have this one shown again, which is no longer on the page.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (!element.open) element.showModal();
    // A dialog that opens later would lie over it, and cannot be used before the sign-in.
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
        <h2 id="sign-in-again">{t("access.sign_in_again")}</h2>
      </div>
      <SignInForm models={models} name={name} />
    </dialog>
  );
}

/** A sign-in can happen in another tab, as at the provider: the return to this tab checks for it. */
function useReturn(models: Models): void {
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") void refreshSession(models);
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
}
