// The session ended while somebody worked, or what they ask for needs a fresh factor: signing in over the page, which keeps
// what it shows.

import { useEffect, useRef } from "preact/hooks";
import { take } from "../api_client.ts";
import type { Models } from "../models/models.ts";
import { valueOf } from "../remote.ts";
import { t } from "../words/translate.ts";
import { Dialog } from "./dialog.tsx";
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
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
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

/** Somebody may sign in in another tab, as at the provider: coming back here asks. */
function useReturn({ api, session }: Models): void {
  useEffect(() => {
    const look = async () => {
      if (document.visibilityState !== "visible") return;
      // Only good news is taken: without it the dialog stays as it is.
      const answer = await take(api.session.$get()).catch(() => null);
      if (answer !== null && answer.session !== null) session.adopt(answer);
    };
    const onChange = () => void look();
    document.addEventListener("visibilitychange", onChange);
    return () => document.removeEventListener("visibilitychange", onChange);
  }, []);
}
