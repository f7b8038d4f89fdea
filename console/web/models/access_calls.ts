// Calls of the access page: administrators, sessions and tokens. What changes something waits for a fresh factor.

import type { Role } from "../../api/auth/permissions.ts";
import { take } from "../api_client.ts";
import type { Models } from "./models.ts";

type Given = Pick<Models, "api" | "session">;
const idOf = (name: string) => ({ param: { id: encodeURIComponent(name) } });

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

export const fetchSessionsOf = ({ api }: Given, name: string) =>
  take(api.administrators[":id"].sessions.$get(idOf(name)));

export const endSessionsOf = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.administrators[":id"].sessions.$delete(idOf(name))));

export const withdrawInvitation = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.invitations[":id"].$delete({ param: { id } })));

export const fetchSessions = ({ api }: Given) => take(api.sessions.$get());

export const endSession = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.sessions[":id"].$delete({ param: { id } })));

export const fetchTokens = ({ api }: Given) => take(api.tokens.$get());

export const makeToken = ({ api, session }: Given, wanted: { name: string; role: Role; days: number }) =>
  session.whileSignedIn(() => take(api.tokens.$post({ json: wanted })));

export const revokeToken = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.tokens[":id"].$delete({ param: { id } })));
