// Calls of sign-in: password with code, passkey, identity provider. Each resolves to the failure, or to `null`.

import type { SessionAnswer } from "../../../api/api_types.ts";
import { ApiFailure, failureText, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/browser";

/** A failed sign-in: the error code, and its message. */
export interface SignInFailure {
  readonly code: string;
  readonly text: string;
}

type Given = Pick<Models, "api" | "session">;

/** The input of the form. A step-up ignores the name. */
export interface SignInInput {
  readonly name: string;
  readonly password: string;
  readonly code: string;
  readonly stepUp: boolean;
}

export function signIn(
  models: Given,
  { name, password, code, stepUp }: SignInInput,
): Promise<SignInFailure | null> {
  const { api } = models;
  const typed = { password, ...(code === "" ? {} : { code }) };
  return adoptSession(
    models,
    () =>
      stepUp
        ? take(api.session["step-up"].$post({ json: typed }))
        : take(api.session.$post({ json: { name, ...typed } })),
  );
}

/** @param options.autofill offers the passkey in the suggestions of the name field, without a prompt. */
export function signInWithPasskey(
  models: Given,
  { stepUp = false, autofill = false }: { stepUp?: boolean; autofill?: boolean },
): Promise<SignInFailure | null> {
  const { api } = models;
  return adoptSession(models, async () => {
    const optionsJSON = await take(api.session.passkey.options.$post({ json: {} }));
    const response = await readPasskey(optionsJSON, { autofill });
    return await (stepUp
      ? take(api.session["step-up"].$post({ json: { response } }))
      : take(api.session.passkey.$post({ json: { response } })));
  });
}

/** Opens the sign-in page of the identity provider, in this tab or a new one. */
export async function signInWithProvider(
  { api }: Given,
  { again, newTab }: { again: boolean; newTab: boolean },
): Promise<SignInFailure | null> {
  try {
    const returnTo = newTab ? "/access" : location.pathname + location.search;
    const { url } = await take(api.oidc.start.$post({ json: { returnTo, again } }));
    if (newTab) globalThis.open(url, "_blank", "noopener");
    else location.assign(url);
    return null;
  } catch (fault) {
    return toSignInFailure(fault);
  }
}

/** Runs a call and adopts the session that it returns. */
export async function adoptSession(
  { session }: Given,
  call: () => Promise<SessionAnswer>,
): Promise<SignInFailure | null> {
  try {
    session.adopt(await call());
    return null;
  } catch (fault) {
    return toSignInFailure(fault);
  }
}

/** Fetches the session. After a failure or without a session, nothing changes. */
export async function refreshSession({ api, session }: Given): Promise<void> {
  const answer = await take(api.session.$get()).catch(() => null);
  if (answer !== null && answer.session !== null) session.adopt(answer);
}

export function toSignInFailure(fault: unknown): SignInFailure {
  return { code: fault instanceof ApiFailure ? fault.code : "nonsense", text: failureText(fault) };
}

/** Why passkeys are unavailable; `null` if they are available. */
export function passkeyUnavailableReason(): "passkeys_need_name" | "passkeys_unknown" | null {
  const { hostname } = location;
  if (hostname.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname)) return "passkeys_need_name";
  return typeof globalThis.PublicKeyCredential === "function" ? null : "passkeys_unknown";
}

/** The library is loaded when the first passkey is needed. */
const library = () => import("@simplewebauthn/browser");

/** @throws ApiFailure */
export async function createPasskey(
  optionsJSON: PublicKeyCredentialCreationOptionsJSON,
): Promise<RegistrationResponseJSON> {
  const { startRegistration } = await library();
  return await startRegistration({ optionsJSON }).catch(throwFailure);
}

/**
 * @param options.autofill offers passkeys among the suggestions of the name field, instead of asking at once.
 * @throws ApiFailure
 */
async function readPasskey(
  optionsJSON: PublicKeyCredentialRequestOptionsJSON,
  { autofill }: { autofill: boolean },
): Promise<AuthenticationResponseJSON> {
  const { startAuthentication } = await library();
  return await startAuthentication({ optionsJSON, useBrowserAutofill: autofill }).catch(throwFailure);
}

/** The browser returned no passkey, usually because the user cancelled. */
function throwFailure(fault: unknown): never {
  const name = fault instanceof Error ? fault.name : "";
  throw new ApiFailure(name === "InvalidStateError" ? "passkey_known" : "passkey_not_shown");
}
