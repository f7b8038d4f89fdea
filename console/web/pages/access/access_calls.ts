// Calls of the Access page: administrators, sessions and tokens. A change requires a factor that was verified recently.

import type { Role } from "../../../api/auth/admin_records.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { adoptSession, createPasskey, type SignInFailure } from "../sign_in/sign_in_calls.ts";

type Given = Pick<Models, "api" | "session">;
const idOf = (name: string) => ({ param: escapeParams({ id: name }) });

export const fetchAdministrators = ({ api }: Given) => take(api.administrators.$get());

export const inviteAdministrator = ({ api, session }: Given, wanted: { name: string; role: Role }) =>
  session.whileSignedIn(() => take(api.administrators.$post({ json: wanted })));

export const changeAdministrator = (
  { api, session }: Given,
  name: string,
  change: { role?: Role; disabled?: boolean },
) => session.whileSignedIn(() => take(api.administrators[":id"].$patch({ ...idOf(name), json: change })));

export const removeAdministrator = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.administrators[":id"].$delete(idOf(name))));

export const renewAdministrator = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.administrators[":id"].link.$post({ ...idOf(name), json: {} })));

export const unlockAdministrator = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.administrators[":id"].unlock.$post({ ...idOf(name), json: {} })));

export const fetchAdminSessions = ({ api }: Given, name: string) =>
  take(api.administrators[":id"].sessions.$get(idOf(name)));

export const endAdminSessions = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.administrators[":id"].sessions.$delete(idOf(name))));

export const withdrawInvitation = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.invitations[":id"].$delete(idOf(id))));

export const fetchOwnSessions = ({ api }: Given) => take(api.sessions.$get());

export const endOwnSession = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.sessions[":id"].$delete(idOf(id))));

export const fetchTokens = ({ api }: Given) => take(api.tokens.$get());

export const createApiToken = ({ api, session }: Given, wanted: { name: string; role: Role; days: number }) =>
  session.whileSignedIn(() => take(api.tokens.$post({ json: wanted })));

export const revokeToken = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.tokens[":id"].$delete(idOf(id))));

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
  session.whileSignedIn(() => take(api.factors.passkeys[":id"].$delete({ param: escapeParams({ id }) })));

/** Creates a passkey for the signed-in administrator. */
export async function addPasskey({ api, session }: Given, label: string) {
  const optionsJSON = await session.whileSignedIn(() =>
    take(api.factors.passkeys.options.$post({ json: {} }))
  );
  const response = await createPasskey(optionsJSON);
  return await session.whileSignedIn(() => take(api.factors.passkeys.$post({ json: { label, response } })));
}

/** Reads the purpose of a one-time link. */
export const fetchLink = ({ api }: Given, token: string) => take(api.setup.link.$post({ json: { token } }));

/** Creates the account of a one-time link, with a password. */
export function setUpWithPassword(
  models: Given,
  claim: { token: string; name: string; password: string },
): Promise<SignInFailure | null> {
  return adoptSession(models, () => take(models.api.setup.$post({ json: claim })));
}

/** Creates the account of a one-time link, with a passkey and without a password. */
export function setUpWithPasskey(
  models: Given,
  { token, name }: { token: string; name: string },
): Promise<SignInFailure | null> {
  const { setup } = models.api;
  return adoptSession(models, async () => {
    const optionsJSON = await take(setup.passkey.options.$post({ json: { token, name } }));
    const response = await createPasskey(optionsJSON);
    return await take(setup.passkey.$post({ json: { token, name, response } }));
  });
}
