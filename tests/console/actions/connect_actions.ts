// API actions on clients, targets, credentials, approvals and messages.

import { CLIENT_RULES } from "../../fakes/client_rules.ts";
import { approval } from "../../fakes/console_gateway.ts";
import type { ApiActions, Call, Stage } from "./api_action.ts";

const VPN = "client:vpn-1";
const NEW_CLIENT = { path: "/clients", json: { ...CLIENT_RULES, name: "vpn-1" } };
const HOUR_MS = 3_600_000;

/** The client already exists. */
function withClient(call: Call) {
  return async ({ ask }: Stage): Promise<Call> => {
    await ask(NEW_CLIENT.path, { json: NEW_CLIENT.json });
    return call;
  };
}

function waiting(verb: "deny" | "cancel") {
  return ({ site }: Stage): Call => {
    site.secondFactorAdmin.wait(approval("r1"));
    return { path: `/approvals/r1/${verb}` };
  };
}

const SETTING_CHANGE = {
  path: "/settings",
  json: { version: "0", changes: { "factors.terminal_name": "Gate" } },
};

const NEW_TARGET = {
  path: "/target-settings/corp",
  json: { version: "0", table: { page_size: 7 } },
};

const CREDENTIAL = { name: "saas", targets: ["default"], access: "write" };

const CONNECTION = { name: "okta", kind: "okta", target: "default" };
const OKTA = "connection:okta";

/** The connection already exists. */
function withConnection(makeCall: (secretId: string) => Call) {
  return async ({ ask }: Stage): Promise<Call> => {
    const { secret } = await ask<{ secret: { id: string } }>("/connections", { json: CONNECTION });
    return makeCall(secret.id);
  };
}

export const CONNECT_ACTIONS: ApiActions = {
  "PUT /first-steps/:name": {
    prepare: () => ({ path: "/first-steps/client", json: { skipped: true } }),
    action: "first_step.skip",
    object: "first_step:client",
  },
  "PUT /settings": {
    prepare: () => SETTING_CHANGE,
    action: "settings.change",
    object: "setting:factors.terminal_name",
  },
  "POST /settings/check": { silent: "says what a change would do; nothing is saved" },
  "POST /settings/undo": {
    async prepare({ ask }) {
      const { path, json } = SETTING_CHANGE;
      const { auditId } = await ask<{ auditId: string }>(path, { method: "PUT", json });
      return { path: "/settings/undo", json: { auditId } };
    },
    action: "settings.undo",
    object: "setting:factors.terminal_name",
  },
  "POST /settings/test/second_factor": { silent: "asks a service whether it answers; nothing is saved" },
  "POST /settings/test/telephony": { silent: "asks a service whether it answers; nothing is saved" },
  "PUT /target-settings/:name": {
    prepare: () => NEW_TARGET,
    action: "target.create",
    object: "target:corp",
  },
  "DELETE /target-settings/:name": {
    async prepare({ ask }) {
      await ask(NEW_TARGET.path, { method: "PUT", json: NEW_TARGET.json });
      return { path: NEW_TARGET.path, json: { version: "99" } };
    },
    action: "target.remove",
    object: "target:corp",
  },
  "POST /target-settings/:name/test": { silent: "asks a connector whether it answers; nothing is saved" },
  "POST /target-settings/:name/preview": { silent: "shows a user by a mapping that is not saved" },
  "POST /settings/test/oidc": { silent: "asks a provider whether it answers; nothing is saved" },
  "POST /approvals/:id/deny": { prepare: waiting("deny"), action: "approval.deny", object: "user:ada" },
  "POST /approvals/:id/cancel": { prepare: waiting("cancel"), action: "approval.cancel", object: VPN },
  "POST /clients": { prepare: () => NEW_CLIENT, action: "client.create", object: VPN },
  "POST /clients/heard": { silent: "listens; a secret that is typed in is compared and forgotten" },
  "POST /clients/first-factor": { silent: "asks a first factor whether it answers; nothing of it is kept" },
  "PUT /clients/:id": {
    async prepare({ ask }) {
      await ask(NEW_CLIENT.path, { json: NEW_CLIENT.json });
      const { client } = await ask<{ client: { version: number } }>("/clients/vpn-1", { method: "GET" });
      return { path: "/clients/vpn-1", json: { ...CLIENT_RULES, disabled: true, version: client.version } };
    },
    action: "client.change",
    object: VPN,
  },
  "DELETE /clients/:id": {
    prepare: withClient({ path: "/clients/vpn-1" }),
    action: "client.remove",
    object: VPN,
  },
  "POST /clients/:id/secret": {
    prepare: withClient({ path: "/clients/vpn-1/secret", json: { overlapMs: HOUR_MS } }),
    action: "client.rotate",
    object: VPN,
  },
  "DELETE /clients/:id/overlap": {
    async prepare({ ask }) {
      await ask(NEW_CLIENT.path, { json: NEW_CLIENT.json });
      await ask("/clients/vpn-1/secret", { json: { overlapMs: HOUR_MS } });
      return { path: "/clients/vpn-1/overlap" };
    },
    action: "client.end_overlap",
    object: VPN,
  },
  "DELETE /clients/:id/signing": {
    prepare({ site }) {
      site.signing.learn({ client: { name: "vpn-1" }, source: "198.51.100.9" });
      return { path: "/clients/vpn-1/signing" };
    },
    action: "client.forget",
    object: VPN,
  },
  "POST /targets/:id/test": { silent: "asks a backend whether it answers; changes nothing" },
  "POST /targets/:id/retry": {
    prepare: () => ({ path: "/targets/default/retry", json: { backend: "ldap" } }),
    action: "outbox.retry",
    object: "target:default",
  },
  "POST /targets/:id/refresh": {
    prepare: () => ({ path: "/targets/default/refresh" }),
    action: "target.refresh",
    object: "target:default",
  },
  "POST /targets/:id/preview": { silent: "tries a mapping on a user; nothing is written" },
  "POST /credentials": {
    prepare: () => ({ path: "/credentials", json: CREDENTIAL }),
    action: "scim_credential.add",
    object: "credential:default/saas",
  },
  "DELETE /credentials/:id": {
    async prepare({ ask }) {
      await ask("/credentials", { json: CREDENTIAL });
      return { path: "/credentials/saas" };
    },
    action: "scim_credential.revoke",
    object: "credential:default/saas",
  },
  "POST /connections": {
    prepare: () => ({ path: "/connections", json: CONNECTION }),
    action: "connection.create",
    object: OKTA,
  },
  "PATCH /connections/:name": {
    prepare: withConnection(() => ({
      path: "/connections/okta",
      json: { version: 1, change: { paused: true } },
    })),
    action: "connection.change",
    object: OKTA,
  },
  "DELETE /connections/:name": {
    prepare: withConnection(() => ({ path: "/connections/okta" })),
    action: "connection.remove",
    object: OKTA,
  },
  "POST /connections/:name/secrets": {
    prepare: withConnection(() => ({ path: "/connections/okta/secrets", json: { kind: "client_secret" } })),
    action: "connection.secret_add",
    object: OKTA,
  },
  "DELETE /connections/:name/secrets/:id": {
    prepare: withConnection((id) => ({ path: `/connections/okta/secrets/${id}` })),
    action: "connection.secret_revoke",
    object: OKTA,
  },
  "POST /connections/:name/matches": {
    async prepare(stage) {
      const call = await withConnection(() => ({
        path: "/connections/okta/matches",
        json: { decision: "accept", ids: ["user:0b1c"] },
      }))(stage);
      const { connections } = stage.site;
      const settings = connections.administration.find("okta")?.settings;
      if (settings === undefined) throw new Error("the connection was not created");
      const connection = { settings, targets: ["default"], secretId: null, actorName: "scim:okta" };
      const resource = { kind: "user", id: "0b1c", name: "ada", externalId: null } as const;
      await connections.proposeAdoption(connection, resource);
      return call;
    },
    action: "connection.match_accept",
    object: OKTA,
  },
  "POST /connections/:name/test": { silent: "reads the last requests of a connection; changes nothing" },
  "POST /health/test": { silent: "asks a part whether it answers; changes nothing" },
  "POST /support": { silent: "reads the state for a file of an owner on the host; changes nothing" },
  "POST /outbox/:id/reveal": {
    prepare({ site }) {
      const item = { id: "m1", kind: "text", to: "+15550100", createdMs: 0, deadlineMs: 1e15 } as const;
      site.outbox.put(item, "Passcode 482913");
      return { path: "/outbox/m1/reveal" };
    },
    action: "outbox.reveal",
    object: "message:m1",
  },
};
