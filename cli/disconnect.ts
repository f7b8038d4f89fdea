// `deno task disconnect`: ends VPN sessions at their NAS with Disconnect-Requests (RFC 5176), or lists the connected ones.

import { COMMAND } from "../platform/command_name.ts";
import type { SessionView } from "../console/api/accounting_sessions/session_routes.ts";
import { pauseFor } from "../platform/runtime.ts";
import { type AdminApi, AdminRefusal, apiValue, commandClock, pathName } from "./admin_connection.ts";
import { type CommandOutcome, counted, resultText, table, utcTimeText } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";
import { adminCommand, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `End VPN sessions at their RADIUS client with Disconnect-Requests (RFC 5176).

Usage:
  ${COMMAND} disconnect --list [--user <name>] [--client <name>]
      List the connected sessions. Changes nothing.
  ${COMMAND} disconnect --user <name> [--client <name>]
      End all sessions of a user, or those at one client.
  ${COMMAND} disconnect --session <id> [--user <name>] [--client <name>]
      End one session. The id is that of the list, or the Acct-Session-Id.

The client needs disconnect_port, or with TLS tls.disconnect (see docs/disconnect.md). The command waits for the answers.
`;

interface DisconnectPlan {
  readonly isList: boolean;
  readonly user: string;
  readonly session: string;
  readonly client: string;
}

/** Reads the arguments. A text is the problem with them. */
export function planDisconnect(args: readonly string[]): DisconnectPlan | string {
  const text = { type: "string" } as const;
  const parsed = parseCommandArgs(args, {
    ...{ list: { type: "boolean" }, user: text, session: text, client: text },
  });
  if (!parsed.ok) return parsed.problem;
  if (parsed.words.length > 0) return "give the names with --user, --session and --client";
  const { list: isList = false, user = "", session = "", client = "" } = parsed.values;
  if (isList && session !== "") return "--list takes no --session";
  if (!isList && user === "" && session === "") return "the user or the session is missing";
  return { isList, user, session, client };
}

/** A call lasts at most twice the longest retransmission (RFC 5080 §2.2.1), and several can wait for each other. */
const WAIT_MS = 120_000;
const POLL_MS = 300;

/** Lists sessions, or ends them and waits for the results. */
export async function disconnect(
  api: AdminApi,
  plan: DisconnectPlan,
  { clock = commandClock }: { clock?: typeof commandClock } = {},
): Promise<CommandOutcome> {
  const { found, unread } = await findSessions(api, plan);
  const more = unread === 0 ? [] : [`${counted(unread, "older session")} not read. Add --user.`];
  if (plan.isList) {
    const did = found.length === 0
      ? "No session is connected."
      : `${counted(found.length, "session")} connected.`;
    return success(resultText(did, { blocks: [sessionTable(found)], notes: more }));
  }
  if (found.length === 0) return success(resultText("No such session is connected.", { notes: more }));
  if (plan.session !== "" && found.length > 1) {
    throw new AdminRefusal("ambiguous", "Several sessions have this id. Add --user and --client.");
  }
  for (const { id } of found) await orderEnd(api, id);
  const ids = new Set(found.map(({ id }) => id));
  const untilMs = clock.nowMs() + WAIT_MS;
  let results = found;
  do {
    await pauseFor(clock, POLL_MS);
    results = (await readSessions(api, plan, found)).sessions.filter(({ id }) => ids.has(id));
  } while (results.some(({ disconnect: order }) => order?.state === "pending") && clock.nowMs() < untilMs);
  const done = results.filter(isDone);
  const did = `${counted(done.length, "session")} of ${results.length} ended.`;
  const outcome = resultText(did, { blocks: [resultTable(results)] });
  return { out: outcome, err: "", exitCode: done.length === results.length ? 0 : 1 };
}

/** Orders the end of a session. One that has ended meanwhile does not stop the orders for the others. */
async function orderEnd(api: AdminApi, id: string): Promise<void> {
  const param = { id: pathName(id, "session") };
  try {
    await apiValue(api.connected[":id"].disconnect.$post({ param, json: {} }));
  } catch (fault) {
    if (!(fault instanceof AdminRefusal) || fault.code !== "unknown_vpn_session") throw fault;
  }
}

const isDone = ({ disconnect: order, endedMs }: SessionView): boolean =>
  order === undefined ? endedMs !== null : order.state === "acked" || order.state === "ended";

async function findSessions(
  api: AdminApi,
  plan: DisconnectPlan,
): Promise<{ found: readonly SessionView[]; unread: number }> {
  const { session, client } = plan;
  const { sessions, total } = await readSessions(api, plan, null);
  const found = sessions.filter((one) =>
    one.endedMs === null && (client === "" || one.client === client) &&
    (session === "" || one.id === session || one.sessionId === session)
  );
  return { found, unread: total - sessions.length };
}

/** The sessions of the user of the plan, otherwise those of its client or of all. @param known the sessions whose results are awaited */
async function readSessions(
  api: AdminApi,
  { user, client }: DisconnectPlan,
  known: readonly SessionView[] | null,
): Promise<{ readonly sessions: readonly SessionView[]; readonly total: number }> {
  // Ended sessions are only in the lists of their users.
  const users = user !== "" ? [user] : known === null ? [] : [...new Set(known.map((one) => one.user))];
  if (users.length === 0 || users.includes("")) {
    return await apiValue(api.connected.$get({ query: { client } }));
  }
  const lists = await Promise.all(
    users.map((name) => apiValue(api.users[":id"].sessions.$get({ param: { id: pathName(name, "user") } }))),
  );
  const sessions = lists.flatMap((one) => one.sessions);
  return { sessions, total: sessions.length };
}

function sessionTable(sessions: readonly SessionView[]): string {
  if (sessions.length === 0) return "";
  const rows = sessions.map(({ id, user, client, nas, sessionId, framedAddress, startedMs }) => [
    ...[id, user, client, nas, sessionId, framedAddress],
    utcTimeText(startedMs),
  ]);
  return table([["ID", "user", "client", "NAS", "Acct-Session-Id", "address", "since"], ...rows]);
}

const RESULTS: Readonly<Record<string, string>> = {
  pending: "no answer yet",
  acked: "disconnected",
  ended: "had ended before",
  refused: "refused by the client",
  no_answer: "no answer: check port, secret and firewall",
  no_port: "not possible: the client has no disconnect_port",
  no_client: "not possible: the client was removed or is disabled",
  no_address: "not possible: the NAS has no address of the client entry",
  no_connection: "not possible: the client has no TLS connection now",
};

function resultTable(sessions: readonly SessionView[]): string {
  const rows = sessions.map(({ user, client, sessionId, disconnect: order, endedMs }) => {
    const result = RESULTS[order?.problem ?? order?.state ?? (endedMs === null ? "" : "ended")] ?? "";
    const cause = order?.errorCause ?? "";
    return [user, client, sessionId, cause === "" ? result : `${result} (${cause})`];
  });
  return table([["user", "client", "Acct-Session-Id", "result"], ...rows]);
}

if (import.meta.main) {
  await runMain(adminCommand({
    usage: USAGE,
    plan: planDisconnect,
    run: (plan) => runCommand((api) => disconnect(api, plan)),
  }));
}
