// A console with data on every page: users with factors, discovered clients, targets, logins in progress and ended
// ones, dropped packets, approvals and messages, administrators, tokens, changes. A test may choose all names.

import { fillEnrolment } from "./full_enrolment.ts";
import { fillTokens } from "./full_tokens.ts";
import type { Dist } from "../../console/assets.ts";
import {
  bucketOf,
  encodeLoginRecord,
  historyKey,
  TIME_BUCKETS,
} from "../../radius/conversation/login_record.ts";
import type { PacketRecord } from "../../radius/ports.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";
import { buildRequest } from "../support/radius_packets.ts";
import { createFakeCluster, threeNodes } from "./console_cluster.ts";
import { CLIENT_RULES } from "./client_rules.ts";
import { PASSWORD } from "./console_app.ts";
import { apiCaller } from "./console_caller.ts";
import { fillMail } from "./console_mail.ts";
import { type ConnectConsole, startConnectConsole } from "./console_connect.ts";
import { fillAlerts } from "./console_alerts.ts";
import { fillLogExport } from "./console_log_export.ts";
import { approval, conversation, ended } from "./console_gateway.ts";
import { fillPolicies } from "./full_policies.ts";

/** The names of all objects; values from outside may be anything. */
export interface FullNames {
  readonly user: string;
  readonly group: string;
  /** The user name of a login; there need not be such a user. */
  readonly loginUser: string;
  /** The client name in a login. The console does not accept every name for its own clients. */
  readonly loginClient: string;
  readonly nasIdentifier: string;
  /** Values of the profile: display name, title and so on. */
  readonly text: string;
  readonly administrator: string;
  readonly token: string;
}

export const PLAIN_NAMES: FullNames = {
  user: "ada",
  group: "staff",
  loginUser: "ada",
  loginClient: "vpn-1",
  nasIdentifier: "vpn-of-the-second-floor",
  text: "Ada Lovelace",
  administrator: "Grace",
  token: "backup",
};

const MARKUP = `"><img src=x onerror=alert(1)>`;
/**
 * Right-to-left letters, and emoji. The directory refuses invisible characters, such as the joiner in composed emoji.
 */
const VISIBLE = `${MARKUP} עדה-مرحبا 👩🏳🌈é\u0301 `;
/** The longest value with that beginning: one long word follows it. */
const longest = (text: string, characters: number) => text + "w".repeat(characters - [...text].length);

/** Names of an attacker, with the maximum length: markup, other directions, emoji, and a word that cannot wrap. */
export const HOSTILE_NAMES: FullNames = {
  user: longest(VISIBLE, 250),
  group: longest(VISIBLE, 250),
  loginUser: longest(`${VISIBLE}\u202Eevil\u202C\u2067abc 👩‍👩‍👧‍👦🏳️‍🌈 `, 256),
  loginClient: longest(`${VISIBLE}\u202Eevil\u202C\u2067abc 👩‍👩‍👧‍👦🏳️‍🌈 `, 256),
  nasIdentifier: longest(`${VISIBLE}\u202Eevil\u202C\u2067abc `, 256),
  text: longest(`${VISIBLE}\u202Eevil\u202C\u2067abc 👩‍👩‍👧‍👦🏳️‍🌈 `, 256),
  administrator: longest(VISIBLE, 60),
  token: longest(VISIBLE, 60),
};

/** The existing client and credential, created in the console. */
export const FULL_CLIENT = "vpn-1";
export const FULL_CREDENTIAL = "hr";
/** The identity provider, with requests and with users that it wants to manage. */
export const FULL_CONNECTION = "okta";
/** The login whose packets are stored. */
export const FULL_LOGIN = conversation(1).id;
/** A second user without special data, beside the named one. */
export const FULL_OTHER = "bob";
/** A group without settings in the file. */
export const FULL_CREW = "crew";
/** A third user, in no group and without factors: for actions that should not change the others. */
export const FULL_SPARE = "zoe";
/** The deleted user. */
export const deletedName = ({ user }: Pick<FullNames, "user">): string => `${user}z`;

const FILE_CLIENT = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"

[radius.reply.group.staff]
"Filter-Id" = "vpn-staff"
`;
const API = "/console/api";

export type FullConsole = Awaited<ReturnType<typeof startFullConsole>>;

/** @param options.names the names of all objects; with `null` there is no data. */
export async function startFullConsole({ dist, names = PLAIN_NAMES }: {
  dist?: Dist;
  names?: FullNames | null;
} = {}) {
  const site = await startConnectConsole({
    ...(dist === undefined ? {} : { dist }),
    ...(names === null
      ? {}
      : { toml: FILE_CLIENT, cluster: createFakeCluster(() => threeNodes(names.token)) }),
  });
  if (names !== null) await fill(site, names);
  return { ...site, names: names ?? PLAIN_NAMES };
}

async function fill(site: ConnectConsole, names: FullNames): Promise<void> {
  await fillPeople(site, names);
  await fillConnect(site, names);
  await fillPolicies(site.people, names);
  fillTraffic(site, names);
  await fillEnrolment({ ...site, call: apiCaller(site, await site.signIn("owner")) }, names);
  await fillMail(site.mail, { waiting: names.user, failed: FULL_OTHER });
  await fillHistory(site, names);
  fillShadow(site, names);
}

function fillShadow({ learner }: ConnectConsole, { user, text }: FullNames): void {
  const nowMs = Date.now();
  const kinds = { PAP: 3, "EAP-MSCHAPv2+prompted": 2 };
  learner.addDay(FULL_CLIENT, {
    ...{ accepted: 5, rejected: 1, unanswered: 1, kinds, maxMs: 900 },
    ...{ gaps: { 5: 2 }, tries: 3, gaveUp: 1, patienceMs: 15_000 },
  });
  for (const name of [user, text]) {
    learner.addUser({ client: FULL_CLIENT, user: name, shown: name, firstMs: nowMs, lastMs: nowMs, kinds });
  }
}

async function fillPeople({ people }: ConnectConsole, { user, group, text }: FullNames): Promise<void> {
  const profile = { title: text, displayName: text, name: { givenName: text, familyName: text } };
  await people.put(user, { ...profile, emails: [{ value: "ada@example.org", type: "work", primary: true }] });
  await people.put(FULL_OTHER);
  await people.put(FULL_SPARE);
  await people.putGroup(group, [user, FULL_OTHER, "ghost"]);
  await people.putGroup(FULL_CREW);
  const deleted = deletedName({ user });
  await people.put(deleted, profile);
  await people.target.remove("user", deleted, { actor: { name: "scim:hr", source: "192.0.2.7" } });
  for (
    const [canonical, number] of [[user.toLowerCase(), "+4915112345678"], [FULL_OTHER, "+4915187654321"]]
  ) {
    if (canonical === undefined || number === undefined) continue;
    const whose = { canonical, shown: canonical };
    const { mutation, pairing } = people.pairings.prepare(whose, { kind: "sms", number });
    await people.store.commit({ mutations: [mutation] });
    people.pairings.adopt(pairing);
  }
  await fillTokens(people, { user, text });
}

async function fillConnect(site: ConnectConsole, names: FullNames): Promise<void> {
  const call = apiCaller(site, await site.signIn("owner"));
  await call(`${API}/clients`, {
    method: "POST",
    json: {
      ...CLIENT_RULES,
      name: FULL_CLIENT,
      address: ["198.51.100.0/24"],
      secret: "a-secret-of-16-octets",
    },
  });
  await call(`${API}/credentials`, {
    method: "POST",
    json: { name: FULL_CREDENTIAL, targets: ["default"], access: "write" },
  });
  await fillConnection(site, names);
  await fillLogExport(call);
  await fillAlerts(call, { store: site.store, user: names.user });
  await call(`${API}/tokens`, { method: "POST", json: { name: names.token, role: "viewer", days: 30 } });
  const invite = (name: string) =>
    call<{ url: string }>(`${API}/administrators`, { method: "POST", json: { name, role: "operator" } });
  const token = new URL((await invite(names.administrator)).url).hash.slice(1);
  // Without the owner's cookie: the user who opens the link is not the owner.
  const json = { token, name: names.administrator, password: PASSWORD };
  const joined = await site.call(`${API}/setup`, { method: "POST", json });
  if (!joined.ok) throw new Error(`Cannot join: ${joined.status} ${await joined.text()}`);
  await joined.body?.cancel();
  await invite("Invited");
}

async function fillConnection(site: ConnectConsole, { user, text }: FullNames): Promise<void> {
  const call = apiCaller(site, await site.signIn("owner"));
  const json = { name: FULL_CONNECTION, kind: "okta", target: "default" };
  const { secret } = await call<{ secret: { text: string } }>(`${API}/connections`, { method: "POST", json });
  const connection = await site.connections.authenticate(`Bearer ${secret.text}`, "192.0.2.30");
  if (connection === null) throw new Error("The token of the connection is not accepted");
  const from = { connection: FULL_CONNECTION, source: "192.0.2.30", userAgent: text };
  for (const [at, status] of [200, 409, 500].entries()) {
    site.connections.record({
      ...{ ...from, attributes: ["userName"] },
      ...{ atMs: Date.now() - at * 60_000, method: "POST", operation: "users.create", durationMs: 12 },
      ...{ status, scimType: status === 409 ? "uniqueness" : null, detail: status === 200 ? null : text },
      ...{ resource: { kind: "user", id: null, name: user }, dryRun: false },
    });
  }
  for (const name of [user, FULL_OTHER]) {
    const id = (await site.people.target.directory.read("user", name.toLowerCase()))?.id ?? name.slice(0, 1);
    await site.connections.proposeAdoption(connection, { kind: "user", id, name, externalId: text });
  }
}

/** The packet of a login of `names`, before anything is masked. */
function request({ loginUser, nasIdentifier }: FullNames) {
  const octets = new TextEncoder().encode(nasIdentifier).slice(0, 253);
  return buildRequest("secret", {
    userName: new TextEncoder().encode(loginUser).slice(0, 253),
    password: "planted-password",
    more: [{ type: 32, value: octets }],
  }).bytes;
}

function recorded(names: FullNames, values: Partial<PacketRecord> = {}): PacketRecord {
  const target = new Uint8Array(4096);
  const octets = target.subarray(0, copyRedacted(request(names), target, 0));
  return {
    inbound: true,
    atMs: Date.now(),
    copies: 1,
    verdict: "signed",
    hex: octets.toHex(),
    rows: dissectPacket(octets),
    ...values,
  };
}

function fillTraffic(site: ConnectConsole, names: FullNames): void {
  const { loginUser: user, loginClient: client } = names;
  const nowMs = Date.now();
  const over = conversation(1, { user, client, startedMs: nowMs - 20_000 });
  site.watch.put(ended(over, { outcome: "rejected", row: "not_approved", atMs: nowMs - 14_000 }));
  site.watch.packetsOf(over.id, [recorded(names, { atMs: nowMs - 20_000, copies: 3 }), recorded(names)]);
  site.watch.put(conversation(2, { user, client, startedMs: nowMs - 8000 }));
  site.watch.put(conversation(3, { user: FULL_OTHER, startedMs: nowMs - 4000 }));
  const place = { source: "192.0.2.9", client };
  const reason = "wrong_message_authenticator";
  site.watch.stray(
    { ...recorded(names), ...place, id: 1, reason, verdict: reason, answered: false, lastMs: nowMs },
    { ...place, reason, count: 14, firstMs: nowMs - 60_000, lastMs: nowMs },
  );
  site.watch.drop(reason);
  site.secondFactorAdmin.wait({
    ...approval("r1", { userName: user, createdMs: nowMs }),
    // Longer than any walk over the pages takes: its row disappears at the deadline.
    deadlineMs: nowMs + 3_600_000,
    client,
    terminalName: names.text,
  });
  site.outbox.put(
    { id: "m1", kind: "text", to: "+15550100", createdMs: nowMs, deadlineMs: nowMs + 3_600_000 },
    "Code 1234",
  );
  hearStranger(site, names);
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  times[bucketOf(4000)] = 30;
  // As the gateway reports it. Without it the present minute would count, which the page may not request yet.
  const minuteMs = Math.floor(nowMs / 60_000) * 60_000;
  site.watch.finish({ client, outcomes: { accepted: 25, rejected: 5 }, times, minuteMs });
}

/** A packet of an unknown client, which is listed for a while. */
export function hearStranger(site: ConnectConsole, names: FullNames): void {
  site.clientDiscovery.list();
  site.clientDiscovery.record({
    octets: request(names),
    source: "192.0.2.77",
    reason: "unknown_client",
    client: null,
  });
}

async function fillHistory({ store }: ConnectConsole, names: FullNames): Promise<void> {
  const nowMs = Date.now();
  const rows = [{ user: names.loginUser, outcome: "rejected" }, {
    user: FULL_OTHER,
    outcome: "accepted",
  }] as const;
  await store.commit({
    mutations: rows.map(({ user, outcome }, at) => {
      const startedMs = nowMs - (at + 2) * 60_000;
      const row = outcome === "rejected" ? "code_wrong" : "totp_right";
      const value = encodeLoginRecord({
        ...{ user, client: names.loginClient, source: "10.1.0.7", place: "", factor: "totp" },
        ...{ startedMs, endedMs: startedMs + 4000, outcome, refusedFor: null, passwordRight: false },
        moments: [{ atMs: startedMs + 4000, step: outcome, row }],
      });
      const id = `${(startedMs * 1024).toString(36).padStart(11, "0")}abcdef`;
      return { type: "set", key: historyKey(id), value };
    }),
  });
}
