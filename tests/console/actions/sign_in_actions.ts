// API actions of sign-in: own factors and sessions, administrators, invitations and API tokens.

import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../../radius/factors/totp.ts";
import { createAuthenticator } from "../../fakes/authenticator.ts";
import { PASSWORD } from "../../fakes/console_app.ts";
import { type ApiActions, linkToken, type Stage } from "./api_action.ts";

const OWN = "administrator:owner";
const NOTHING_CHANGES = "changes nothing: only what follows counts";
const BEFORE_SIGN_IN = "the person is unknown yet, and nothing changes: the sign-in that follows is recorded";

/** The code that an app shows now for the enrolment in progress. */
export function codeOf(secret: string): string {
  const seed = decodeBase32(secret);
  if (seed === null) throw new Error("The seed is not base32");
  return totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS), 6);
}

async function begunApp({ ask }: Stage): Promise<{ code: string }> {
  return { code: codeOf((await ask<{ secret: string }>("/factors/totp")).secret) };
}

async function withApp(stage: Stage): Promise<void> {
  await stage.ask("/factors/totp/confirm", { json: await begunApp(stage) });
}

async function newPasskey(stage: Stage, path: string, json: unknown) {
  const answer = await stage.call("POST", { path, json });
  return await (await createAuthenticator(stage.origin)).register(await answer.json());
}

async function invited({ ask }: Stage): Promise<{ id: string; token: string }> {
  const { url, invitation } = await ask<{ url: string; invitation: { id: string } }>("/administrators", {
    json: { name: "grace", role: "viewer" },
  });
  return { id: invitation.id, token: linkToken(url) };
}

async function otherSession({ site, ask }: Stage): Promise<string> {
  await site.signIn("owner");
  const { items } = await ask<{ items: { id: string; current: boolean }[] }>("/sessions", { method: "GET" });
  return items.find(({ current }) => !current)?.id ?? "";
}

export const SIGN_IN_ACTIONS: ApiActions = {
  "PUT /saved-filters/:list/:name": {
    prepare: () => ({ path: "/saved-filters/users/Locked", json: { query: "status=locked" } }),
    action: "filter.save",
    object: OWN,
  },
  "DELETE /saved-filters/:list/:name": {
    async prepare({ ask }) {
      await ask("/saved-filters/users/Locked", { method: "PUT", json: { query: "status=locked" } });
      return { path: "/saved-filters/users/Locked" };
    },
    action: "filter.remove",
    object: OWN,
  },
  "POST /session": {
    prepare: () => ({ path: "/session", json: { name: "owner", password: PASSWORD } }),
    action: "administrator.sign_in",
    object: OWN,
  },
  "DELETE /session": {
    prepare: () => ({ path: "/session" }),
    action: "administrator.sign_out",
    object: OWN,
  },
  "POST /session/stay": { silent: "reports that the page is in use" },
  "POST /session/passkey/options": { silent: BEFORE_SIGN_IN },
  "POST /session/passkey": {
    async prepare(stage) {
      const authenticator = await createAuthenticator(stage.origin);
      const wanted = await stage.call("POST", { path: "/factors/passkeys/options" });
      const response = await authenticator.register(await wanted.json());
      await stage.call("POST", { path: "/factors/passkeys", json: { label: "laptop", response } });
      const asked = await stage.call("POST", { path: "/session/passkey/options" });
      return {
        path: "/session/passkey",
        json: { response: await authenticator.show(await asked.json()) },
      };
    },
    action: "administrator.sign_in",
    object: OWN,
  },
  "POST /session/recovery": {
    async prepare(stage) {
      const { token } = await invited(stage);
      const wanted = { token, name: "grace" };
      const response = await newPasskey(stage, "/setup/passkey/options", wanted);
      const made = await stage.call("POST", { path: "/setup/passkey", json: { ...wanted, response } });
      await made.body?.cancel();
      const cookie = made.headers.getSetCookie()[0]?.split(";")[0] ?? "";
      const issued = await stage.call("POST", { path: "/factors/recovery-codes" }, cookie);
      const { codes: [code] } = await issued.json();
      return { path: "/session/recovery", json: { name: "grace", code } };
    },
    actor: "grace",
    action: "administrator.sign_in",
    object: "administrator:grace",
  },
  "POST /session/step-up": {
    silent: "shows a factor for the next action, which leaves its own record",
  },
  "POST /setup": {
    async prepare(stage) {
      const { token } = await invited(stage);
      return { path: "/setup", json: { token, name: "grace", password: PASSWORD } };
    },
    actor: "grace",
    action: "administrator.create",
    object: "administrator:grace",
  },
  "POST /setup/link": { silent: "says whom a link is for; uses nothing up" },
  "POST /setup/passkey/options": { silent: NOTHING_CHANGES },
  "POST /setup/passkey": {
    async prepare(stage) {
      const { token } = await invited(stage);
      const wanted = { token, name: "grace" };
      const response = await newPasskey(stage, "/setup/passkey/options", wanted);
      return { path: "/setup/passkey", json: { ...wanted, response } };
    },
    actor: "grace",
    action: "administrator.create",
    object: "administrator:grace",
  },
  "POST /oidc/start": { silent: BEFORE_SIGN_IN },
  "POST /factors/totp": { silent: "an app counts for nothing until a code of it was typed" },
  "POST /factors/totp/confirm": {
    prepare: async (stage) => ({ path: "/factors/totp/confirm", json: await begunApp(stage) }),
    action: "administrator.totp_add",
    object: OWN,
  },
  "DELETE /factors/totp": {
    async prepare(stage) {
      await withApp(stage);
      return { path: "/factors/totp" };
    },
    action: "administrator.totp_remove",
    object: OWN,
  },
  "POST /factors/recovery-codes": {
    async prepare(stage) {
      await withApp(stage);
      return { path: "/factors/recovery-codes" };
    },
    action: "administrator.recovery_codes",
    object: OWN,
  },
  "POST /factors/passkeys/options": { silent: NOTHING_CHANGES },
  "POST /factors/passkeys": {
    async prepare(stage) {
      const response = await newPasskey(stage, "/factors/passkeys/options", {});
      return { path: "/factors/passkeys", json: { label: "laptop", response } };
    },
    action: "administrator.passkey_add",
    object: OWN,
  },
  "DELETE /factors/passkeys/:id": {
    async prepare(stage) {
      const response = await newPasskey(stage, "/factors/passkeys/options", {});
      const json = { label: "laptop", response };
      const made = await (await stage.call("POST", { path: "/factors/passkeys", json })).json();
      return { path: `/factors/passkeys/${made.passkeys[0].id}` };
    },
    action: "administrator.passkey_remove",
    object: OWN,
  },
  "DELETE /sessions/:id": {
    prepare: async (stage) => ({ path: `/sessions/${await otherSession(stage)}` }),
    action: "session.end",
    object: OWN,
  },
  "POST /administrators": {
    prepare: () => ({ path: "/administrators", json: { name: "grace", role: "operator" } }),
    action: "administrator.invite",
    object: "administrator:grace",
  },
  "PATCH /administrators/:id": {
    async prepare(stage) {
      await stage.addAdministrator("grace");
      return { path: "/administrators/grace", json: { role: "operator" } };
    },
    action: "administrator.change",
    object: "administrator:grace",
  },
  "DELETE /administrators/:id": {
    async prepare(stage) {
      await stage.addAdministrator("grace");
      return { path: "/administrators/grace" };
    },
    action: "administrator.remove",
    object: "administrator:grace",
  },
  "POST /administrators/:id/link": {
    async prepare(stage) {
      await stage.addAdministrator("grace");
      return { path: "/administrators/grace/link" };
    },
    action: "administrator.renew_link",
    object: "administrator:grace",
  },
  "POST /administrators/:id/unlock": {
    async prepare(stage) {
      await stage.addAdministrator("grace");
      return { path: "/administrators/grace/unlock" };
    },
    action: "administrator.unlock",
    object: "administrator:grace",
  },
  "DELETE /administrators/:id/sessions": {
    async prepare({ site }) {
      await site.signIn("viewer");
      return { path: "/administrators/viewer/sessions" };
    },
    action: "session.end_all",
    object: "administrator:viewer",
  },
  "DELETE /invitations/:id": {
    prepare: async (stage) => ({ path: `/invitations/${(await invited(stage)).id}` }),
    action: "administrator.invite_withdraw",
    object: "administrator:grace",
  },
  "POST /tokens": {
    prepare: () => ({ path: "/tokens", json: { name: "backup", role: "viewer", days: 1 } }),
    action: "token.create",
    object: "token:backup",
  },
  "DELETE /tokens/:id": {
    async prepare({ ask }) {
      const json = { name: "backup", role: "viewer", days: 1 };
      const { item } = await ask<{ item: { id: string } }>("/tokens", { json });
      return { path: `/tokens/${item.id}` };
    },
    action: "token.revoke",
    object: "token:backup",
  },
};
