// The health of policies: those that accept names outside the directory without a second factor, and the clients where such a name can be another
// spelling of a user's name.

import type { Policy } from "../../../radius/policy/policy.ts";
import { rejectsUnknownUsers } from "../../../radius/protocol/login_input.ts";
import type { HealthPart } from "../targets/target_types.ts";

const MAX_PARTS = 50;
const PART = { state: "warning", figure: null, lastGoodMs: null, detail: "", testable: false } as const;

interface NamingClient {
  readonly name: string;
  readonly unknownUsers: "auto" | "allow" | "reject";
  readonly firstFactor: string;
  readonly stripDomains: readonly string[];
  readonly stripRealms: readonly string[];
}

/** Nothing if no enabled policy accepts such names. */
export function policyParts(policies: readonly Policy[], clients: readonly NamingClient[]): HealthPart[] {
  const accepting = policies.filter(({ enabled, outcome }) =>
    enabled && outcome.kind === "bypass" && outcome.unknownUsers === true
  );
  const open = clients.filter((client) =>
    !rejectsUnknownUsers(client) && client.stripDomains.length === 0 && client.stripRealms.length === 0 &&
    accepting.some(({ conditions }) => conditions.clients?.includes(client.name) ?? true)
  );
  return [
    ...accepting.slice(0, MAX_PARTS).map(({ id, name }): HealthPart => ({
      ...{ ...PART, id: `policy:${id}`, kind: "policy", name, note: "unknown_users" },
    })),
    ...open.slice(0, MAX_PARTS).map(({ name }): HealthPart => ({
      ...{ ...PART, id: `client_names:${name}`, kind: "client_names", name, note: "other_names" },
    })),
  ];
}
