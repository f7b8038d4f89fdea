// The ways in: a password with its code, a passkey, the provider. Each resolves to what went wrong, or to `null`.

import { startAuthentication } from "@simplewebauthn/browser";
import type { SessionAnswer } from "../../api/api_types.ts";
import { ApiFailure, failureText, take } from "../api_client.ts";
import type { Models } from "./models.ts";

/** What a form has to deal with: a code to branch on, and the sentence. */
export interface Problem {
  readonly code: string;
  readonly text: string;
}

type Given = Pick<Models, "api" | "session">;

/** What is shown: everything, or for a session that there is, the factors alone. */
export interface Shown {
  readonly name: string;
  readonly password: string;
  readonly code: string;
  readonly stepUp: boolean;
}

export function signIn(models: Given, { name, password, code, stepUp }: Shown): Promise<Problem | null> {
  const { api } = models;
  const typed = { password, ...(code === "" ? {} : { code }) };
  return settle(
    models,
    () =>
      stepUp
        ? take(api.session["step-up"].$post({ json: typed }))
        : take(api.session.$post({ json: { name, ...typed } })),
  );
}

/**
 * Asks for a passkey and shows it to the server.
 *
 * @param options.autofill waits in the name field's suggestions instead of asking at once.
 */
export function usePasskey(
  models: Given,
  { stepUp = false, autofill = false }: { stepUp?: boolean; autofill?: boolean },
): Promise<Problem | null> {
  const { api } = models;
  return settle(models, async () => {
    const optionsJSON = await take(api.session.passkey.options.$post({ json: {} }));
    const response = await startAuthentication({ optionsJSON, useBrowserAutofill: autofill }).catch(notShown);
    return await (stepUp
      ? take(api.session["step-up"].$post({ json: { response } }))
      : take(api.session.passkey.$post({ json: { response } })));
  });
}

/** Leaves for the provider, or goes there in another tab. Resolves only when it cannot. */
export async function goToProvider(
  { api }: Given,
  { again, newTab }: { again: boolean; newTab: boolean },
): Promise<Problem | null> {
  try {
    const returnTo = newTab ? "/access" : location.pathname + location.search;
    const { url } = await take(api.oidc.start.$post({ json: { returnTo, again } }));
    if (newTab) globalThis.open(url, "_blank", "noopener");
    else location.assign(url);
    return null;
  } catch (fault) {
    return problemOf(fault);
  }
}

/** Runs a call that answers with a session, and takes it in. */
export async function settle(
  { session }: Given,
  call: () => Promise<SessionAnswer>,
): Promise<Problem | null> {
  try {
    session.adopt(await call());
    return null;
  } catch (fault) {
    return problemOf(fault);
  }
}

/** Asks how the session stands. Only good news is taken in: without it everything stays as it is. */
export async function refreshSession({ api, session }: Given): Promise<void> {
  const answer = await take(api.session.$get()).catch(() => null);
  if (answer !== null && answer.session !== null) session.adopt(answer);
}

export function problemOf(fault: unknown): Problem {
  return { code: fault instanceof ApiFailure ? fault.code : "nonsense", text: failureText(fault) };
}

/** Why the browser gave no answer: usually because the user cancelled. */
export function notShown(fault: unknown): never {
  const name = fault instanceof Error ? fault.name : "";
  throw new ApiFailure(name === "InvalidStateError" ? "passkey_known" : "passkey_not_shown");
}

/** Why no passkey can be used here; `null` when one can. */
export function whyNoPasskey(): "passkeys_need_name" | "passkeys_unknown" | null {
  const { hostname } = location;
  if (hostname.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname)) return "passkeys_need_name";
  return typeof globalThis.PublicKeyCredential === "function" ? null : "passkeys_unknown";
}
