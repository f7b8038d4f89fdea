// `deno task shadow-report`: what clients in shadow mode would do with a second factor, and what to set before they are moved over.

import { COMMAND } from "../platform/command_name.ts";
import type { ShadowAdvice, ShadowClientReport, ShadowUserRow } from "../console/api/shadow/shadow_report.ts";
import { type AdminApi, apiValue } from "./admin_connection.ts";
import { type CommandOutcome, counted, resultText, table, utcTimeText } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";
import { adminCommand, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Show the report of shadow mode.

Usage:
  ${COMMAND} shadow-report [--client <name>] [--days 1|7|30|90]
      For each client: the observed sign-ins, how many would pass, and what to set. Default: 30 days.
  ${COMMAND} shadow-report --users [--client <name>] [--days 1|7|30|90]
      The users whose sign-ins would be refused, with the reason.
`;

const DAYS = ["1", "7", "30", "90"] as const;
type Days = typeof DAYS[number];

interface ReportPlan {
  readonly client: string;
  readonly days: Days;
  readonly isOfUsers: boolean;
}

/** Reads the arguments. A text is the problem with them. */
export function planShadowReport(args: readonly string[]): ReportPlan | string {
  const text = { type: "string" } as const;
  const parsed = parseCommandArgs(args, { users: { type: "boolean" }, client: text, days: text });
  if (!parsed.ok) return parsed.problem;
  if (parsed.words.length > 0) return "give the name of the client with --client";
  const { users: isOfUsers = false, client = "", days: given = "30" } = parsed.values;
  const days = DAYS.find((one) => one === given);
  return days === undefined ? `--days must be one of ${DAYS.join(", ")}` : { client, days, isOfUsers };
}

/** Shows the report of the clients, or the users of whom sign-ins would be refused. */
export async function shadowReport(
  api: AdminApi,
  { client, days, isOfUsers }: ReportPlan,
): Promise<CommandOutcome> {
  const range = { client, days };
  if (isOfUsers) return success(await usersText(api, range));
  const { clients } = await apiValue(api.shadow.$get({ query: range }));
  const did = clients.length === 0
    ? "No client is in shadow mode, and none was observed."
    : `${counted(clients.length, "client")} observed, ${counted(Number(days), "day")}.`;
  return success(resultText(did, { blocks: clients.map(clientText) }));
}

const MAX_PAGE = 500;

async function usersText(api: AdminApi, range: { client: string; days: Days }): Promise<string> {
  const refused: ShadowUserRow[] = [];
  for (let page = 1, read = 0, total = 1; read < total; page++) {
    const query = { ...range, page: String(page), size: String(MAX_PAGE) };
    const answer = await apiValue(api.shadow.users.$get({ query }));
    total = answer.total;
    read += answer.users.length;
    refused.push(...answer.users.filter(({ obstacle }) => obstacle !== null));
    if (answer.users.length === 0) break;
  }
  const rows = refused.map(({ user, client, obstacle, logins, methods, lastMs }) => [
    ...[user, client, obstacle ?? "", String(logins), methods.join(" ")],
    utcTimeText(lastMs),
  ]);
  const head = ["user", "client", "reason", "sign-ins", "methods", "last"];
  return resultText(`${counted(refused.length, "user")} would be refused.`, {
    blocks: rows.length === 0 ? [] : [table([head, ...rows])],
  });
}

function clientText(report: ShadowClientReport): string {
  const { client, mode, accepted, rejected, unanswered, unrecorded, passed, refused, methods } = report;
  const known = passed + Object.values(refused).reduce((sum, count) => sum + count, 0);
  const seconds = (ms: number | null) => ms === null ? "-" : `${(ms / 1000).toFixed(1)} s`;
  const rows = [
    [client, mode === "shadow" ? "shadow mode" : "requires the second factor"],
    ["accepted / rejected / unanswered", `${accepted} / ${rejected} / ${unanswered}`],
    ["would pass", known === 0 ? "-" : `${passed} of ${known} (${Math.floor(passed / known * 100)} %)`],
    ...Object.entries(refused).map(([obstacle, count]) => [`refused: ${obstacle}`, String(count)]),
    ...unrecorded === 0 ? [] : [["accepted without a recorded user", String(unrecorded)]],
    ["methods", methods.map(methodText).join(", ") || "-"],
    [
      "time to answer",
      `median ${seconds(report.p50Ms)}, 95 % ${seconds(report.p95Ms)}, longest ${seconds(report.maxMs)}`,
    ],
    ["retries of the client", retriesText(report)],
    ["hold_s", String(report.holdMs / 1000)],
  ];
  const advice = report.advice.map((one) => `- ${adviceText(one)}\n`).join("");
  return advice === "" ? table(rows) : `${table(rows)}\n${advice}`;
}

function methodText({ method, logins, unsigned }: ShadowClientReport["methods"][number]): string {
  return `${method} ${logins}${unsigned === 0 ? "" : ` (${unsigned} unsigned)`}`;
}

function retriesText({ retryS, tries, patienceMs }: ShadowClientReport): string {
  if (retryS === null) return "none seen";
  const until = patienceMs === null ? "" : `, stops after ${Math.floor(patienceMs / 1000)} s`;
  return `every ${retryS} s, up to ${tries} packets${until}`;
}

/** What to do, and why. */
function adviceText({ code, values }: ShadowAdvice): string {
  const { waits, hold, client, to, seen, p95, logins, requests } = values;
  switch (code) {
    case "times_out":
      return `The client stops waiting after ${waits} s, and hold_s is ${hold}. Set its timeout, with all retries, to ` +
        `at least ${client} s${to === undefined ? "" : `, or hold_s to ${to}`}.`;
    case "may_time_out":
      return `The longest answer took ${seen} s, and hold_s is ${hold}. Set the timeout of the client, with all retries, ` +
        `to at least ${client} s.`;
    case "hold_short":
      return `One sign-in in twenty takes ${p95} s or more, and hold_s is ${hold}. Raise hold_s and the client's timeout.`;
    case "prompts":
      return `The client shows prompts (${logins} sign-ins): device = "challenge" is possible.`;
    case "no_prompts":
      return 'No prompt was sent so far. If the client shows none, set device = "hold".';
    case "unanswered":
      return `The present server did not answer ${requests} requests.`;
  }
}

if (import.meta.main) {
  await runMain(adminCommand({
    usage: USAGE,
    plan: planShadowReport,
    run: (plan) => runCommand((api) => shadowReport(api, plan)),
  }));
}
