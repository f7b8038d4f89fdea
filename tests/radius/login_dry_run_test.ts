// Dry runs of logins: the rows that each kind of login would take, without any effect.

import { assertEquals } from "@std/assert";
import { createClients } from "../../radius/server/clients.ts";
import { Limits } from "../../radius/factors/limits.ts";
import { createLoginPolicies } from "../fakes/login_policies.ts";
import { createLoginDryRun, type DryRunRequest } from "../../radius/conversation/login_dry_run.ts";
import { EnrolmentMarks, FactorMarks } from "../../radius/factors/own_factors.ts";
import { SentPasscodes } from "../../radius/factors/sent_passcodes.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import { PolicyEvaluator } from "../../radius/policy/evaluator.ts";
import type { Policy } from "../../radius/policy/policy.ts";
import { HardwareTokens } from "../../radius/tokens/hardware_tokens.ts";
import { BypassCodeStore } from "../../radius/factors/bypass_codes.ts";
import { RecoveryCodeStore } from "../../radius/factors/recovery_codes.ts";
import type { DirectoryUser } from "../../radius/ports.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { configOf } from "../platform/config/samples.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

interface Case {
  readonly says: string;
  /** Settings of the only client. */
  readonly client?: string;
  readonly status?: DirectoryUser["status"];
  readonly pairings?: readonly NewPairing[];
  readonly request?: Partial<DryRunRequest>;
  readonly policies?: readonly Policy[];
  readonly expect: readonly [end: string, lastRow: string | undefined, because?: string];
  /** Default: no policy applies. */
  readonly policy?: string | null;
}

const policy = (name: string, conditions: Policy["conditions"], outcome: Policy["outcome"]): Policy => ({
  ...{ id: name, name, enabled: true, conditions, outcome },
});
const POLICIES = [
  policy("Office", { networks: ["10.0.0.0/8"] }, { kind: "bypass" }),
  policy("No Bob", { users: ["bob"] }, { kind: "deny" }),
];

const DEVICE: NewPairing = { kind: "device", id: "d1", totpLength: 6 };
const SMS: NewPairing = { kind: "sms", number: "+4915112345678" };

const SERVER = 'first_factor = "radius"\nfirst_factor_server = { address = "192.0.2.20:1812", secret = "s" }';

const CASES: readonly Case[] = [
  { says: "a user without factors gets the menu", expect: ["challenge", "nothing_paired"] },
  { says: "a phone would be asked", pairings: [DEVICE], expect: ["sends", "device_picked"] },
  { says: "a text would be sent", pairings: [SMS], expect: ["sends", "sms_picked"] },
  {
    says: "an empty password gets the menu",
    pairings: [DEVICE],
    request: { password: "empty" },
    expect: ["challenge", "empty_password"],
  },
  {
    says: "who is deactivated is rejected, before any policy",
    status: "inactive",
    policies: POLICIES,
    expect: ["reject", "refused", "inactive"],
    policy: null,
  },
  {
    says: "who was deleted is rejected",
    status: "deleted",
    expect: ["reject", "refused", "deleted"],
    policy: null,
  },
  {
    says: "no policy applies without an address",
    policies: POLICIES,
    pairings: [DEVICE],
    expect: ["sends", "device_picked"],
  },
  {
    says: "a policy denies",
    policies: POLICIES,
    request: { user: "Bob" },
    expect: ["reject", "denied_by_policy"],
    policy: "No Bob",
  },
  {
    says: "an unknown user is rejected where the client says so",
    client: 'unknown_users = "reject"',
    status: "unknown",
    expect: ["reject", "refused", "unknown"],
    policy: null,
  },
  { says: "an unknown user goes on elsewhere", status: "unknown", expect: ["challenge", "nothing_paired"] },
  {
    says: "a wrong first factor ends it",
    client: 'first_factor = "directory"',
    pairings: [DEVICE],
    request: { password: "wrong" },
    expect: ["reject", "first_factor_wrong"],
  },
  {
    says: "a right first factor leads to the phone",
    client: 'first_factor = "directory"',
    pairings: [DEVICE],
    expect: ["sends", "device_picked"],
  },
  {
    says: "what is appended chooses",
    client: "append_mode = true",
    pairings: [DEVICE, SMS],
    request: { appended: "sms" },
    expect: ["sends", "appended_sms"],
  },
  {
    says: "what is appended and not there is refused",
    client: "append_mode = true",
    pairings: [DEVICE],
    request: { appended: "call" },
    expect: ["reject", "appended_unusable"],
  },
  {
    says: "MS-CHAPv2 with the right password holds a push, also if something could be appended",
    client: `append_mode = true\n${SERVER}`,
    pairings: [DEVICE, SMS],
    request: { method: "mschapv2", appended: "sms" },
    expect: ["sends", "relayed_device"],
  },
  {
    says: "MS-CHAPv2 without a phone is rejected, because no prompt can follow",
    client: SERVER,
    pairings: [SMS],
    request: { method: "mschapv2" },
    expect: ["reject", "relayed_no_device"],
  },
  {
    says: "MS-CHAPv2 with a wrong password ends it",
    client: SERVER,
    pairings: [DEVICE],
    request: { method: "mschapv2", password: "wrong" },
    expect: ["reject", "first_factor_wrong"],
    policy: null,
  },
  {
    says: "MS-CHAPv2 is refused where no first-factor server is set",
    client: 'first_factor = "directory"',
    request: { method: "mschapv2" },
    expect: ["reject", undefined, "chap"],
    policy: null,
  },
  {
    says: "EAP-GTC follows the flow of a password",
    client: 'first_factor = "directory"\neap = "gtc"',
    pairings: [DEVICE],
    request: { method: "eap_gtc" },
    expect: ["sends", "device_picked"],
  },
  {
    says: "EAP-GTC without a first factor begins with the menu",
    client: 'eap = "gtc"',
    pairings: [DEVICE],
    request: { method: "eap_gtc" },
    expect: ["challenge", "empty_password"],
  },
  {
    says: "EAP-GTC is refused where it is not set",
    client: SERVER,
    request: { method: "eap_gtc" },
    expect: ["reject", undefined, "eap"],
    policy: null,
  },
];

for (const one of CASES) {
  const { says, client = "", status = "active", pairings: given = [], policies = [], request, expect } = one;
  Deno.test(`createLoginDryRun(): ${says}`, async () => {
    const toml =
      `[[radius.client]]\nname = "vpn"\naddress = ["127.0.0.1"]\nsecret = "a secret of a trial"\n${client}\n`;
    const { radius, factors } = configOf(toml);
    const clock = createManualClock();
    const random = createSystemRandom();
    const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
    const vault = createVault(new Uint8Array(32).fill(7), random);
    const pairings = new Pairings({ store, vault, clock, random, target: "default" });
    for (const pairing of given) {
      pairings.adopt(pairings.prepare({ canonical: "ada", shown: "ada" }, pairing).pairing);
    }
    const clients = createClients({
      settings: radius.clients,
      anyClient: radius.anyClient,
      anySecret: "a secret of any client",
    });
    const trials = createLoginDryRun({
      settings: factors,
      enabled: () => new Set(factors.enabled),
      directory: {
        prepare: () => null,
        lookUp: (name) => ({ status, name, phoneNumbers: [], groups: [] }),
      },
      pairings,
      policies: {
        ...createLoginPolicies({ store, vault, clock, random }),
        registry: { current: new PolicyEvaluator(policies) },
      },
      enrolment: new EnrolmentMarks({ store, target: "default" }),
      sentPasscodes: new SentPasscodes({ store, clock, vault }),
      factorMarks: new FactorMarks({ store, target: "default", recordIdOf: () => null }),
      hasOpenInvitation: () => false,
      limits: new Limits({ store, clock, settings: factors }),
      hardwareTokens: new HardwareTokens({ store, vault, clock, random, target: "default" }),
      bypassCodes: new BypassCodeStore({ store, vault, clock, random, target: "default" }),
      recoveryCodes: new RecoveryCodeStore({
        store,
        vault,
        clock,
        random: createSystemRandom(),
        target: "default",
      }),
      ...{ clock, store, vault },
    }, () => clients.all);
    assertEquals(trials.clients(), ["vpn"]);
    const asked = {
      client: "vpn",
      user: "Ada",
      method: "pap",
      password: "right",
      appended: null,
      ...request,
    } as const;
    const trial = await trials.run(asked);
    const [end, row, because = null] = expect;
    assertEquals([trial?.end, trial?.steps.at(-1)?.row, trial?.because], [end, row, because]);
    assertEquals(trial?.policy, one.policy === undefined ? "" : one.policy);
    assertEquals(await trials.run({ ...asked, client: "other" }), null);
    const kept = await Array.fromAsync(store.list([]));
    assertEquals(kept, [], "nothing was recorded");
    await store.close();
  });
}
