// What somebody sees who is not signed in.

import type { Models } from "../models/models.ts";
import { Gate } from "../parts/gate.tsx";
import { SignInForm } from "../parts/sign_in_form.tsx";

export default function SignInPage({ models }: { models: Models }) {
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
