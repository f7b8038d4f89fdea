// The first owner's set-up, from the link that the server printed.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { Gate } from "../parts/gate.tsx";
import { Note } from "../parts/note.tsx";
import type { PageProps } from "../routes.ts";

export default function SetUpPage({ models }: PageProps) {
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
