// A console with two RADIUS clients for tests of policies, and short forms of policies.

import type { RefusalBody } from "../../console/api/errors.ts";
import type { PolicyPage } from "../../console/api/policies/policy_types.ts";
import type { Policy, PolicyConditions, PolicyOutcome } from "../../radius/policy/policy.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import type { PeopleOptions } from "../fakes/console_people.ts";

export const POLICIES = "/console/api/policies";
const CLIENTS = `[[radius.client]]
name = "vpn"
address = ["192.0.2.1"]
secret = "a secret of a test"
first_factor = "directory"
[[radius.client]]
name = "wifi"
address = ["192.0.2.2"]
secret = "a secret of a test"
`;

export type PolicyDraftContent = Omit<Policy, "id">;

export function policy(
  name: string,
  conditions: PolicyConditions,
  outcome: PolicyOutcome,
): PolicyDraftContent {
  return { name, enabled: true, conditions, outcome };
}

export const GUESTS = policy("Guests", { groups: ["guests"] }, { kind: "deny" });
export const OFFICE = policy("Office", { networks: ["10.0.0.0/8"] }, { kind: "bypass" });
export const NO_ONE = policy("No one", {}, { kind: "deny" });
export const PHONES = policy("Phones", { exceptNetworks: ["10.0.0.0/8"] }, {
  kind: "challenge",
  requiredFactor: "device",
});

export interface PolicyRefusal extends Pick<RefusalBody["error"], "lastChange"> {
  readonly code: string;
  readonly message: string;
}

/** @param options.more further settings. Declare it with `await using`. */
export async function openPolicyConsole(
  role: "owner" | "user_manager" = "owner",
  { more = "", wrap }: { more?: string; wrap?: PeopleOptions["wrap"] } = {},
) {
  const site = await startConnectConsole({ toml: CLIENTS + more, wrap });
  const cookie = await site.signIn(role);
  const call = apiCaller(site, cookie);
  /** The refusal of a call; its code is "" if the call was not refused. */
  const refusal = async (
    path: string,
    options: { method: string; json: unknown },
  ): Promise<PolicyRefusal> => {
    const response = await site.call(path, { ...options, cookie });
    const { error } = await response.json() as { error?: PolicyRefusal };
    return error ?? { code: "", message: "" };
  };
  const get = () => call<PolicyPage>(POLICIES);
  const add = async (content: PolicyDraftContent, more: { position?: number; confirm?: boolean } = {}) => {
    const { version } = await get();
    return await call<PolicyPage>(POLICIES, { method: "POST", json: { version, policy: content, ...more } });
  };
  return { site, call, get, add, refusal, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}

export const policyNames = ({ policies }: PolicyPage) => policies.map(({ name }) => name);
