// The cost of a policy decision: deno bench -A --lock=tests/deno.lock tests/bench/policy_decision.ts

import { PolicyEvaluator, type PolicySubject } from "../../radius/policy/evaluator.ts";
import type { PolicyConditions } from "../../radius/policy/policy.ts";
import { DENY, policiesOf } from "../radius/policies/policy_sample.ts";

const COUNT = 100;
const TIMES = [{ days: ["sun"], from: "00:00", to: "01:00", zone: "Europe/Berlin" }] as const;
/** Conditions that do not hold for {@link subject}; most of them are checked after others that hold. */
const CONDITIONS: readonly ((at: number) => PolicyConditions)[] = [
  (at) => ({ groups: [`contractors ${at}`, `guests ${at}`] }),
  (at) => ({
    clients: ["vpn"],
    exceptGroups: [`staff ${at}`],
    networks: [`192.0.${at}.0/24`, "2001:db8::/32"],
  }),
  () => ({ groups: ["group 1"], times: [...TIMES] }),
  () => ({ exceptUsers: ["bob"], exceptNetworks: ["10.0.0.0/8"] }),
  (at) => ({ users: [`user ${at}`, `other ${at}`] }),
  () => ({ networks: ["10.0.0.0/8"], device: ["no_factor"] }),
];

const evaluator = new PolicyEvaluator(
  policiesOf(
    Array.from({ length: COUNT }, (_, at) => [CONDITIONS[at % CONDITIONS.length]?.(at) ?? {}, DENY]),
  ),
);
const subject: PolicySubject = {
  user: "ada",
  groups: Array.from({ length: 5 }, (_, at) => `group ${at}`),
  client: "vpn",
  address: "10.1.2.3",
  atMs: Date.UTC(2027, 0, 15, 8),
  hasFactor: true,
  neverHadFactor: false,
  isRemembered: false,
  isKnown: true,
};
const other: PolicySubject = { ...subject, user: "eve", address: "10.3.2.1" };
const none = new PolicyEvaluator([]);
let turn = false;

Deno.bench(`decide(): ${COUNT} policies, none applies`, () => {
  turn = !turn;
  if (evaluator.decide(turn ? subject : other) !== null) throw new Error("A policy applies");
});

Deno.bench("decide(): no policies", () => {
  none.decide(subject);
});
