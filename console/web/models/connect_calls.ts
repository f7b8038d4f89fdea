// Calls of the pages of clients, targets, credentials and health. What changes something waits for a sign-in or a fresh factor.

import { take } from "../api_client.ts";
import type { Models } from "./models.ts";

type Given = Pick<Models, "api" | "session">;
const idOf = (name: string) => ({ param: { id: encodeURIComponent(name) } });

export const fetchClients = ({ api }: Given) => take(api.clients.$get());
export const fetchClient = ({ api }: Given, name: string) => take(api.clients[":id"].$get(idOf(name)));
export const hear = ({ api }: Given, secret: string | undefined) =>
  take(api.clients.heard.$post({ json: secret === undefined ? {} : { secret } }));

type FirstFactorTest = Parameters<Models["api"]["clients"]["first-factor"]["$post"]>[0]["json"];
type NewClient = Parameters<Models["api"]["clients"]["$post"]>[0]["json"];
type ChangedClient = Parameters<Models["api"]["clients"][":id"]["$put"]>[0]["json"];
type Rotation = Parameters<Models["api"]["clients"][":id"]["secret"]["$post"]>[0]["json"];
export type ClientForm = Omit<ChangedClient, "version">;

export const addClient = ({ api, session }: Given, json: NewClient) =>
  session.whileSignedIn(() => take(api.clients.$post({ json })));
export const changeClient = ({ api, session }: Given, name: string, json: ChangedClient) =>
  session.whileSignedIn(() => take(api.clients[":id"].$put({ ...idOf(name), json })));
export const testFirstFactor = ({ api, session }: Given, json: FirstFactorTest) =>
  session.whileSignedIn(() => take(api.clients["first-factor"].$post({ json })));
export const rotateSecret = ({ api, session }: Given, name: string, json: Rotation) =>
  session.whileSignedIn(() => take(api.clients[":id"].secret.$post({ ...idOf(name), json })));
export const endOverlap = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.clients[":id"].overlap.$delete(idOf(name))));
export const removeClient = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.clients[":id"].$delete(idOf(name))));

export const fetchTargets = ({ api }: Given) => take(api.targets.$get());
export const fetchTarget = ({ api }: Given, name: string) => take(api.targets[":id"].$get(idOf(name)));
export const fetchSample = ({ api }: Given, name: string) => take(api.targets[":id"].sample.$get(idOf(name)));
export const testBackend = ({ api, session }: Given, target: string, backend: string) =>
  session.whileSignedIn(() => take(api.targets[":id"].test.$post({ ...idOf(target), json: { backend } })));
export const retryBackend = ({ api, session }: Given, target: string, backend: string) =>
  session.whileSignedIn(() => take(api.targets[":id"].retry.$post({ ...idOf(target), json: { backend } })));
export const refreshTarget = ({ api, session }: Given, target: string) =>
  session.whileSignedIn(() => take(api.targets[":id"].refresh.$post({ ...idOf(target), json: {} })));
export const previewMapping = (
  { api, session }: Given,
  target: string,
  json: { user: string; rows: Record<string, string> },
) => session.whileSignedIn(() => take(api.targets[":id"].preview.$post({ ...idOf(target), json })));

export const fetchCredentials = ({ api }: Given) => take(api.credentials.$get());
export const addCredential = (
  { api, session }: Given,
  json: { name: string; targets: string[]; access: "read" | "write" },
) => session.whileSignedIn(() => take(api.credentials.$post({ json })));
export const revokeCredential = ({ api, session }: Given, name: string) =>
  session.whileSignedIn(() => take(api.credentials[":id"].$delete(idOf(name))));

export const fetchHealth = ({ api }: Given) => take(api.health.$get());
export const testPart = ({ api, session }: Given, id: string) =>
  session.whileSignedIn(() => take(api.health.test.$post({ json: { id } })));
