// Name and password, on a page of its own or in a dialog over the work.

import { useSignal } from "@preact/signals";
import type { SessionModel } from "../models/session_model.ts";
import { Field } from "./field.tsx";
import { Note } from "./note.tsx";

/** @param props.name filled in when it is known who was here. */
export function SignInForm({ model, name = "" }: { model: SessionModel; name?: string }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value || !(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    busy.value = true;
    problem.value = await model.signIn(String(form.get("name") ?? ""), String(form.get("password") ?? ""));
    busy.value = false;
  };
  return (
    <form class="gate-form" onSubmit={submit}>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      <Field
        id="sign-in-name"
        label="Name"
        input={{
          name: "name",
          defaultValue: name,
          autocomplete: "username",
          autocapitalize: "none",
          spellcheck: false,
          required: true,
          autofocus: name === "",
        }}
      />
      <Field
        id="sign-in-password"
        label="Password"
        input={{
          name: "password",
          type: "password",
          autocomplete: "current-password",
          required: true,
          autofocus: name !== "",
        }}
      />
      <button class="button button-primary" type="submit" disabled={busy.value}>
        {busy.value ? "Signing in…" : "Sign in"}
      </button>
    </form>
  );
}
