// `deno task disconnect`: its arguments, and its results for sessions of a gateway.

import { assertEquals, assertMatch } from "@std/assert";
import { disconnect, planDisconnect } from "../../cli/disconnect.ts";
import type { SessionView } from "../../console/api/accounting_sessions/session_routes.ts";
import type { AdminApi } from "../../cli/admin_connection.ts";

const PLAN = { isList: false, user: "", session: "", client: "" };
const PLANS: readonly (readonly [args: string, plan: ReturnType<typeof planDisconnect>])[] = [
  ["--list", { ...PLAN, isList: true }],
  ["--list --client vpn", { ...PLAN, isList: true, client: "vpn" }],
  ["--user ada", { ...PLAN, user: "ada" }],
  ["--session s-1 --client vpn", { ...PLAN, session: "s-1", client: "vpn" }],
  ["", "the user or the session is missing"],
  ["--client vpn", "the user or the session is missing"],
  ["--list --session s-1", "--list takes no --session"],
  ["ada", "give the names with --user, --session and --client"],
];
for (const [args, plan] of PLANS) {
  Deno.test(`planDisconnect() reads "${args}"`, () => {
    assertEquals(planDisconnect(args.split(" ").filter((one) => one !== "")), plan);
  });
}

const SESSION: SessionView = {
  ...{ id: "0001", client: "vpn", sessionId: "s-1", user: "ada", nas: "edge", source: "192.0.2.1" },
  ...{ framedAddress: "10.8.0.2", callingStation: "", startedMs: 0, updatedMs: 0, endedMs: null, end: null },
  ...{ terminateCause: "", inputOctets: 0, outputOctets: 0, isStale: false },
};
const ORDER = {
  reason: "operator",
  actor: "command",
  requestedMs: 0,
  lastMs: 0,
  attempts: 1,
  isManual: false,
} as const;

/** A gateway with sessions of ada; an order ends as `result` says at the second look. */
function apiOf(
  sessions: readonly SessionView[],
  result: Partial<SessionView["disconnect"]> = {},
  unread = 0,
) {
  const ordered: string[] = [];
  const ended = new Set<string>();
  let looks = 0;
  const reply = (value: unknown) => Promise.resolve({ ok: true, json: () => Promise.resolve(value) });
  const refusal = (code: string) =>
    Promise.resolve({ ok: false, json: () => Promise.resolve({ error: { code, message: "" } }) });
  const list = () => {
    if (ordered.length === 0) return reply({ sessions, total: sessions.length + unread });
    looks += 1;
    const order = looks === 1
      ? { ...ORDER, state: "pending", problem: null, errorCause: "" }
      : { ...ORDER, state: "acked", problem: null, errorCause: "", ...result };
    return reply({
      total: 1,
      sessions: sessions.map((one) =>
        ordered.includes(one.id)
          ? { ...one, disconnect: order }
          : ended.has(one.id)
          ? { ...one, endedMs: 1 }
          : one
      ),
    });
  };
  const api = {
    connected: {
      $get: list,
      ":id": {
        disconnect: {
          $post({ param: { id } }: { param: { id: string } }) {
            if (ended.has(id)) return refusal("unknown_vpn_session");
            ordered.push(id);
            return reply({ ordered: 1 });
          },
        },
      },
    },
    users: { ":id": { sessions: { $get: list } } },
  } as unknown as AdminApi;
  return { api, ordered, ended };
}
Deno.test("disconnect() goes on if a session has ended meanwhile", async () => {
  const ids = ["0001", "0002", "0003"];
  const { api, ordered, ended } = apiOf(ids.map((id) => ({ ...SESSION, id, sessionId: `s-${id}` })));
  ended.add("0001");
  const { out, exitCode } = await disconnect(api, { ...PLAN, user: "ada" }, { clock });
  assertEquals([ordered, exitCode], [["0002", "0003"], 0]);
  assertMatch(out, /^3 sessions of 3 ended\.\n[^]* s-0001 +had ended before\n[^]* s-0003 +disconnected\n$/);
});

/** Each wait passes at once. */
const clock = {
  nowMs: () => 0,
  after: (_ms: number, task: () => void) => (queueMicrotask(task), () => undefined),
};

Deno.test("disconnect() lists the connected sessions, and changes nothing", async () => {
  const { api, ordered } = apiOf([SESSION, { ...SESSION, id: "0002", endedMs: 5, end: "stop" }]);
  const { out, exitCode } = await disconnect(api, { ...PLAN, isList: true }, { clock });
  assertMatch(
    out,
    /^1 session connected\.\n\n {2}ID .*\n {2}0001 +ada +vpn +edge +s-1 +10\.8\.0\.2 +1970-01-01 00:00 UTC\n$/,
  );
  assertEquals([ordered, exitCode], [[], 0]);
});

Deno.test("disconnect() ends one session by its Acct-Session-Id, and waits for the result", async () => {
  const { api, ordered } = apiOf([SESSION, { ...SESSION, id: "0002", sessionId: "s-2" }]);
  const { out, exitCode } = await disconnect(api, { ...PLAN, session: "s-2" }, { clock });
  assertMatch(out, /^1 session of 1 ended\.\n[^]* ada +vpn +s-2 +disconnected\n$/);
  assertEquals([ordered, exitCode], [["0002"], 0]);
});

Deno.test("disconnect() fails if the client refuses, and names the Error-Cause", async () => {
  const { api } = apiOf([SESSION], { state: "refused", errorCause: "504 Session Context Not Removable" });
  const { out, exitCode } = await disconnect(api, { ...PLAN, user: "ada" }, { clock });
  assertMatch(out, /refused by the client \(504 Session Context Not Removable\)\n$/);
  assertEquals(exitCode, 1);
});

Deno.test("disconnect() ends nothing if several sessions have the id, or none", async () => {
  const { api, ordered } = apiOf([SESSION, { ...SESSION, id: "0002", client: "wifi" }]);
  let message = "";
  await disconnect(api, { ...PLAN, session: "s-1" }, { clock }).catch((fault: Error) =>
    message = fault.message
  );
  assertEquals(message, "Several sessions have this id. Add --user and --client.");
  const none = await disconnect(api, { ...PLAN, session: "s-9" }, { clock });
  assertEquals([none.out, none.exitCode, ordered], ["No such session is connected.\n", 0, []]);
  const many = apiOf([SESSION], {}, 7);
  const cut = await disconnect(many.api, { ...PLAN, session: "s-9" }, { clock });
  assertMatch(cut.out, /Note: 7 older sessions not read\. Add --user\./);
  await disconnect(api, { ...PLAN, session: "s-1", client: "wifi" }, { clock });
  assertEquals(ordered, ["0002"]);
});
