// A console with ten thousand users and all kinds of data, for screenshots and measurements of every page.

import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import type { Factor } from "../../radius/flow/context.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import type { Policy } from "../../radius/policy/policy.ts";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { type ConsoleProgram, startConsoleProgram } from "../e2e/console_program.ts";
import { createOktaClient, type OktaClient } from "../fakes/okta_client.ts";
import { type ProviderUser, ProvisioningFault } from "../fakes/scim_caller.ts";
import { createDraw } from "../bench/identity/generator.ts";
import { attributesOf, personAt } from "../bench/identity/people.ts";
import { openRadiusClient, type RadiusClient } from "../support/radius_client.ts";
import { totpCode } from "../support/totp.ts";

// Identity providers of the large organization: Okta with a day of requests, Entra ID in a dry run, and a paused one.

/** The connection whose page is shown. */
export const TOWN_CONNECTION = "okta-workforce";

const CONNECTIONS = [
  { name: TOWN_CONNECTION, kind: "okta" },
  { name: "entra-contractors", kind: "entra", dryRun: true },
  { name: "payroll", kind: "other", paused: true },
] as const;

const NEW_USERS: readonly (readonly [given: string, family: string])[] = [
  ["Ingrid", "Thorvaldsen"],
  ["Chukwuemeka", "Okonkwo-Adeyemi"],
  ["Maria", "dos Santos"],
  ["Łukasz", "Wiśniewski"],
  ["Siobhán", "Ní Dhomhnaill"],
];

function providerUser([givenName, familyName]: readonly [string, string], at: number): ProviderUser {
  const userName = `new.user.${at}@corp.example.org`;
  return { key: `00u${at}`, userName, givenName, familyName, email: userName };
}

/** @param call calls the console as an owner. @param existing users that an administrator created. */
export async function connectProviders(
  program: ConsoleProgram,
  call: (method: string, path: string, json: unknown) => Promise<string>,
  existing: readonly string[],
): Promise<void> {
  for (const { name, kind, ...change } of CONNECTIONS) {
    const secret = { kind: "token", days: name === "payroll" ? 9 : 365 };
    const answer = await call("POST", "/connections", { name, kind, target: "default", secret, ...change });
    if (name !== "payroll") await provision(program, JSON.parse(answer).secret.text, existing);
  }
}

async function provision(program: ConsoleProgram, token: string, existing: readonly string[]): Promise<void> {
  const okta = createOktaClient({
    baseUrl: `${program.origin}/scim/v2/default`,
    authorization: () => `Bearer ${token}`,
  });
  await okta.testCredentials();
  for (const [at, person] of NEW_USERS.entries()) {
    await whileRefused(okta.assignUser(providerUser(person, at)));
  }
  for (const [at, userName] of existing.entries()) {
    await whileRefused(takeOver(okta, { ...providerUser(["Existing", "User"], 100 + at), userName }));
  }
}

async function takeOver(okta: OktaClient, user: ProviderUser): Promise<void> {
  await okta.updateUser(await okta.assignUser(user), user);
}

/** A refusal is what these screenshots show: 409 until an administrator accepts the match. */
async function whileRefused(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (fault) {
    if (!(fault instanceof ProvisioningFault)) throw fault;
  }
}

// A gateway of a large organization, for the screenshots of every page: the real program with 10,000 users, 30 days of
// sign-ins, and sign-ins in progress.

export const TOWN_USERS = 10_000;
const PAST_LOGINS = 9000;
const DAY_MS = 24 * 3_600_000;
const SEED = Uint8Array.fromHex("3132333435363738393031323334353637383930");
const SECRET = "a secret of the screenshots";
const PER_COMMIT = 400;
const LIVE_EVERY_MS = 120;

/** Names that are longer than most columns. */
const LONG_NAMES = [
  "maximiliane.freifrau-von-und-zu-hohenlohe-langenburg@contractors.example.org",
  "wolfeschlegelsteinhausenbergerdorff.hubert.blaine",
  "ariadne.papadopoulou-konstantinidou@partner.example.net",
] as const;

/** The user whose page is shown. */
export const TOWN_USER = LONG_NAMES[0];
/** The group whose page is shown. */
export const TOWN_GROUP = "remote-access-contractors";

const CLIENTS = ["vpn-frankfurt", "vpn-singapore", "wifi-controller-building-7", "citrix-gateway"] as const;
const SETTINGS = `
[server]
log_level = "warn"
[factors.lockout]
failures = 3
${
  CLIENTS.map((name) =>
    `[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "${SECRET}"
`
  ).join("")
}
[radius.reply.group.${TOWN_GROUP}]
"Filter-Id" = "contractors"
"Session-Timeout" = 28800
[targets.default]
[targets.default.backends.local]
kind = "store"
[targets.contractors.backends.local]
kind = "store"
[targets.contractors.backends.hr-portal]
kind = "scim"
mode = "async"
url = "http://127.0.0.1:9/scim/v2"
token = "a token of the screenshots"
`;

export interface LargeTown extends AsyncDisposable {
  readonly program: ConsoleProgram;
  /** Rejects if a sign-in gets no reply. */
  readonly traffic: Promise<void>;
}

const nameOf = (index: number): string => LONG_NAMES[index] ?? personAt(index).userName;
const draw = createDraw(7);

/** Starts the program on a new data directory with all data. Takes about 20 s. */
export async function startLargeTown(report: (line: string) => void): Promise<LargeTown> {
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-screens-" });
  report("writing factors and past sign-ins");
  await writePast(dataDir);
  const program = await startConsoleProgram({ toml: SETTINGS, dataDir });
  report(`importing ${TOWN_USERS} users`);
  await importUsers(program);
  await changeThings(program);
  const stop = new AbortController();
  const traffic = signInEndlessly(program, stop.signal);
  return {
    program,
    traffic,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await traffic;
      await program.dispose();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

/** The factors of a user: most have a phone, some have nothing. */
function factorsOf(index: number): NewPairing[] {
  const id = String(index).padStart(6, "0");
  const phone: NewPairing = {
    kind: "device",
    id: `phone-${id}`,
    totpLength: 6,
    name: "Pixel of the company",
  };
  const app: NewPairing = { kind: "totp", seed: SEED };
  const text: NewPairing = { kind: "sms", number: `+49151${id}00` };
  switch (index % 8) {
    case 0:
      return [phone, app, text];
    case 1:
    case 2:
    case 3:
      return [app];
    case 4:
      return [text];
    case 5:
    case 6:
      return [phone];
    default:
      return [];
  }
}

async function writePast(dataDir: string): Promise<void> {
  const random = createSystemRandom();
  const { store, vault, close } = await openDataDir(dataDir, { random, masterKeyHex: "" });
  const pairings = new Pairings({ store, vault, clock: systemClock, random, target: "default" });
  const mutations = [
    ...Array.from({ length: TOWN_USERS }, (_, index) => {
      const name = nameOf(index);
      return factorsOf(index).map((one) => pairings.prepare({ canonical: name, shown: name }, one).mutation);
    }).flat(),
    ...Array.from({ length: PAST_LOGINS }, (_, at) => pastLogin(at)),
  ];
  for (let from = 0; from < mutations.length; from += PER_COMMIT) {
    await store.commit({ mutations: mutations.slice(from, from + PER_COMMIT) });
  }
  await close();
}

interface End {
  readonly factor: Factor | null;
  readonly outcome: "accepted" | "rejected" | "expired";
  readonly row: string;
  readonly afterMs: number;
  readonly refusedFor?: string;
}
const ENDS: readonly End[] = [
  { factor: "device", outcome: "accepted", row: "approved", afterMs: 6100 },
  { factor: "device", outcome: "accepted", row: "approved", afterMs: 4200 },
  { factor: "totp", outcome: "accepted", row: "totp_right", afterMs: 9800 },
  { factor: "totp", outcome: "accepted", row: "totp_right", afterMs: 7300 },
  { factor: "sms", outcome: "accepted", row: "text_code_right", afterMs: 14_200 },
  { factor: "totp", outcome: "rejected", row: "code_wrong", afterMs: 11_900 },
  { factor: "device", outcome: "rejected", row: "not_approved", afterMs: 8900 },
  { factor: null, outcome: "rejected", row: "refused", afterMs: 4, refusedFor: "locked" },
  { factor: null, outcome: "expired", row: "expired", afterMs: 300_000 },
];

/** One of the last 30 days, most of them in office hours. */
function pastLogin(at: number) {
  const day = at % 3 === 0 ? 0 : draw(30);
  const hour = 7 + Math.floor((draw(6) + draw(6) + draw(3)) / 1.2);
  const agoMs = Math.max(400_000, day * DAY_MS + (DAY_MS - hour * 3_600_000) % DAY_MS + draw(3_600_000));
  const startedMs = Date.now() - agoMs;
  const end = ENDS[draw(100) < 88 ? draw(5) : 5 + draw(4)] ?? ENDS[0] as End;
  const { afterMs, row, outcome, factor } = end;
  const endedMs = startedMs + afterMs;
  const network = draw(250);
  const id = `${(startedMs * 1024).toString(36).padStart(11, "0")}${String(at).padStart(6, "0")}`;
  const value = encodeLoginRecord({
    user: nameOf(draw(TOWN_USERS)),
    client: CLIENTS[draw(CLIENTS.length)] ?? CLIENTS[0],
    source: "127.0.0.1",
    place: `203.0.113.${network}`,
    factor,
    startedMs,
    endedMs,
    outcome,
    refusedFor: end.refusedFor ?? null,
    passwordRight: false,
    target: "default",
    ...(row === "not_approved" ? { denial: { cause: "phone" } } : {}),
    moments: [
      { atMs: startedMs + 2, step: "CHOOSE_WHICH_MULTIFACTOR", row: "nothing_paired" },
      { atMs: endedMs, step: outcome, row },
    ],
  });
  return { type: "set" as const, key: historyKey(id), value };
}

async function importUsers(program: ConsoleProgram): Promise<void> {
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  const lines = Array.from({ length: TOWN_USERS }, (_, index) => {
    const person = personAt(index);
    const groups = [["staff"], index % 9 === 0 ? [TOWN_GROUP] : [], index % 40 === 0 ? ["vpn-admins"] : []];
    return JSON.stringify({
      userName: nameOf(index),
      ...attributesOf(person),
      active: index % 50 !== 49,
      groups: groups.flat(),
    });
  });
  await Deno.writeTextFile(file, lines.join("\n"));
  const { code, stderr, stdout } = await program.command("cli/import.ts", "default", file);
  await Deno.remove(file);
  if (code !== 0) throw new Error(`Cannot import the users: exit code ${code}\n${stdout}\n${stderr}`);
}

/** None of them changes a sign-in of the town. */
const POLICIES: readonly Omit<Policy, "id" | "enabled">[] = [
  {
    name: "Deny the network of the guests",
    conditions: { networks: ["198.51.100.0/24", "2001:db8:77::/48"] },
    outcome: { kind: "deny" },
  },
  {
    name: "Contractors outside working hours use an authenticator app",
    conditions: {
      groups: [TOWN_GROUP],
      times: [{ days: ["sat", "sun"], from: "00:00", to: "24:00", zone: "Europe/Berlin" }],
    },
    outcome: { kind: "challenge", factors: ["totp", "recovery"], enrolment: "never" },
  },
  {
    name: "Administrators sign in with an app or their phone",
    conditions: { groups: ["vpn-admins"] },
    outcome: { kind: "challenge", factors: ["device", "totp"] },
  },
  {
    name: "Remember devices in the offices for a working day",
    conditions: {
      clients: ["vpn-frankfurt", "wifi-controller-building-7"],
      networks: ["10.20.0.0/16"],
      exceptGroups: [TOWN_GROUP],
    },
    outcome: { kind: "challenge", rememberHours: 10, attributes: { "Session-Timeout": 36_000 } },
  },
];

/** Some changes of administrators, for the audit log, and users whose connector does not answer. */
async function changeThings(program: ConsoleProgram): Promise<void> {
  const cookie = await program.signIn("owner");
  const call = async (method: string, path: string, json: unknown) => {
    const response = await fetch(`${program.origin}/console/api${path}`, {
      method,
      headers: { "content-type": "application/json", cookie, origin: program.origin },
      body: JSON.stringify(json),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Cannot ${method} ${path}: ${response.status} ${text}`);
    return text;
  };
  for (const name of ["hr-system", "service-desk"]) {
    const access = name === "hr-system" ? "write" : "read";
    await call("POST", "/credentials", { name, targets: ["default"], access });
  }
  await connectProviders(program, call, [nameOf(3), nameOf(4), nameOf(0)]);
  const team = { name: "security-team", kind: "mail", addresses: ["security@example.com"] };
  const chat = { name: "chat", kind: "webhook", url: "https://hooks.example.com/services/1" };
  for (const receiver of [team, { ...chat, minSeverity: "critical" }]) {
    await call("POST", "/alerts/receivers", receiver);
  }
  await call("POST", "/tokens", { name: "nightly-backup", role: "viewer", days: 90 });
  await call("POST", "/administrators", { name: "margaret", role: "viewer" });
  for (const [version, policy] of POLICIES.entries()) {
    const enabled = version !== 1;
    await call("POST", "/policies", { version, confirm: false, policy: { ...policy, enabled } });
  }
}

/** Sign-ins with passcodes, right and wrong ones, unknown users, and menus without an answer, until `signal`. */
async function signInEndlessly(program: ConsoleProgram, signal: AbortSignal): Promise<void> {
  using client = openRadiusClient({ port: program.radiusPort, secret: SECRET });
  for (let at = 0; !signal.aborted; at++) {
    await signInOnce(client, at);
    await new Promise((resolve) => setTimeout(resolve, LIVE_EVERY_MS));
  }
}

async function signInOnce(client: RadiusClient, at: number): Promise<void> {
  const index = at % 17 === 0 ? 7 : 1 + 8 * draw(1200);
  const asked = {
    userName: at % 11 === 0 ? LONG_NAMES[1] : nameOf(index),
    password: "any",
    callingStationId: `203.0.113.${draw(250)}`,
    nasPort: at,
    more: [{ type: 32, value: new TextEncoder().encode(CLIENTS[at % CLIENTS.length] ?? CLIENTS[0]) }],
  };
  const challenge = await client.ask(asked);
  if (challenge.state === null || at % 3 === 0) return;
  const code = at % 5 === 0 ? "000000" : totpCode(SEED, Date.now());
  await client.ask({ ...asked, password: code, state: challenge.state });
}
