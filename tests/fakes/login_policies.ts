// The policies of a test: none at first.

import type { LoginPolicies } from "../../radius/conversation/login_policy.ts";
import { PolicyRegistry } from "../../radius/policy/policy_registry.ts";
import { RememberedDevices, type RememberedDevicesDeps } from "../../radius/policy/remembered_devices.ts";

/** Policies and remembered devices on a store; users have no factors unless `factorIds` is given. */
export function createLoginPolicies(
  deps: Omit<RememberedDevicesDeps, "target" | "factorIds" | "isUsed"> & Partial<RememberedDevicesDeps>,
): LoginPolicies & { readonly registry: PolicyRegistry } {
  const registry = new PolicyRegistry(deps);
  const isUsed = () => registry.current.remembersDevices;
  return {
    registry,
    remembered: new RememberedDevices({ target: "default", factorIds: () => [], isUsed, ...deps }),
  };
}
