// Sentences about the present state: each row has a state before and after an act, and the sentences of System status and of "Needs attention" then.

import { assertEquals } from "@std/assert";
import type { AdminRow } from "../../console/api/api_types.ts";
import type { DropTally } from "../../radius/ports.ts";
import type { Policy } from "../../radius/policy/policy.ts";
import { isOngoing } from "../../console/api/conversations/live_routes.ts";
import type { Connect } from "../../console/api/deps.ts";
import { Health, type HealthDeps } from "../../console/api/health/health.ts";
import {
  administratorParts,
  firstFactorParts,
  mailPart,
  passwordPart,
  policyParts,
  pushParts,
  servicePart,
} from "../../console/api/health/health_parts.ts";
import type { FirstStep } from "../../console/api/onboarding/onboarding.ts";
import type { HealthPart } from "../../console/api/targets/target_types.ts";
import { sendersTitle } from "../../console/web/pages/clients/client_dialogs.tsx";
import { healthText } from "../../console/web/pages/health/health_page.tsx";
import { attentionItems } from "../../console/web/pages/overview/attention_panel.tsx";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import { createManualClock } from "../fakes/console_app.ts";

// Group: english
activateCatalogue("en", en);

const NOW = Date.UTC(2026, 10, 28, 12);
const HOUR_MS = 3_600_000;

/** The state and the sentence of each part, and what the overview lists. */
function sentences(parts: readonly HealthPart[]): string[] {
  const listed = attentionItems({ counts: null, parts, clients: [], firstSteps: [], from: "" });
  return [
    ...parts.map((part) => `${part.state}: ${healthText(part)}`),
    ...listed.map(({ text }) => `> ${text}`),
  ];
}

const bypass = (change: { enabled?: boolean; clients?: string[]; unknownUsers?: boolean } = {}) => {
  const { enabled = true, clients, unknownUsers = true } = change;
  const conditions = clients === undefined ? {} : { clients };
  return {
    id: "p",
    name: "lab",
    enabled,
    conditions,
    outcome: { kind: "bypass", unknownUsers },
  } as unknown as Policy;
};
const naming = (change = {}) => ({
  ...{ name: "vpn", unknownUsers: "allow", firstFactor: "none", stripDomains: [], stripRealms: [] } as const,
  ...change,
});
const ofPolicy = (policies: readonly Policy[], client = {}) =>
  sentences(policyParts(policies, [naming(client)]));
const POLICY =
  "warning: It accepts names outside the directory without a second factor. Such a name can be another " +
  "spelling of a user's name.";
const POLICY_ITEM = "> Policy lab accepts names outside the directory without a second factor.";
const NAMES =
  "warning: A policy accepts names outside the directory without a second factor, and domains and realms are " +
  "not removed from the names of this client. Set unknown_users to reject, or remove domains and realms.";
const NAMES_ITEM = "> At client vpn, another spelling of a user's name skips the second factor.";
const BOTH = [POLICY, NAMES, POLICY_ITEM, NAMES_ITEM];
const ONLY_POLICY = [POLICY, POLICY_ITEM];

type Client = { name: string; firstFactor: string; disabled?: boolean };
function ofPasswords(global: "none" | "directory", clients: readonly Client[]) {
  const list = clients.map((client) => ({ disabled: false, unknownUsers: "auto", ...client }));
  const port = { register: { list: () => list }, config: { radius: { anyClient: { firstFactor: global } } } };
  return sentences([passwordPart(port as unknown as Pick<Connect, "config" | "register">)]);
}
const global = { name: "vpn", firstFactor: "settings" };
const trusting = { name: "vpn", firstFactor: "none" };
const UNCHECKED =
  "Passwords: not checked. Clients: vpn. Choose a check on the client's page, or select there that the " +
  "client checks them.";
const CHECKED = ["ok: Checked for every client."];

function ofAdministrators(has: Partial<AdminRow["has"]>, change: Partial<AdminRow> = {}, isRequired = false) {
  const factors = { password: true, totp: false, passkeys: 0, recoveryCodes: 0, ...has };
  const row = { name: "ada", role: "owner", disabled: false, origin: "local", has: factors, ...change };
  return sentences(administratorParts([row as unknown as AdminRow], { isSecondFactorRequired: isRequired }));
}
const NO_FACTOR = [
  "warning: Without a second factor: ada. Set one up under Administrators, or require it with console.second_factor.",
  "> Administrators without a second factor: ada.",
];
const ONE_KEY = [
  "warning: One passkey is the only key of ada. Add a second passkey under Administrators.",
  "> One passkey is the only key of ada.",
];

function ofMail(change: Partial<ReturnType<Parameters<typeof mailPart>[0]["status"]>> = {}) {
  const status = {
    ...{ isConfigured: true, waiting: 0, failed: 0, oldestMs: null, lastSentMs: null, lastProblem: null },
    ...{ pausedUntilMs: null, ...change },
  };
  const mail = { status: () => status, config: { mail: { host: "mail.example.com" } } };
  return sentences([mailPart(mail as unknown as Parameters<typeof mailPart>[0], NOW)]);
}
const MAIL_OFF = ["off: No mail server is configured."];

function ofPush(change: Partial<Parameters<typeof pushParts>[0]> = {}, publicUrl = "https://id.example.com") {
  const counts = { ended: 0, inProgress: 0, accepted: 0, failed: 0, hosts: [] };
  return sentences(
    pushParts({ isEnabled: true, hasKey: true, subscribed: 0, ...counts, ...change }, publicUrl),
  );
}

function ofTelephony(url: string, tested: Parameters<typeof servicePart>[1]["tested"] = null) {
  return sentences([servicePart("telephony", { url, publicUrl: "", tested, nowMs: NOW })]);
}
const ofPhones = (publicUrl: string) =>
  sentences([servicePart("second_factor", { url: "", publicUrl, tested: null, nowMs: NOW })]);
const SMS = "https://sms.example.com";

const ofServer = (state: "unknown" | "answers" | "down" | "all_down", fault = "") =>
  sentences(
    firstFactorParts([{ server: "192.0.2.20:1812", client: "vpn", lastAnswerMs: NOW, state, fault }]),
  );
const SILENT = "an answer is not signed with this shared secret";

function ofSteps(...steps: [FirstStep["name"], FirstStep["state"]][]) {
  const radius = { port: 1812, tryCommand: "deno task try 127.0.0.1" };
  const rest = { radius, user: null, nasIdentifier: "", isPasswordUnchecked: true };
  const firstSteps = steps.map(([name, state]) => ({ name, state, ...rest }));
  return attentionItems({ counts: null, parts: [], clients: [], firstSteps, from: "" }).map(({ text }) =>
    text
  );
}

const tally = (change: Partial<DropTally> = {}): DropTally => ({
  ...{ reason: "wrong_message_authenticator", source: "192.0.2.9", client: "vpn", count: 3 },
  ...{ firstMs: NOW - HOUR_MS, lastMs: NOW - 60_000, ...change },
});
const lists = (change: Partial<DropTally>, clients: readonly string[] | null) =>
  isOngoing(tally(change), { nowMs: NOW, clients }) ? ["ongoing"] : [];

/** The part and the act; the sentences before and after, with those that are expected. */
const ROWS: readonly (readonly [act: string, before: [string[], string[]], after: [string[], string[]]])[] = [
  ["policy: disable it", [ofPolicy([bypass()]), BOTH], [ofPolicy([bypass({ enabled: false })]), []]],
  ["policy: remove it", [ofPolicy([bypass()]), BOTH], [ofPolicy([]), []]],
  ["policy: limit it to users", [ofPolicy([bypass()]), BOTH], [
    ofPolicy([bypass({ unknownUsers: false })]),
    [],
  ]],
  ["client names: another client in the policy", [ofPolicy([bypass({ clients: ["vpn"] })]), BOTH], [
    ofPolicy([bypass({ clients: ["wifi"] })]),
    ONLY_POLICY,
  ]],
  ["client names: reject unknown users", [ofPolicy([bypass()]), BOTH], [
    ofPolicy([bypass()], { unknownUsers: "reject" }),
    ONLY_POLICY,
  ]],
  ["client names: remove realms", [ofPolicy([bypass()]), BOTH], [
    ofPolicy([bypass()], { stripRealms: ["example.com"] }),
    ONLY_POLICY,
  ]],
  ["passwords: add the first client", [ofPasswords("none", []), [
    "warning: Passwords: not checked. No client is configured, so every address is served.",
    "> Passwords: not checked, and every address is served.",
  ]], [ofPasswords("none", [global]), [`warning: ${UNCHECKED}`, "> Passwords: not checked for vpn."]]],
  ["passwords: add more clients than are named", [ofPasswords("none", [global]), [
    `warning: ${UNCHECKED}`,
    "> Passwords: not checked for vpn.",
  ]], [ofPasswords("none", ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({ ...global, name }))), [
    `warning: ${UNCHECKED.replace("vpn", "a, b, c, d, e, +2")}`,
    "> Passwords: not checked for a, b, c, d, e, +2.",
  ]]],
  ["passwords: the client checks them", [ofPasswords("none", [global]), [
    `warning: ${UNCHECKED}`,
    "> Passwords: not checked for vpn.",
  ]], [ofPasswords("none", [trusting]), [`off: ${UNCHECKED}`]]],
  ["passwords: check them", [ofPasswords("none", [trusting]), [`off: ${UNCHECKED}`]], [
    ofPasswords("directory", [global]),
    CHECKED,
  ]],
  ["passwords: disable the client", [ofPasswords("none", [trusting]), [`off: ${UNCHECKED}`]], [
    ofPasswords("none", [{ ...trusting, disabled: true }]),
    CHECKED,
  ]],
  ["administrators: require a factor", [ofAdministrators({}), NO_FACTOR], [ofAdministrators({}, {}, true), [
    "warning: Must set up a second factor at the next sign-in: ada.",
    "> These administrators have no second factor yet: ada.",
  ]]],
  ["administrators: add an app", [ofAdministrators({}), NO_FACTOR], [ofAdministrators({ totp: true }), []]],
  ["administrators: disable the account", [ofAdministrators({}), NO_FACTOR], [
    ofAdministrators({}, { disabled: true }),
    [],
  ]],
  ["administrators: add a second passkey", [ofAdministrators({ password: false, passkeys: 1 }), ONE_KEY], [
    ofAdministrators({ password: false, passkeys: 2 }),
    [],
  ]],
  ["mail: set a server", [ofMail({ isConfigured: false }), MAIL_OFF], [ofMail(), ["unknown: 0 mails wait"]]],
  ["mail: remove the server after a problem", [
    ofMail({ lastProblem: { code: "sign_in", detail: "535 refused", atMs: NOW } as never }),
    ["bad: 535 refused", "> Mails cannot be sent. 535 refused"],
  ], [
    ofMail({ isConfigured: false, lastProblem: { code: "sign_in", detail: "", atMs: NOW } as never }),
    MAIL_OFF,
  ]],
  ["mail: the server works again", [ofMail({ waiting: 2, oldestMs: NOW - 2 * HOUR_MS }), [
    "warning: Mails wait for more than an hour. See the Mail page.",
    "> Mails wait for more than an hour.",
  ]], [ofMail({ lastSentMs: NOW }), ["ok: 0 mails wait"]]],
  ["push: turn it on", [ofPush({ isEnabled: false }), [
    "off: Off: push.enabled is false. Phones show requests only while their page is open.",
  ]], [ofPush(), ["unknown: Ready. No phone has turned notifications on yet."]]],
  ["push: set an address for phones", [ofPush({}, "http://localhost:8080"), [
    "off: Only a browser on this host can use it. Phones need an https address: set http.public_url.",
  ]], [ofPush({ subscribed: 1 }), ["ok: 1 phone receives notifications"]]],
  ["push: the last phone turns it off", [ofPush({ subscribed: 1 }), ["ok: 1 phone receives notifications"]], [
    ofPush(),
    ["unknown: Ready. No phone has turned notifications on yet."],
  ]],
  ["telephony: set a service", [ofTelephony(""), [
    "off: Built-in outbox: SMS and calls are captured, not sent. Set telephony.url.",
    "> SMS and calls are captured, not sent: no telephony service is configured.",
  ]], [ofTelephony(SMS), ["unknown: "]]],
  ["telephony: it answers again", [ofTelephony(SMS, { lastGoodMs: null, problem: "timeout" }), [
    "bad: timeout",
    "> The telephony service fails. timeout",
  ]], [ofTelephony(SMS, { lastGoodMs: NOW, problem: null }), ["ok: "]]],
  ["first-factor server: another one answers", [ofServer("all_down", SILENT), [
    `bad: no server answers: ${SILENT}`,
    `> The first-factor server 192.0.2.20:1812 fails: no server answers: ${SILENT}`,
  ]], [ofServer("down"), [
    "warning: it does not answer",
    "> The first-factor server 192.0.2.20:1812 fails: it does not answer",
  ]]],
  ["first-factor server: it answers", [ofServer("unknown"), ["unknown: "]], [ofServer("answers"), ["ok: "]]],
  ["second factor: set an address for phones", [ofPhones("http://127.0.0.1:8080"), [
    "warning: Phones can't reach this address. Set http.public_url.",
    "> Phones can't reach http://127.0.0.1:8080. Set http.public_url to an address that phones can open.",
  ]], [ofPhones("https://id.example.com"), ["ok: built in"]]],
  [
    "first run: test a sign-in",
    [ofSteps(["client", "done"], ["login", "open"]), ["Setup: test a sign-in."]],
    [
      ofSteps(["client", "done"], ["login", "done"]),
      [],
    ],
  ],
  ["first run: choose the check of passwords", [ofSteps(["password", "open"]), [
    "Choose how passwords are checked.",
  ]], [
    ofSteps(["password", "skipped"]),
    [],
  ]],
  ["client: its first packets", [[sendersTitle(0)], ["Waiting for the first packet"]], [[sendersTitle(2)], [
    "2 senders",
  ]]],
  ["dropped packets: correct the secret, and ten minutes", [lists({}, ["vpn"]), ["ongoing"]], [
    lists({ lastMs: NOW - 600_000 }, ["vpn"]),
    [],
  ]],
  ["dropped packets: remove the client", [lists({}, ["vpn", "wifi"]), ["ongoing"]], [lists({}, null), []]],
  ["dropped packets: give its address to another client", [lists({}, ["vpn"]), ["ongoing"]], [
    lists({}, ["wifi"]),
    [],
  ]],
  ["dropped packets: add the unknown client", [
    lists({ reason: "unknown_client", client: null }, null),
    ["ongoing"],
  ], [lists({ reason: "unknown_client", client: null }, ["vpn"]), []]],
];

for (const [act, before, after] of ROWS) {
  Deno.test(`a sentence is about the present state: ${act}`, () => {
    assertEquals(before[0], before[1], "before");
    assertEquals(after[0], after[1], "after");
  });
}

Deno.test("a failed test of the telephony service does not apply to another address", async () => {
  const telephony = { url: SMS };
  const config = {
    ...{ telephony, secondFactor: { url: "" }, http: { tls: null, publicUrl: "" } },
    radius: { anyClient: { firstFactor: "directory" } },
  };
  const port = {
    ...{ config, targets: { names: [] }, listening: { radius: [], http: "" } },
    register: { list: () => [], unsigned: () => [] },
    firstFactorServers: { status: () => [] },
    probeTelephony: () => Promise.resolve({ ok: false, detail: "refused" }),
  };
  const store = { get: () => Promise.resolve(null), lastAnswerMs: () => 0 };
  const deps = { store, clock: createManualClock(NOW) } as unknown as HealthDeps;
  const health = new Health(deps, port as unknown as Connect);
  const telephonyPart = async () =>
    sentences((await health.parts()).filter(({ kind }) => kind === "telephony"));
  await health.test("telephony");
  assertEquals(await telephonyPart(), ["bad: refused", "> The telephony service fails. refused"]);
  telephony.url = "https://other.example.com";
  assertEquals(await telephonyPart(), ["unknown: "]);
});
