// A console after a working day: people, changes, traffic and history, for screenshots and tests of logs.

import type { ConversationOutcome, ConversationView, PacketRecord } from "../../radius/ports.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import type { Dist } from "../../console/assets.ts";
import { ChartStore } from "../../console/api/charts/chart_store.ts";
import {
  bucketOf,
  encodeLoginRecord,
  historyKey,
  TIME_BUCKETS,
} from "../../radius/conversation/login_record.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { buildRequest, CODES, type RequestParts } from "../support/radius_packets.ts";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { createManualClock, PASSWORD } from "../fakes/console_app.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { approval, conversation, createFakeWatch, ended } from "../fakes/console_gateway.ts";

// The users, groups and logins of the console in the middle of a working day, data only.

export interface TownPerson {
  readonly user: string;
  readonly given: string;
  readonly family: string;
  readonly title: string;
  readonly department: string;
  readonly factors: readonly NewPairing[];
}

export interface TownLogin {
  readonly agoMs: number;
  readonly user: string;
  readonly client: string;
  readonly place: string;
  readonly source: string;
  readonly step: string;
  readonly factor: ConversationView["factor"];
  readonly moments: readonly (readonly [afterMs: number, step: string, row: string])[];
  /** `null` while it is in progress. */
  readonly end:
    | { readonly outcome: ConversationOutcome; readonly row: string; readonly afterMs: number }
    | null;
}

const phone = (id: string) => ({ kind: "device", id, totpLength: 6 }) as const;
const text = (number: string) => ({ kind: "sms", number }) as const;
const app = (letter: string) =>
  ({ kind: "totp", seed: new TextEncoder().encode(letter.repeat(20)) }) as const;

type PersonRow = readonly [
  name: string,
  title: string,
  department: string,
  factors: readonly NewPairing[],
];
const PEOPLE: readonly PersonRow[] = [
  ["Ada Lovelace", "Analyst", "Research", [phone("d1"), text("+4915112345678")]],
  ["Alan Turing", "Cryptanalyst", "Research", [phone("d2")]],
  ["Barbara Liskov", "Head of research", "Research", [text("+4915187654321"), app("b")]],
  ["Donald Knuth", "Typesetter", "Publishing", []],
  ["Dorothy Vaughan", "Team lead", "Computing", [phone("d3")]],
  ["Edsger Dijkstra", "Engineer", "Computing", [app("e")]],
  ["Frances Allen", "Engineer", "Compilers", [phone("d4")]],
  ["Grace Hopper", "Rear admiral", "Compilers", [phone("d5"), app("g")]],
  ["Hedy Lamarr", "Inventor", "Radio", [text("+4366012345678")]],
  ["Jean Bartik", "Programmer", "Computing", [phone("d6")]],
  ["Katherine Johnson", "Navigator", "Flight", [phone("d8")]],
  ["Ken Thompson", "Engineer", "Systems", [app("k")]],
  ["Margaret Hamilton", "Director", "Flight", [phone("d9"), text("+12025550143")]],
  ["Niklaus Wirth", "Engineer", "Compilers", [text("+41791234567")]],
  ["Radia Perlman", "Engineer", "Networks", [phone("d10")]],
];

/** User names are given name, dot, family name. */
export const TOWN_PEOPLE: readonly TownPerson[] = PEOPLE.map(([name, title, department, factors]) => {
  const [given = "", family = ""] = name.split(" ");
  return { user: name.toLowerCase().replace(" ", "."), given, family, title, department, factors };
});

/** The users in the screenshots. */
export const ADA = "ada.lovelace";
const GRACE = "grace.hopper";

export const TOWN_GROUPS: Readonly<Record<string, readonly string[]>> = {
  flight: ["katherine.johnson", "margaret.hamilton"],
  remote: [ADA, "alan.turing", "frances.allen", GRACE, "katherine.johnson", "radia.perlman"],
  research: [ADA, "alan.turing", "barbara.liskov", "hedy.lamarr"],
  staff: TOWN_PEOPLE.map(({ user }) => user),
};

const PHONE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const TEXT = "AWAIT_SMS_DELIVERED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

interface Way {
  readonly step: string;
  readonly factor: TownLogin["factor"];
  readonly moments: TownLogin["moments"];
}
const BY_PHONE: Way = {
  step: PHONE,
  factor: "device",
  moments: [[0, "first_factor", "first_factor_asked"], [30, "factor", "first_factor_right"], [
    40,
    "pushing",
    "device_picked",
  ], [95, PHONE, "pushed"]],
};
const BY_CODE: Way = {
  step: CODE,
  factor: "totp",
  moments: [[0, "first_factor", "first_factor_asked"], [25, "factor", "first_factor_right"], [
    31,
    CODE,
    "totp_picked",
  ]],
};
const BY_TEXT: Way = {
  step: TEXT,
  factor: "sms",
  moments: [[0, "first_factor", "first_factor_asked"], [28, "factor", "first_factor_right"], [
    180,
    TEXT,
    "text_sent",
  ]],
};
const AT_MENU: Way = {
  step: MENU,
  factor: null,
  moments: [[0, "first_factor", "first_factor_asked"], [33, "factor", "first_factor_right"], [
    40,
    MENU,
    "nothing_paired",
  ]],
};
const approved = (afterMs: number) => ({ outcome: "accepted", row: "approved", afterMs }) as const;
const typed = (afterMs: number) => ({ outcome: "accepted", row: "totp_right", afterMs }) as const;
const denied = { outcome: "rejected", row: "not_approved", afterMs: 8960 } as const;
const wrong = { outcome: "rejected", row: "code_wrong", afterMs: 12_400 } as const;
const late = { outcome: "expired", row: "expired", afterMs: 60_000 } as const;

/** The sources of logins: the client, its address, and the Calling-Station-Id. */
const GATES = {
  vpn1: { client: "vpn-1", source: "198.51.100.4", place: "203.0.113.57" },
  vpn2: { client: "vpn-2", source: "203.0.113.8", place: "192.0.2.140" },
  wifi: { client: "wifi-office", source: "10.2.0.5", place: "10.2.17.80" },
  citrix: { client: "citrix", source: "10.9.0.12", place: "10.20.4.31" },
} as const;

type LoginRow = readonly [
  agoS: number,
  name: string,
  gate: keyof typeof GATES,
  way: Way,
  end: TownLogin["end"],
];
const LOGINS: readonly LoginRow[] = [
  [412, "dorothy.vaughan", "wifi", BY_PHONE, approved(4100)],
  [388, "frances.allen", "vpn1", BY_PHONE, approved(6200)],
  [351, "donald.knuth", "vpn2", AT_MENU, late],
  [317, "edsger.dijkstra", "vpn1", BY_CODE, typed(9800)],
  [288, "dorothy.vaughan", "wifi", BY_PHONE, approved(3900)],
  [251, "radia.perlman", "vpn2", BY_PHONE, approved(5200)],
  [214, "ken.thompson", "citrix", BY_CODE, wrong],
  [193, "ken.thompson", "citrix", BY_CODE, typed(11_300)],
  [166, "katherine.johnson", "vpn1", BY_PHONE, approved(4700)],
  [141, "jean.bartik", "wifi", BY_PHONE, approved(3300)],
  [118, "alan.turing", "vpn1", BY_PHONE, denied],
  [84, "barbara.liskov", "vpn2", BY_CODE, typed(7600)],
  [61, "margaret.hamilton", "vpn1", BY_PHONE, approved(5900)],
  [38, "donald.knuth", "vpn2", AT_MENU, null],
  [27, "hedy.lamarr", "wifi", BY_TEXT, null],
  [19, "alan.turing", "vpn1", BY_PHONE, null],
  [14, "edsger.dijkstra", "citrix", BY_CODE, null],
  [9, "niklaus.wirth", "vpn2", BY_TEXT, null],
  [6, GRACE, "vpn1", BY_PHONE, null],
  [3, ADA, "vpn1", BY_PHONE, null],
];

/** Oldest first. */
export const TOWN_LOGINS: readonly TownLogin[] = LOGINS.map(([agoS, user, gate, way, end]) => ({
  agoMs: agoS * 1000,
  user,
  ...GATES[gate],
  ...way,
  end,
}));

const idOf = (at: number) => `c${String(at + 1).padStart(10, "0")}`;
/** The login that was denied on the phone, with stored packets. */
export const DENIED_LOGIN = idOf(TOWN_LOGINS.findIndex(({ end }) => end?.row === "not_approved"));

// A console in the middle of a working day, for the screenshots: users with factors and departments, clients, logins in
// progress and ended ones, two days of counts, a backend with pending writes, changes by several administrators.

const API = "/console/api";
const HOUR_MS = 3_600_000;
const CHART_HOURS = 47;
const SETTINGS = `[[radius.client]]
name = "wifi-office"
address = ["10.2.0.0/16"]
secret = "the secret of the file"

[radius.reply.group.remote]
"Filter-Id" = "vpn-remote"
"Session-Timeout" = 28800
`;
const RULES = { ...CLIENT_RULES, messageAuthenticator: "require", unknownUsers: "reject" };
const CLIENTS = [
  { name: "vpn-1", address: ["198.51.100.0/24"] },
  { name: "vpn-2", address: ["203.0.113.0/24"] },
  { name: "citrix", address: ["10.9.0.12"] },
];

export type WorkingDay = Awaited<ReturnType<typeof startWorkingDay>>;

export async function startWorkingDay({ dist }: { dist?: Dist } = {}) {
  const site = await startConnectConsole({
    ...(dist === undefined ? {} : { dist }),
    toml: SETTINGS,
    shape: { local: "store", ldap: "sync", crm: "async" },
  });
  await fillPeople(site);
  await fillChanges(site);
  fillTraffic(site);
  await fillHistory(site);
  await fillCharts(site);
  return site;
}

async function fillPeople({ people }: ConnectConsole): Promise<void> {
  for (const { user, given, family, title, department, factors } of TOWN_PEOPLE) {
    await people.put(user, {
      displayName: `${given} ${family}`,
      name: { givenName: given, familyName: family },
      title,
      emails: [{ value: `${user}@example.org`, type: "work", primary: true }],
      "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { department },
    });
    for (const factor of factors) {
      const { mutation, pairing } = people.pairings.prepare({ canonical: user, shown: user }, factor);
      await people.store.commit({ mutations: [mutation] });
      people.pairings.adopt(pairing);
    }
  }
  for (const [name, members] of Object.entries(TOWN_GROUPS)) await people.putGroup(name, members);
}

/** The changes of several administrators this morning, through the API, so that the audit log has them. */
async function fillChanges(site: ConnectConsole): Promise<void> {
  const owner = apiCaller(site, await site.signIn("owner"));
  for (const client of CLIENTS) {
    const json = { ...RULES, ...client, secret: "a-secret-of-16-octets" };
    await owner(`${API}/clients`, { method: "POST", json });
  }
  for (const name of ["hr", "helpdesk"]) {
    const json = { name, targets: ["default"], access: name === "hr" ? "write" : "read" };
    await owner(`${API}/credentials`, { method: "POST", json });
  }
  await owner(`${API}/tokens`, { method: "POST", json: { name: "backup", role: "viewer", days: 90 } });
  for (const [name, role] of [["grace", "user_manager"], ["linus", "operator"]]) {
    const json = { name, role };
    const { url } = await owner<{ url: string }>(`${API}/administrators`, { method: "POST", json });
    const joined = await site.call(`${API}/setup`, {
      method: "POST",
      json: { token: new URL(url).hash.slice(1), name, password: PASSWORD },
    });
    if (!joined.ok) throw new Error(`Cannot join: ${await joined.text()}`);
    await joined.body?.cancel();
  }
  await owner(`${API}/administrators`, { method: "POST", json: { name: "margaret", role: "viewer" } });
}

/** The last changes before the screenshot: a client's rules, and a title while a backend is down. */
export async function changeThings(site: ConnectConsole): Promise<void> {
  const grace = apiCaller(site, await site.signIn("user_manager"));
  const owner = apiCaller(site, await site.signIn("owner"));
  const { client: { version } } = await owner<{ client: { version: number } }>(`${API}/clients/vpn-2`);
  const json = { ...RULES, address: CLIENTS[1]?.address, device: "hold", appendMode: true, version };
  await owner(`${API}/clients/vpn-2`, { method: "PUT", json });
  site.people.backend("crm").trouble({
    operation: "put",
    how: "before",
    fault: { kind: "unreachable", detail: "connection refused", unsure: false, retry: true },
  });
  const path = `${API}/users/${ADA}`;
  const { record } = await grace<{ record: { attributes: object; version: string } }>(path);
  const user = { ...record.attributes, title: "Head of analysis" };
  await grace(path, { method: "PUT", json: { user, version: record.version } });
}

/** The packets of the login that was denied: a request, its retransmission, a challenge, an answer, a Reject. */
function packetsOf({ agoMs, user, place, client }: TownLogin): PacketRecord[] {
  const startedMs = Date.now() - agoMs;
  const text = (type: number, value: string) => ({ type, value: new TextEncoder().encode(value) });
  const record = (atMs: number, parts: RequestParts, values: Partial<PacketRecord> = {}): PacketRecord => {
    const target = new Uint8Array(4096);
    const octets = target.subarray(0, copyRedacted(buildRequest("secret", parts).bytes, target, 0));
    return {
      ...{ inbound: true, atMs: startedMs + atMs, copies: 1, verdict: "signed", hex: octets.toHex() },
      rows: dissectPacket(octets),
      ...values,
    };
  };
  const asked = { userName: user, password: "x", callingStationId: place, more: [text(32, client)] };
  const state = new TextEncoder().encode("SECONDFACTOR_AWAIT_DEVICE_APPROVAL:Zm9y");
  return [
    record(0, { ...asked, identifier: 81 }, { copies: 2 }),
    record(60, {
      code: CODES.accessChallenge,
      identifier: 81,
      state,
      more: [
        text(18, "Authorize this login on your device with the number 47, then press continue or type ok."),
      ],
    }, { inbound: false, verdict: "pushed" }),
    record(8900, { ...asked, identifier: 82, state }),
    record(8960, {
      code: CODES.accessReject,
      identifier: 82,
      more: [text(18, "The approval was not given.")],
    }, { inbound: false, verdict: "not_approved" }),
  ];
}

function fillTraffic(site: ConnectConsole): void {
  const nowMs = Date.now();
  for (const [at, login] of TOWN_LOGINS.entries()) {
    const { agoMs, user, client, place, source, step, factor, moments, end } = login;
    const startedMs = nowMs - agoMs;
    const view = conversation(at + 1, {
      ...{ user, client, place, source, step, factor, startedMs },
      passwordRight: true,
      moments: moments.map(([afterMs, step, row]) => ({ atMs: startedMs + afterMs, step, row })),
    });
    const atMs = startedMs + (end?.afterMs ?? 0);
    site.watch.put(end === null ? view : ended(view, { outcome: end.outcome, row: end.row, atMs }));
    if (end?.row === "not_approved") site.watch.packetsOf(view.id, packetsOf(login));
    if (end === null && factor === "device") {
      const waiting = approval(`r${at}`, { userName: user, createdMs: startedMs });
      site.secondFactorAdmin.wait({ ...waiting, client, place, deadlineMs: startedMs + 300_000 });
    }
    if (end === null && factor === "sms") {
      const times = { createdMs: startedMs, deadlineMs: startedMs + 300_000 };
      site.outbox.put(
        { id: `m${at}`, kind: "text", to: `+49151876543${at}`, ...times },
        "Your passcode is 0000",
      );
    }
  }
}

/** The newest login is accepted, and another one begins. */
export function comeAndGo({ watch, secondFactorAdmin }: ConnectConsole): void {
  const nowMs = Date.now();
  const [newest] = watch.conversations(1);
  if (newest === undefined) throw new Error("Cannot end a login: there is none");
  watch.put(ended(newest, { outcome: "accepted", row: "approved", atMs: nowMs }));
  void secondFactorAdmin.cancel(`r${TOWN_LOGINS.length - 1}`, {});
  const gate = { client: "vpn-1", source: "198.51.100.4", place: "203.0.113.57" };
  watch.put(conversation(TOWN_LOGINS.length + 1, { user: "radia.perlman", ...gate, startedMs: nowMs }));
}

/** An unknown sender, like a new client before it is added. */
export function hearStranger(site: ConnectConsole): void {
  const { bytes } = buildRequest("secret", {
    userName: "ada.lovelace",
    password: "x",
    more: [{ type: 32, value: new TextEncoder().encode("vpn-of-the-branch") }],
  });
  site.clientDiscovery.list();
  site.clientDiscovery.record({
    octets: bytes,
    source: "192.0.2.77",
    reason: "unknown_client",
    client: null,
  });
}

async function fillHistory({ store }: ConnectConsole): Promise<void> {
  const nowMs = Date.now();
  const ends = TOWN_LOGINS.filter(({ end }) => end !== null);
  const rows = Array.from({ length: 60 }, (_, at) => ({
    ...{ login: ends[(at * 7) % ends.length], agoMs: 130_000 + at * 431_000, id: "" },
  }));
  const denied = ends.find(({ end }) => end?.row === "not_approved");
  if (denied !== undefined) rows.unshift({ login: denied, agoMs: denied.agoMs, id: DENIED_LOGIN });
  await store.commit({
    mutations: rows.flatMap(({ login, agoMs, id }, at) => {
      const end = login?.end;
      if (login === undefined || end === undefined || end === null) return [];
      const { user, client, place, source, factor, moments } = login;
      const startedMs = nowMs - agoMs;
      const endedMs = startedMs + end.afterMs + at * 37;
      const value = encodeLoginRecord({
        ...{ user, client, place, source, factor, startedMs, endedMs, outcome: end.outcome },
        ...{ refusedFor: null, passwordRight: true, target: "default" },
        ...end.row === "not_approved" && { denial: { cause: "phone" } },
        moments: [
          ...moments.map(([afterMs, step, row]) => ({ atMs: startedMs + afterMs, step, row })),
          { atMs: endedMs, step: end.outcome, row: end.row },
        ],
      });
      const key = historyKey(id !== "" ? id : `${(startedMs * 1024).toString(36).padStart(11, "0")}abcdef`);
      return [{ type: "set" as const, key, value }];
    }),
  });
}

/** Two days by the hour: few logins at night, most in the morning, more refusals in one hour. */
async function fillCharts({ store, log }: ConnectConsole): Promise<void> {
  const startMs = Math.floor(Date.now() / HOUR_MS - CHART_HOURS) * HOUR_MS;
  const clock = createManualClock(startMs);
  const watch = createFakeWatch();
  const charts = new ChartStore({ watch, store, clock, random: createSystemRandom(), log });
  for (let at = 0; at <= CHART_HOURS; at += 1) {
    const hour = new Date(startMs + at * HOUR_MS).getUTCHours();
    const busy = Math.max(0, Math.sin(((hour - 5) / 14) * Math.PI));
    const accepted = Math.round(12 + 240 * busy + (at * 29) % 23);
    const outcomes: Partial<Record<ConversationOutcome, number>> = {
      accepted,
      rejected: Math.round(accepted / 14) + (at === CHART_HOURS - 6 ? 45 : 0),
      expired: Math.round(accepted / 40),
    };
    const times = new Array<number>(TIME_BUCKETS).fill(0);
    times[bucketOf(3000 + 1400 * busy)] = accepted;
    times[bucketOf(11_000 + 9000 * busy)] = Math.round(accepted / 9);
    watch.finish({ client: "vpn-1", outcomes, times });
    watch.finish({ client: "wifi-office", outcomes: { accepted: Math.round(accepted / 3) }, times });
    await charts.flush();
    clock.advance(HOUR_MS);
  }
}
