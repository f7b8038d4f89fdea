// Limits of accounting: a flood does not delay logins, and the session table stays within its bounds and its retention.

import { assert, assertEquals } from "@std/assert";
import { MAX_ACCOUNTING_PER_CLIENT } from "../../../radius/accounting/accounting_handler.ts";
import type { AccountingReport } from "../../../radius/accounting/session.ts";
import { SessionTable } from "../../../radius/accounting/session_table.ts";
import { createOrderedIds } from "../../../radius/conversation/conversation.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createStore } from "../../../platform/store.ts";
import { buildRequest } from "../../support/radius_packets.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { openWholeGateway, until } from "../whole_gateway.ts";
import { accountingRequest, STATUS } from "./accounting_packets.ts";

const SECRET = "a-secret-for-accounting";
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
