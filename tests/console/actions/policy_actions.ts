// API actions on policies, and on the devices that they remember.

import type { PolicyPage } from "../../../console/api/policies/policy_types.ts";
import type { ApiActions, Stage } from "./api_action.ts";

/** A policy that locks out no user. */
const GUESTS = {
  name: "Guests",
  enabled: true,
  conditions: { groups: ["guests"] },
  outcome: { kind: "deny" },
};

/** Stores a policy and returns it with the version of the list. */
async function withPolicy({ ask }: Stage): Promise<{ id: string; version: number }> {
  const before = await ask<PolicyPage>("/policies", { method: "GET" });
  const { version, policies } = await ask<PolicyPage>("/policies", {
    json: { version: before.version, policy: GUESTS },
  });
  return { id: policies[0]?.id ?? "", version };
}

export const POLICY_ACTIONS: ApiActions = {
  "POST /policies": {
    prepare: () => ({ path: "/policies", json: { version: 0, policy: GUESTS } }),
    action: "policy.create",
    object: "policy:Guests",
  },
  "PUT /policies/order": {
    async prepare(stage) {
      const { id, version } = await withPolicy(stage);
      return { path: "/policies/order", json: { version, ids: [id] } };
    },
    action: "policy.order",
    object: "policy:",
  },
  "PUT /policies/:id": {
    async prepare(stage) {
      const { id, version } = await withPolicy(stage);
      return { path: `/policies/${id}`, json: { version, policy: { ...GUESTS, name: "Visitors" } } };
    },
    action: "policy.change",
    object: "policy:Visitors",
  },
  "DELETE /policies/:id": {
    async prepare(stage) {
      const { id, version } = await withPolicy(stage);
      return { path: `/policies/${id}`, json: { version } };
    },
    action: "policy.remove",
    object: "policy:Guests",
  },
  "POST /policies/evaluate": { silent: "evaluates a sign-in that does not happen, and changes nothing" },
  "POST /policies/replay": { silent: "evaluates sign-ins of the history, and changes nothing" },
  "DELETE /users/:id/remembered-devices": {
    async prepare({ site }) {
      await site.people.put("ada");
      return { path: "/users/ada/remembered-devices" };
    },
    action: "user.forget_devices",
    object: "user:ada",
  },
};
