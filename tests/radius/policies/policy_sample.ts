// Policies of a test, in short.

import type { Policy, PolicyConditions, PolicyOutcome } from "../../../radius/policy/policy.ts";
import type { PolicyRegistry } from "../../../radius/policy/policy_registry.ts";

/** `if` and `then` of a policy; the name follows from the position. */
export type ShortPolicy = readonly [
  conditions: PolicyConditions,
  outcome: PolicyOutcome,
  more?: Partial<Policy>,
];

export const DENY: PolicyOutcome = { kind: "deny" };
export const BYPASS: PolicyOutcome = { kind: "bypass" };
export const TRUSTED: PolicyOutcome = { kind: "bypass", clientChecksPassword: true };
export const CHALLENGE: PolicyOutcome = { kind: "challenge" };

export function policiesOf(short: readonly ShortPolicy[]): Policy[] {
  return short.map(([conditions, outcome, more], at) => ({
    id: `policy${at}`,
    name: `policy ${at}`,
    enabled: true,
    ...{ conditions, outcome },
    ...more,
  }));
}

/** Stores policies instead of those before. */
export async function storePolicies(registry: PolicyRegistry, short: readonly ShortPolicy[]): Promise<void> {
  const { version } = registry.list;
  const done = await registry.replace(policiesOf(short), { version, audit: [] });
  if (!done.ok) throw new Error(`The policies of the test are refused: ${JSON.stringify(done)}`);
}
