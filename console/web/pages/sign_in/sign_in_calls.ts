// Calls of sign-in: password with code, passkey, identity provider. Each resolves to the failure, or to `null`.

import type { SessionAnswer } from "../../../api/api_types.ts";
import { ApiFailure, failureText, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { HOME_PATH } from "../../app/routes.ts";

/** A failed sign-in: the error code, and its message. */
export interface SignInFailure {
  readonly code: string;
  readonly text: string;
}

type Given = Pick<Models, "api" | "session">;

/** The input of the form. A step-up ignores the name. */
interface SignInInput {
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

/** Signs in to an account without a password, whose passkeys are lost. */
export function signInWithRecoveryCode(
  models: Given,
  json: { readonly name: string; readonly code: string },
): Promise<SignInFailure | null> {
  return adoptSession(models, () => take(models.api.session.recovery.$post({ json })));
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
    const path = location.pathname + location.search;
    // The server redirects the root to the page of the role.
    const returnTo = newTab ? "/access" : path === HOME_PATH ? "/" : path;
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

function toSignInFailure(fault: unknown): SignInFailure {
  return { code: fault instanceof ApiFailure ? fault.code : "nonsense", text: failureText(fault) };
}

/** Why passkeys are unavailable; `null` if they are available. */
export function passkeyUnavailableReason(): "common.passkeys_need_name" | "common.passkeys_unknown" | null {
  const { hostname } = location;
  if (hostname.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname)) {
    return "common.passkeys_need_name";
  }
  // Browsers before 2025 cannot read the options of the server.
  return "parseRequestOptionsFromJSON" in (globalThis.PublicKeyCredential ?? {})
    ? null
    : "common.passkeys_unknown";
}

/** The address of this console with a host name, for the hint about passkeys: `localhost` on this computer, otherwise an example. */
export function namedAddress(
  { protocol, hostname, port }: Pick<Location, "protocol" | "hostname" | "port"> = location,
): string {
  const isLocal = hostname.startsWith("127.") || hostname === "[::1]";
  return `${protocol}//${isLocal ? "localhost" : "gateway.example.com"}${port === "" ? "" : `:${port}`}`;
}

/** The request for a passkey, which can wait in the suggestions of the name field. A browser allows one at a time. */
let passkeyRequest = new AbortController();

/** @throws ApiFailure */
export async function createPasskey(
  options: PublicKeyCredentialCreationOptionsJSON,
): Promise<RegistrationResponseJSON> {
  return await askForPasskey<RegistrationResponseJSON>((signal) =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      signal,
    })
  );
}

/**
 * @param options.autofill offers passkeys among the suggestions of the name field, instead of asking at once.
 * @throws ApiFailure
 */
async function readPasskey(
  options: PublicKeyCredentialRequestOptionsJSON,
  { autofill }: { autofill: boolean },
): Promise<AuthenticationResponseJSON> {
  return await askForPasskey<AuthenticationResponseJSON>((signal) =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      ...autofill ? { mediation: "conditional" } : {},
      signal,
    })
  );
}

/** Asks the browser, which ends an earlier request. */
async function askForPasskey<Answer>(
  ask: (signal: AbortSignal) => Promise<Credential | null>,
): Promise<Answer> {
  passkeyRequest.abort();
  passkeyRequest = new AbortController();
  try {
    const credential = await ask(passkeyRequest.signal);
    if (!(credential instanceof PublicKeyCredential)) throw new TypeError("The browser returned no passkey");
    return credential.toJSON() as Answer;
  } catch (fault) {
    // Usually the user cancelled.
    const isKnown = fault instanceof Error && fault.name === "InvalidStateError";
    throw new ApiFailure(isKnown ? "passkey_known" : "passkey_not_shown");
  }
}
