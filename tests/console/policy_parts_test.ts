// Policies that accept names outside the directory without a second factor: the warnings of System status and of check-config.

import { assertEquals } from "@std/assert";
import { policyWarnings } from "../../cli/check_stored_settings.ts";
import type { Connect } from "../../console/api/deps.ts";
import { Health, type HealthDeps } from "../../console/api/health/health.ts";
import { outerIdentityParts, policyParts } from "../../console/api/health/health_parts.ts";
import type { Policy } from "../../radius/policy/policy.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { BYPASS, DENY, policiesOf, type ShortPolicy } from "../radius/policies/policy_sample.ts";

const OPEN = { kind: "bypass", unknownUsers: true } as const;
const CLIENT = {
  unknownUsers: "allow",
  firstFactor: "none",
  stripDomains: [],
  stripRealms: [],
} as const;
const CLIENTS = [
  { ...CLIENT, name: "vpn" },
  { ...CLIENT, name: "rejecting", unknownUsers: "reject" as const },
  { ...CLIENT, name: "stripping", stripRealms: ["example.org"] },
  { ...CLIENT, name: "wifi" },
  { ...CLIENT, name: "checked", unknownUsers: "auto" as const, firstFactor: "directory" },
];

for (const global of ["none", "directory"] as const) {
  Deno.test(`System status judges a client that uses the global first factor by it: ${global}`, async () => {
    const client = { ...CLIENT, name: "vpn", unknownUsers: "auto", firstFactor: "settings", disabled: false };
    const list = { policies: policiesOf([[{}, OPEN]]) };
    const limits = { figures: () => ({}), alarms: () => [] };
    const people = { policies: { registry: { list } }, limits, factors: { sends: {}, lockout: {} } };
    const port = {
      config: {
        ...{ telephony: { url: "" }, secondFactor: { url: "" }, http: { tls: null, publicUrl: "" } },
        radius: { anyClient: { firstFactor: global } },
      },
      ...{ targets: { names: [] }, listening: { radius: [], http: "" } },
      register: { list: () => [client], unsigned: () => [] },
      firstFactorServers: { status: () => [] },
    };
    const store = { get: () => Promise.resolve(null), lastAnswerMs: () => 0 };
    const deps = { store, people, clock: createManualClock(0) } as unknown as HealthDeps;
    const ids = (await new Health(deps, port as unknown as Connect).parts()).map(({ id }) => id);
    assertEquals(ids.includes("policy:policy0"), true);
    assertEquals(ids.includes("client_names:vpn"), global === "none");
  });
}

const ROWS: readonly (readonly [string, ShortPolicy, string[]])[] = [
  ["for every client", [{}, OPEN], ["policy:policy0", "client_names:vpn", "client_names:wifi"]],
  ["for one client", [{ clients: ["vpn"] }, OPEN], ["policy:policy0", "client_names:vpn"]],
  ["disabled", [{}, OPEN, { enabled: false }], []],
  ["without the flag", [{}, BYPASS], []],
  ["that denies", [{}, DENY], []],
];

for (const [what, short, expected] of ROWS) {
  Deno.test(`System status and check-config warn about names outside the directory: a policy ${what}`, () => {
    const policies: Policy[] = policiesOf([short]);
    assertEquals(policyParts(policies, CLIENTS).map(({ id }) => id), expected);
    assertEquals(policyWarnings(policies).join().includes('policy "policy 0"'), expected.length > 0);
  });
}

Deno.test("System status warns about each client that takes the outer identity, or what may be it, for the user", () => {
  const client = (name: string, eapOuterIdentity: string, { firstFactor = "radius", eap = "auto" } = {}) => ({
    ...{ name, eapOuterIdentity, firstFactor, eap },
  });
  const clients = [
    client("a", "trust"),
    client("b", "reply"),
    client("c", "refuse"),
    client("d", "trust", { firstFactor: "none" }),
    client("e", "reply", { eap: "gtc" }),
  ];
  assertEquals(outerIdentityParts(clients).map(({ name, note, state }) => [name, note, state]), [
    ["a", "outer_identity", "warning"],
    ["b", "outer_identity_reply", "warning"],
  ]);
});
