// Accounting: sessions of clients, and many of them.

import { assert, assertEquals } from "@std/assert";
import { buildAccountingRequest, buildRequest, readReply } from "../../support/radius_packets.ts";
import { openWholeGateway, until, type WholeGateway } from "../whole_gateway.ts";
import { type AccountingFields, accountingRequest, STATUS } from "./accounting_packets.ts";
import { MAX_ACCOUNTING_PER_CLIENT } from "../../../radius/accounting/accounting_handler.ts";
import type { AccountingReport } from "../../../radius/accounting/session.ts";
import { SessionTable } from "../../../radius/accounting/session_table.ts";
import { createOrderedIds } from "../../../radius/conversation/conversation.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createStore } from "../../../platform/store.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

// Accounting (RFC 2866) with a whole gateway: which requests are answered, when, and the sessions that result.

const SECRET = "a-secret-for-accounting";
const CLIENTS = `
[[radius.client]]
name = "vpn"
address = ["192.0.2.1"]
secret = "${SECRET}"
[[radius.client]]
name = "other"
address = ["192.0.2.2"]
secret = "${SECRET}"
`;
const FROM = { hostname: "192.0.2.1", port: 4000 };

/** Sends a request and waits for its one answer. */
async function report(
  gateway: WholeGateway,
  status: number,
  { from = FROM, ...fields }: AccountingFields & { from?: typeof FROM } = {},
): Promise<void> {
  const request = accountingRequest(SECRET, status, fields);
  const before = gateway.sent.length;
  await gateway.account(request.bytes, from);
  await until(() => gateway.sent.length > before);
  const octets = gateway.sent[before]?.octets ?? new Uint8Array();
  const { code, problems } = readReply(octets, request, SECRET);
  assertEquals([code, problems], [5, []]);
}

const connected = ({ radius }: WholeGateway) => radius.sessions.connected({ limit: 100 });

Deno.test("Start, Interim-Update and Stop make one session with its times, amounts and address", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const session = { user: "Ada", session: "s-1", nas: "edge", callingStation: "198.51.100.7" };
  const startedMs = gateway.clock.nowMs();
  await report(gateway, STATUS.start, { ...session, framedAddress: [10, 8, 0, 2] });
  gateway.clock.advance(60_000);
  await report(gateway, STATUS.update, { ...session, input: [5, 1], output: [7, 0], seconds: 60 });
  const [live] = connected(gateway).sessions;
  assertEquals(live?.user, "Ada");
  assertEquals(live?.inputOctets, 2 ** 32 + 5);
  assertEquals(live?.endedMs, null);
  gateway.clock.advance(60_000);
  await report(gateway, STATUS.stop, {
    ...session,
    input: [9, 1],
    output: [8, 0],
    seconds: 110,
    cause: 1,
    delay: 10,
  });
  assertEquals(connected(gateway), { sessions: [], total: 0, stale: 0 });
  const [ended, ...others] = gateway.radius.sessions.ofUser("ada", 10);
  assertEquals(others, []);
  assertEquals(ended, {
    id: live?.id ?? "",
    client: "vpn",
    sessionId: "s-1",
    user: "Ada",
    nas: "edge",
    source: "192.0.2.1",
    framedAddress: "10.8.0.2",
    callingStation: "198.51.100.7",
    startedMs,
    updatedMs: startedMs + 120_000,
    endedMs: startedMs + 110_000,
    end: "stop",
    terminateCause: "User-Request",
    inputOctets: 2 ** 32 + 9,
    outputOctets: 8,
    isStale: false,
  });
});

Deno.test("an Accounting-Request is answered only after its session is durable", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const release = gateway.store.hold();
  const request = accountingRequest(SECRET, STATUS.start, { user: "ada", session: "s-1" });
  await gateway.account(request.bytes, FROM);
  assertEquals(gateway.sent.length, 0);
  assertEquals(gateway.radius.server.working, 1);
  release();
  await until(() => gateway.sent.length === 1);
});

Deno.test("a retransmission gets the same octets and counts once", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const { bytes } = accountingRequest(SECRET, STATUS.start, { user: "ada", session: "s-1" });
  const risen = await gateway.counted(async () => {
    for (let copy = 0; copy < 3; copy++) {
      await gateway.account(bytes, FROM);
      await until(() => gateway.sent.length === copy + 1);
    }
  });
  assertEquals(risen, { accounting_requests: 1, accounting_responses: 1, duplicates: 2 });
  const [first, ...copies] = gateway.sent.map(({ octets }) => octets);
  for (const copy of copies) assertEquals(copy, first);
  assertEquals(connected(gateway).total, 1);
});

Deno.test("the same report under a new identifier and a later Acct-Delay-Time is still one session", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const startedMs = gateway.clock.nowMs();
  await report(gateway, STATUS.start, { user: "ada", session: "s-1", identifier: 1 });
  gateway.clock.advance(5000);
  await report(gateway, STATUS.start, { user: "ada", session: "s-1", identifier: 2, delay: 5 });
  const { sessions } = connected(gateway);
  assertEquals(sessions.map((one) => one.startedMs), [startedMs]);
});

Deno.test("a Start with an Acct-Session-Id that is still connected begins a session of its own time", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const firstMs = gateway.clock.nowMs();
  await report(gateway, STATUS.start, { user: "ada", session: "s-1", identifier: 1 });
  gateway.clock.advance(60_000);
  await report(gateway, STATUS.update, { user: "ada", session: "s-1", input: [5000, 0], seconds: 60 });
  gateway.clock.advance(60_000);
  const secondMs = gateway.clock.nowMs();
  const second = { user: "ada", session: "s-1" };
  await report(gateway, STATUS.start, { ...second, identifier: 2 });
  // The same Start again, under a new identifier.
  gateway.clock.advance(6000);
  await report(gateway, STATUS.start, { ...second, identifier: 3, delay: 6 });
  await report(gateway, STATUS.start, { ...second, identifier: 4, delay: 5 });
  const { sessions, total } = connected(gateway);
  assertEquals([total, sessions[0]?.startedMs, sessions[0]?.inputOctets], [1, secondMs, 0]);
  const all = gateway.radius.sessions.ofUser("ada", 10).map((
    { startedMs, endedMs, end },
  ) => [startedMs, endedMs, end]);
  assertEquals(all, [[secondMs, null, null], [firstMs, secondMs, "nas_restarted"]]);
});

Deno.test("a Start that arrives after its Stop, and a Start that is replayed, do not connect the user again", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const start = accountingRequest(SECRET, STATUS.start, { user: "ada", session: "s-1", identifier: 1 });
  await gateway.account(start.bytes, FROM);
  await until(() => gateway.sent.length === 1);
  gateway.clock.advance(1000);
  await report(gateway, STATUS.stop, { user: "ada", session: "s-1" });
  await report(gateway, STATUS.start, { user: "ada", session: "s-1", delay: 2 });
  // The duplicate cache forgets after 30 s; a captured packet stays valid for ever.
  gateway.clock.advance(3_600_000);
  await gateway.account(start.bytes, FROM);
  await until(() => gateway.sent.length === 4);
  assertEquals(connected(gateway).total, 0);
  await report(gateway, STATUS.start, { user: "ada", session: "s-1", nas: "restarted" });
  assertEquals(connected(gateway).total, 1);
  assertEquals(gateway.radius.sessions.ofUser("ada", 10).length, 2);
});

Deno.test("a report about an unknown session creates it with the time that the NAS counted", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const nowMs = gateway.clock.nowMs();
  await report(gateway, STATUS.update, { user: "ada", session: "s-1", seconds: 90 });
  await report(gateway, STATUS.stop, { user: "bea", session: "s-2", seconds: 30 });
  assertEquals(connected(gateway).sessions.map(({ user, startedMs }) => [user, startedMs]), [
    ["ada", nowMs - 90_000],
  ]);
  const [bea] = gateway.radius.sessions.ofUser("bea", 10);
  assertEquals([bea?.startedMs, bea?.endedMs], [nowMs - 30_000, nowMs]);
});

Deno.test("a session belongs to its client entry, its Acct-Session-Id and its user", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  await report(gateway, STATUS.start, { user: "ada", session: "1" });
  await report(gateway, STATUS.start, { user: "bea", session: "1" });
  await report(gateway, STATUS.start, { user: "ada", session: "2" });
  await report(gateway, STATUS.start, {
    user: "ada",
    session: "1",
    from: { hostname: "192.0.2.2", port: 4000 },
  });
  assertEquals(connected(gateway).total, 4);
  assertEquals(gateway.radius.sessions.connected({ limit: 100, client: "other" }).total, 1);
  await report(gateway, STATUS.stop, { user: "ada", session: "1" });
  assertEquals(connected(gateway).total, 3);
  assertEquals(gateway.radius.sessions.connected({ limit: 100, client: "other" }).total, 1);
  // RFC 2866 §5.13 allows a Stop without User-Name.
  await report(gateway, STATUS.stop, { session: "2" });
  assertEquals(connected(gateway).sessions.map(({ user, client }) => `${user} ${client}`).sort(), [
    "ada other",
    "bea vpn",
  ]);
});

for (const [status, end] of [[STATUS.on, "nas_restarted"], [STATUS.off, "nas_stopped"]] as const) {
  Deno.test(`Accounting-${status === 7 ? "On" : "Off"} ends the sessions of that NAS only`, async () => {
    await using gateway = await openWholeGateway(CLIENTS);
    await report(gateway, STATUS.start, { user: "ada", session: "1", nas: "east" });
    await report(gateway, STATUS.start, { user: "bea", session: "2", nas: "west" });
    await report(gateway, status, { nas: "east" });
    assertEquals(connected(gateway).sessions.map(({ user }) => user), ["bea"]);
    assertEquals(gateway.radius.sessions.ofUser("ada", 1)[0]?.end, end);
  });
}

Deno.test("sessions survive a restart with their last recorded values", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  await report(gateway, STATUS.start, { user: "ada", session: "1", framedAddress: [10, 0, 0, 1] });
  await report(gateway, STATUS.update, { user: "ada", session: "1", input: [42, 0] });
  await report(gateway, STATUS.start, { user: "bea", session: "2" });
  await report(gateway, STATUS.stop, { user: "bea", session: "2", cause: 4 });
  const before = [...gateway.radius.sessions.ofUser("ada", 9), ...gateway.radius.sessions.ofUser("bea", 9)];
  const again = await gateway.reopen();
  assertEquals([...again.sessions.ofUser("ada", 9), ...again.sessions.ofUser("bea", 9)], before);
  assertEquals(again.sessions.connectedCount, 1);
  again.close();
});

Deno.test("hostile octets in names and session ids are answered, and shown as text", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const hostile = Uint8Array.from({ length: 253 }, (_, i) => i * 7 & 0xff);
  await report(gateway, STATUS.start, { user: hostile, session: hostile });
  await report(gateway, STATUS.start, { user: "\r\n\u202e</script>=1+1", session: "\0" });
  await report(gateway, STATUS.start, { session: "no user" });
  assertEquals(connected(gateway).total, 3);
  // Octets that decode to the same text are different Acct-Session-Ids.
  await report(gateway, STATUS.start, { user: "ada", session: Uint8Array.of(0xff) });
  await report(gateway, STATUS.start, { user: "ada", session: Uint8Array.of(0xfe) });
  assertEquals(connected(gateway).total, 5);
  const log = await gateway.logText();
  assert(!/[\u202e\0\r]/.test(log), "a control character is in the log");
});

Deno.test("the log has the attributes of an Accounting-Request by name, and no password", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const password = { type: 2, value: new TextEncoder().encode("not-in-the-log-x") };
  await report(gateway, STATUS.start, { user: "ada", session: "s-1", more: [password] });
  const log = await gateway.logText();
  assert(/Accounting-Request .*User-Name=.*Acct-Status-Type=1 Acct-Session-Id=/.test(log), log);
  assert(log.includes("Accounting-Response"), log);
  assert(!log.includes("not-in-the-log-x"));
});

Deno.test("Status-Server on the accounting port is answered with Accounting-Response (RFC 5997 §4.2)", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const request = buildRequest(SECRET, { code: 12 });
  await gateway.account(request.bytes, FROM);
  await gateway.deliver(request.bytes, FROM);
  const replies = gateway.sent.map(({ octets }) => readReply(octets, request, SECRET));
  assertEquals(replies.map(({ code, problems }) => [code, problems]), [[5, []], [2, []]]);
});

Deno.test("signed Accounting-Requests do not make signatures of logins required", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const more = [{ type: 40, value: Uint8Array.of(0, 0, 0, 7) }];
  const signed = buildAccountingRequest(SECRET, { messageAuthenticator: "first", more });
  await gateway.account(signed.bytes, FROM);
  await until(() => gateway.sent.length === 1);
  const login = buildRequest(SECRET, { userName: "ada", password: "x", messageAuthenticator: "none" });
  await gateway.deliver(login.bytes, FROM);
  await until(() => gateway.sent.length === 2);
  assertEquals(gateway.sent[1]?.octets[0], 11);
});

// Limits of accounting: a flood does not delay logins, and the session table stays within its bounds and its retention.

const CLIENT = `[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "${SECRET}"\n`;

Deno.test("a flood of accounting leaves room in the next commit for a login, and the NAS can resend the rest", async () => {
  await using gateway = await openWholeGateway(CLIENT);
  const release = gateway.store.hold();
  const flood = Array.from(
    { length: MAX_ACCOUNTING_PER_CLIENT + 40 },
    (_, i) => accountingRequest(SECRET, STATUS.start, { user: "ada", session: `s-${i}` }).bytes,
  );
  const risen = await gateway.counted(async () => {
    for (const [i, bytes] of flood.entries()) {
      await gateway.account(bytes, { hostname: "192.0.2.1", port: 5000 + i });
    }
  });
  assertEquals(risen.dropped_too_busy, 40);
  const login = buildRequest(SECRET, { userName: "bea", password: "x" });
  await gateway.deliver(login.bytes, { hostname: "192.0.2.1", port: 4999 });
  release();
  await until(() => gateway.sent.some(({ to, octets }) => to.port === 4999 && octets[0] === 11));
  await until(() => gateway.radius.server.working === 0);
  const last = flood.length - 1;
  const before = gateway.sent.length;
  await gateway.account(flood[last] as Uint8Array, { hostname: "192.0.2.1", port: 5000 + last });
  await until(() => gateway.sent.length > before);
});

async function openTable(limits: { total: number; perClient: number } = { total: 100, perClient: 100 }) {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const orderedId = createOrderedIds(clock, createSystemRandom());
  const create = () =>
    new SessionTable({
      ...{ store, orderedId, nowMs: clock.nowMs },
      limits: { ...limits, retentionMs: 30 * 24 * 3600_000 },
    });
  const table = create();
  const apply = async (change: AccountingReport["change"], session: string, client = "vpn") => {
    const report: AccountingReport = {
      change,
      sessionHex: new TextEncoder().encode(session).toHex(),
      sessionId: session,
      ...{ user: "ada", shownUser: "ada", nas: "", framedAddress: "", callingStation: "" },
      ...{
        inputOctets: 0,
        outputOctets: 0,
        sessionSeconds: null,
        delaySeconds: 0,
        terminateCause: null,
        identification: "",
      },
    };
    const origin = { client, source: "192.0.2.1", receivedMs: clock.nowMs(), authenticator: session };
    await store.commit({ mutations: table.apply(report, origin) });
    clock.advance(1);
  };
  const stored = async () => {
    let count = 0;
    for await (const _entry of store.list(["accounting"])) count++;
    return count;
  };
  const namesOf = (client: string) =>
    table.connected({ limit: 100, client }).sessions.map(({ sessionId }) => sessionId).sort();
  return { clock, table, apply, stored, namesOf, create, close: () => store.close() };
}

Deno.test("a full client loses its oldest ended session first, then the session that was silent longest", async () => {
  const { table, apply, stored, namesOf, close } = await openTable({ total: 100, perClient: 3 });
  await apply("start", "a");
  await apply("start", "b");
  await apply("start", "c");
  await apply("stop", "b");
  await apply("start", "d");
  assertEquals(namesOf("vpn"), ["a", "c", "d"]);
  await apply("update", "a");
  await apply("start", "e");
  assertEquals(namesOf("vpn"), ["a", "d", "e"]);
  assertEquals([table.size, await stored(), table.evictions], [3, 3, 2]);
  await close();
});

Deno.test("a full table removes sessions of the client with the most sessions, and stays within its bounds after a restart", async () => {
  const { table, apply, stored, namesOf, create, close } = await openTable({ total: 6, perClient: 5 });
  for (let i = 0; i < 5; i++) await apply("start", `big-${i}`, "big");
  await apply("start", "small-0", "small");
  await apply("start", "small-1", "small");
  assertEquals(namesOf("small"), ["small-0", "small-1"]);
  assertEquals(namesOf("big").length, 4);
  assertEquals([table.size, table.connectedCount, await stored()], [6, 6, 6]);
  const again = create();
  assertEquals(await again.load(), { unreadable: 0 });
  assertEquals([again.size, again.connectedCount], [6, 6]);
  assert(again.ofUser("ada", 10).length === 6);
  await close();
});

Deno.test("a session without updates is shown as stale, after its own interval if it has one, and is removed after 30 days", async () => {
  const { clock, table, apply, close } = await openTable();
  await apply("start", "quiet");
  await apply("start", "chatty");
  for (let update = 0; update < 3; update++) {
    clock.advance(5 * 60_000);
    await apply("update", "chatty");
  }
  const stale = () => {
    const { sessions } = table.connected({ limit: 10 });
    return sessions.filter(({ isStale }) => isStale).map(({ sessionId }) => sessionId).sort();
  };
  clock.advance(14 * 60_000);
  assertEquals(stale(), []);
  clock.advance(2 * 60_000);
  assertEquals(stale(), ["chatty"]);
  clock.advance(24 * 3600_000);
  assertEquals(stale(), ["chatty", "quiet"]);
  assertEquals(table.connected({ limit: 10 }).stale, 2);
  clock.advance(30 * 24 * 3600_000);
  table.sweep();
  assertEquals([table.connectedCount, table.size, table.ofUser("ada", 10)], [0, 0, []]);
  await close();
});
