// The report of shadow mode: what would refuse a login, and what to set.

import { assertEquals } from "@std/assert";
import {
  adviceOf,
  obstacleOfRequest,
  obstacleOfUser,
  type ShadowAdvice,
  type ShadowObstacle,
} from "../../../console/api/shadow/shadow_report.ts";
import { traitsOf } from "../../../radius/shadow/shadow_learner.ts";

type RequestRules = Parameters<typeof obstacleOfRequest>[1];

const RULES: RequestRules = {
  messageAuthenticator: "auto",
  eap: "relay",
  eapOuterIdentity: "refuse",
  firstFactor: "radius",
  hasNetwork: true,
};

const REQUESTS: readonly [kind: string, rules: Partial<RequestRules>, expected: ShadowObstacle | null][] = [
  ["PAP", {}, null],
  ["PAP+unsigned", {}, null],
  ["PAP", { eap: "refuse", firstFactor: "ldap" }, null],
  ["CHAP", {}, null],
  ["CHAP+unsigned", {}, "unsigned"],
  ["CHAP+unsigned", { messageAuthenticator: "off" }, null],
  ["MS-CHAPv2+unsigned", {}, "unsigned"],
  ["MS-CHAPv2+unsigned", { hasNetwork: false }, null],
  ["MS-CHAPv2+unsigned", { hasNetwork: false, messageAuthenticator: "require" }, "unsigned"],
  ["EAP-MSCHAPv2+prompted+unsigned", { messageAuthenticator: "off", hasNetwork: false }, "unsigned"],
  ["MS-CHAPv2", { firstFactor: "ldap" }, "method"],
  ["MS-CHAPv2", { eap: "refuse" }, "method"],
  ["CHAP", { eap: "gtc" }, "method"],
  ["CHAP+prompted", {}, "method"],
  ["EAP-MSCHAPv2+prompted", {}, null],
  ["EAP-MSCHAPv2+prompted", { eap: "gtc" }, "method"],
  ["EAP-MSCHAPv2+prompted", { eap: "refuse" }, "method"],
  ["EAP-GTC+prompted", { eap: "gtc" }, null],
  ["PEAP+prompted", {}, "eap_outer_identity"],
  ["PEAP+prompted+named", {}, "eap_outer_identity"],
  ["PEAP+prompted+named", { eapOuterIdentity: "reply" }, null],
  ["PEAP+prompted", { eapOuterIdentity: "reply" }, "eap_outer_identity"],
  ["EAP-TLS+prompted", { eapOuterIdentity: "trust" }, null],
  ["EAP type 99+prompted", {}, "eap_outer_identity"],
  ["no login", {}, "no_login"],
];

for (const [kind, rules, expected] of REQUESTS) {
  Deno.test(`obstacleOfRequest() of ${kind} with ${JSON.stringify(rules)} is ${expected}`, () => {
    assertEquals(obstacleOfRequest(traitsOf(kind), { ...RULES, ...rules }), expected);
  });
}

type Run = Exclude<Parameters<typeof obstacleOfUser>[0], null>;
const runOf = (end: Run["end"], row: string, more: Partial<Run> = {}): Run => ({
  ...{ end, because: null, policy: "", prompt: null, hasNumber: false },
  steps: [{ row, from: "factor", to: "reject", when: [], then: [] }],
  ...more,
});

const HELD = { isHeld: true, hasPhone: false };
const PHONE = { isHeld: true, hasPhone: true };
const PROMPTS = { isHeld: false, hasPhone: false };

const USERS: readonly [title: string, run: Run | null, of: typeof HELD, expected: ShadowObstacle | null][] = [
  ["a client that is not served", null, HELD, null],
  ["a policy that needs no factor", runOf("accept", "bypassed_after_first_factor"), HELD, null],
  ["a phone, held", runOf("sends", "device_picked"), PHONE, null],
  ["an app, held", runOf("challenge", "totp_picked"), HELD, "needs_phone"],
  ["an app, with prompts", runOf("challenge", "totp_picked"), PROMPTS, null],
  ["a verified number, held", runOf("sends", "sms_picked"), HELD, "needs_phone"],
  ["nothing", runOf("challenge", "nothing_paired"), PROMPTS, "no_factor"],
  [
    "a number of the directory, with prompts",
    runOf("challenge", "nothing_paired", { hasNumber: true }),
    PROMPTS,
    null,
  ],
  [
    "a number of the directory, held",
    runOf("challenge", "nothing_paired", { hasNumber: true }),
    HELD,
    "no_factor",
  ],
  ["a policy that requires a phone", runOf("challenge", "required_pairing"), PROMPTS, "no_factor"],
  ["a deadline that has passed", runOf("reject", "overdue"), PROMPTS, "no_factor"],
  ["a required app that is missing", runOf("reject", "needs_totp"), PROMPTS, "no_factor"],
  ["an unknown user", runOf("reject", "refused", { because: "unknown" }), PROMPTS, "unknown"],
  ["a deleted user", runOf("reject", "refused", { because: "deleted" }), PROMPTS, "unknown"],
  ["an inactive user", runOf("reject", "refused", { because: "inactive" }), PROMPTS, "inactive"],
  ["a locked user", runOf("reject", "refused", { because: "locked" }), PHONE, "locked"],
  ["a policy that denies", runOf("reject", "denied_by_policy"), PHONE, "policy"],
];

for (const [title, run, of, expected] of USERS) {
  Deno.test(`obstacleOfUser() with ${title} is ${expected}`, () =>
    assertEquals(obstacleOfUser(run, of), expected));
}

type Figures = Parameters<typeof adviceOf>[0];
const method = (name: string, prompted = 0) => ({ method: name, logins: 5, prompted, unsigned: 0, named: 0 });
const FIGURES: Figures = {
  ...{ accepted: 5, methods: [method("MS-CHAPv2")], device: "hold", holdMs: 25_000 },
  ...{ patienceMs: null, maxMs: 30_000, p95Ms: 900, unanswered: 0 },
};

const ADVICE: readonly [
  title: string,
  figures: Partial<Figures> & { readonly quietMs?: number },
  expected: readonly ShadowAdvice[],
][] = [
  ["waits long enough", {}, []],
  ["stops after 15 s", { patienceMs: 15_000 }, [
    { code: "times_out", values: { waits: 15, hold: 25, client: 40, to: 13 } },
  ]],
  ["stops after 5 s, too short for any hold", { patienceMs: 5000 }, [
    { code: "times_out", values: { waits: 5, hold: 25, client: 40 } },
  ]],
  ["stops late", { patienceMs: 60_000 }, []],
  ["got each answer in 3 s", { maxMs: 3000 }, [
    { code: "may_time_out", values: { seen: 3, hold: 25, client: 40 } },
  ]],
  ["waited 45 s once", { maxMs: 3000, quietMs: 45_000 }, []],
  ["has no login yet", { accepted: 0, methods: [], maxMs: 0 }, []],
  ["has users who need 30 s", { p95Ms: 30_000 }, [{ code: "hold_short", values: { p95: 30, hold: 25 } }]],
  ["sends PAP and shows prompts", { methods: [method("PAP", 3)] }, [{
    code: "prompts",
    values: { logins: 3 },
  }]],
  ["sends PAP and was asked nothing", { methods: [method("PAP")], device: "challenge", maxMs: 10 }, [
    { code: "no_prompts", values: { logins: 5 } },
  ]],
  ["had no answer twice", { unanswered: 2 }, [{ code: "unanswered", values: { requests: 2 } }]],
];

for (const [title, { quietMs = 0, ...figures }, expected] of ADVICE) {
  Deno.test(`adviceOf() a client that ${title}`, () => {
    assertEquals(adviceOf({ ...FIGURES, ...figures }, quietMs), expected);
  });
}
