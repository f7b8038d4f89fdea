// The two pages for somebody who is not signed in: sign-in, and the first owner's set-up.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Models } from "../models/models.ts";
import { Field } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Note } from "../parts/note.tsx";
import { SignInForm } from "../parts/sign_in_form.tsx";

function Gate(
  { title, children, foot }: { title: string; children: ComponentChildren; foot: ComponentChildren },
) {
  return (
    <main class="gate">
      <div class="gate-panel">
        <div class="wordmark">
          <Mark size={26} />Countersign
        </div>
        <div class="panel">
          <div class="panel-head">
            <h1>{title}</h1>
          </div>
          {children}
        </div>
        <p class="gate-foot">{foot}</p>
      </div>
    </main>
  );
}

export function SignInPage({ models }: { models: Models }) {
  const { session } = models;
  return (
    <Gate
      title="Sign in"
      foot={session.needsSetUp.value
        ? "Nobody can sign in yet: open the set-up link that the server printed when it started. A new start prints a new one."
        : "This console shows logins of the gateway as they happen."}
    >
      <SignInForm model={session} />
    </Gate>
  );
}

export function SetUpPage({ models }: { models: Models }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const token = useRef("");
  useEffect(() => {
    if (token.current === "") token.current = location.hash.slice(1);
    // The link works once; it need not stay in the address bar and the history.
    history.replaceState(null, "", "/setup");
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value || !(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    busy.value = true;
    problem.value = await models.session.setUp({
      token: token.current,
      name: String(form.get("name") ?? ""),
      password: String(form.get("password") ?? ""),
    });
    busy.value = false;
    if (problem.value === null) models.router.go("/live");
  };
  return (
    <Gate title="Set up the first owner" foot="The link that brought you here works once, and for an hour.">
      <form class="gate-form" onSubmit={submit}>
        <p>An owner may do everything here. Other accounts stand in the settings, under [[console.admin]].</p>
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <Field
          id="set-up-name"
          label="Name"
          input={{
            name: "name",
            autocomplete: "username",
            autocapitalize: "none",
            spellcheck: false,
            required: true,
            maxLength: 64,
            autofocus: true,
          }}
        />
        <Field
          id="set-up-password"
          label="Password"
          hint="At least 12 characters. A few words in a row are fine."
          input={{
            name: "password",
            type: "password",
            autocomplete: "new-password",
            required: true,
            minLength: 12,
          }}
        />
        <button class="button button-primary" type="submit" disabled={busy.value}>
          {busy.value ? "Creating the owner…" : "Create the owner"}
        </button>
      </form>
    </Gate>
  );
}
