// One's own factors, changed: each call waits for a fresh factor where the server wants one.

import { startRegistration } from "@simplewebauthn/browser";
import { take } from "../api_client.ts";
import type { Models } from "./models.ts";
import { notShown, type Problem, settle } from "./sign_in_calls.ts";

type Given = Pick<Models, "api" | "session">;

export const fetchFactors = ({ api }: Given) => take(api.factors.$get());

export const beginTotp = ({ api, session }: Given) =>
  session.whileSignedIn(() => take(api.factors.totp.$post({ json: {} })));

/** Resolves to the recovery codes. */
export const confirmTotp = ({ api, session }: Given, code: string) =>
  session.whileSignedIn(() => take(api.factors.totp.confirm.$post({ json: { code } })));

export const removeTotp = ({ api, session }: Given) =>
  session.whileSignedIn(() => take(api.factors.totp.$delete()));

export const newRecoveryCodes = ({ api, session }: Given) =>
  session.whileSignedIn(() => take(api.factors["recovery-codes"].$post({ json: {} })));

export const removePasskey = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.factors.passkeys[":id"].$delete({ param: { id } })));

/** Creates a passkey for the signed-in administrator. */
export async function addPasskey({ api, session }: Given, label: string) {
  const optionsJSON = await session.whileSignedIn(() =>
    take(api.factors.passkeys.options.$post({ json: {} }))
  );
  const response = await startRegistration({ optionsJSON }).catch(notShown);
  return await session.whileSignedIn(() => take(api.factors.passkeys.$post({ json: { label, response } })));
}

/** What a one-time link is good for. */
export const fetchLink = ({ api }: Given, token: string) => take(api.setup.link.$post({ json: { token } }));

/** Makes the account of a link, with a password. */
export function setUpWithPassword(
  models: Given,
  claim: { token: string; name: string; password: string },
): Promise<Problem | null> {
  return settle(models, () => take(models.api.setup.$post({ json: claim })));
}

/** Makes the account of a link, with a passkey alone. */
export function setUpWithPasskey(
  models: Given,
  { token, name }: { token: string; name: string },
): Promise<Problem | null> {
  const { setup } = models.api;
  return settle(models, async () => {
    const optionsJSON = await take(setup.passkey.options.$post({ json: { token, name } }));
    const response = await startRegistration({ optionsJSON }).catch(notShown);
    return await take(setup.passkey.$post({ json: { token, name, response } }));
  });
}
