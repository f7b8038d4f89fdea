// The session ended while somebody worked: sign in over the page, which keeps what it shows.

import { useEffect, useRef } from "preact/hooks";
import type { Models } from "../models/models.ts";
import { valueOf } from "../remote.ts";
import { SignInForm } from "./sign_in_form.tsx";

export function SignInDialog({ models }: { models: Models }) {
  const model = models.session;
  const dialog = useRef<HTMLDialogElement>(null);
  const name = valueOf(model.session.value)?.name ?? "";
  const open = model.interrupted.value;
  useEffect(() => {
    if (open && dialog.current?.open === false) dialog.current.showModal();
  }, [open]);
  if (!open) return null;
  return (
    // Escape would leave a page that can do nothing.
    <dialog
      class="dialog"
      ref={dialog}
      aria-labelledby="sign-in-again"
      onCancel={(event) => event.preventDefault()}
    >
      <div class="panel-head">
        <h2 id="sign-in-again">Sign in again</h2>
      </div>
      <SignInForm model={model} name={name} />
    </dialog>
  );
}
