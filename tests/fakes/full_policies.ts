// The policies of a console with data: one for each outcome.

import type { Policy } from "../../radius/policy/policy.ts";
import type { OpenPeople } from "./console_people.ts";

export async function fillPolicies(
  people: OpenPeople,
  { user, group }: { readonly user: string; readonly group: string },
): Promise<void> {
  const policies: Policy[] = [
    {
      ...{ id: "crew", name: "Crew", enabled: true },
      conditions: { groups: [group], exceptUsers: [user], exceptNetworks: ["10.0.0.0/8"] },
      outcome: { kind: "challenge", requiredFactor: "device", rememberHours: 8 },
    },
    {
      // A policy's name has no invisible characters, and is shorter than a group's.
      ...{ id: "office", name: group.replace(/\p{Cf}/gu, "").slice(0, 100).trim(), enabled: false },
      conditions: { networks: ["10.0.0.0/8"] },
      outcome: { kind: "bypass", clientChecksPassword: true, attributes: { "Filter-Id": "office" } },
    },
    { id: "noone", name: "No one", enabled: false, conditions: {}, outcome: { kind: "deny" } },
  ];
  const done = await people.policies.registry.replace(policies, { version: 0, audit: [] });
  if (!done.ok) throw new Error(`The policies are refused: ${JSON.stringify(done)}`);
}
