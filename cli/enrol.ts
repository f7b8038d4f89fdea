// `deno task enrol`: invites users by mail, shows campaigns, and writes the enrolment report.

import { COMMAND } from "../platform/command_name.ts";
import { type AdminApi, apiValue, pathName, readLines } from "./admin_connection.ts";
import {
  type CommandOutcome,
  counted,
  printable,
  quoted,
  resultText,
  table,
  utcTimeText,
} from "./format_result.ts";
import { adminCommand, checkTarget, refusal, runCommand, runMain, success } from "./run_admin_command.ts";
import { parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";
import type { CampaignPreview, CampaignView } from "../console/api/enrolment/campaigns.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import { FileError, openRowFile } from "../scim/transfer/row_reader.ts";
import { identifyRow } from "../scim/transfer/upload.ts";

const USAGE = `Invite users by mail to set up a second factor, and show who has one.

Usage:
  ${COMMAND} enrol invite --all              Invite all active users without a factor.
  ${COMMAND} enrol invite --group <group>    Invite the members of a group.
  ${COMMAND} enrol invite --users <a,b>      Invite these users.
  ${COMMAND} enrol invite --file <file>      Invite the users of a file, such as the file of an import.
  ${COMMAND} enrol campaigns                 List the campaigns, with their ids and progress.
  ${COMMAND} enrol cancel <id>               End a campaign. Sent invitations stay valid.
  ${COMMAND} enrol report                    Write the enrolment report to standard output.

Options of invite:
  --name <name>         The name of the campaign.
  --dry-run             Show who would be invited, and who not and why. Sends nothing.
  --deadline-days <n>   Refuse sign-ins of these users without a factor after so many days; 0 for no deadline.
  --maximum <n>         Invite so many users at most.
  --per-minute <n>      Invite so many users per minute at most.
  --no-reminders        Send no reminders.
  --skip-numbers        Do not invite users who can use a phone number of the directory.
  --again               Also invite users who have a valid invitation. Their earlier link stops working.
  --wait                Wait until all invitations are queued.

Options of report:
  --status <status>     enrolled, number, invited, overdue or not_invited.
  --format <format>     csv (default) or json.

A running server sends the mails. Without one, it begins with the next start.
`;

const POLL_INTERVAL_MS = 500;

async function run(plan: EnrolPlan): Promise<CommandOutcome> {
  const progress = terminalProgress();
  const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  try {
    return await runCommand(async (api, config) => {
      const mapping = createMapping(checkTarget(config.radius.directory, config).mapping);
      return await performEnrol(plan, {
        ...{ api, progress, wait },
        namesOfFile: (path) => namesOfFile(path, mapping),
      });
    });
  } catch (fault) {
    if (!(fault instanceof FileError)) throw fault;
    return refusal(`${printable(fault.message)}\n`);
  } finally {
    progress.clear();
  }
}

interface EnrolDeps {
  readonly api: AdminApi;
  readonly progress: Pick<Progress, "showText">;
  /** Waits between two polls. */
  readonly wait: (ms: number) => Promise<void>;
  readonly namesOfFile: (path: string) => Promise<readonly string[]>;
}

/** Runs the command with an open connection. */
async function performEnrol(plan: EnrolPlan, deps: EnrolDeps): Promise<CommandOutcome> {
  const { api } = deps;
  switch (plan.does) {
    case "invite":
      return await invite(plan, deps);
    case "campaigns":
      return success(campaignTable((await apiValue(api.enrolment.campaigns.$get())).campaigns));
    case "cancel": {
      const param = { id: pathName(plan.id, "campaign") };
      const { campaign } = await apiValue(api.enrolment.campaigns[":id"].cancel.$post({ param, json: {} }));
      return success(resultText(`Campaign ${quoted(campaign.name)} is cancelled.`));
    }
    case "report": {
      const query = { status: plan.status, format: plan.format };
      const lines: string[] = [];
      for await (const some of readLines(api.enrolment.report.export.$get({ query }))) lines.push(...some);
      return success(`${lines.join("\n")}\n`);
    }
  }
}

/** The names in a file of users, in the format of `deno task import`. */
async function namesOfFile(path: string, mapping: ReturnType<typeof createMapping>): Promise<string[]> {
  const names: string[] = [];
  for await (const read of (await openRowFile(path, { mapping })).rows()) {
    if (!read.ok) throw new FileError(`Cannot read line ${read.line} of the file: ${read.problem}`);
    const found = read.row.kind === "user" ? identifyRow(read.row, mapping) : null;
    if (found !== null) names.push(found.name);
  }
  return names;
}

async function choiceOf({ users }: InvitePlan, { namesOfFile }: EnrolDeps) {
  switch (users.kind) {
    case "all":
      return { filters: { status: "active" as const } };
    case "group":
      return { group: users.name };
    case "users":
      return { names: [...users.names] };
    case "file":
      return { names: [...await namesOfFile(users.name)], file: users.name.split(/[\\/]/).at(-1) ?? "" };
  }
}

async function invite(plan: InvitePlan, deps: EnrolDeps): Promise<CommandOutcome> {
  const { api, progress, wait } = deps;
  const choice = await choiceOf(plan, deps);
  const { options } = plan;
  if (plan.isDryRun) {
    return success(
      previewText(await apiValue(api.enrolment.campaigns.preview.$post({ json: { choice, options } }))),
    );
  }
  const name = plan.name ?? `Enrolment ${new Date().toISOString().slice(0, 16).replace("T", " ")}`;
  let { campaign } = await apiValue(api.enrolment.campaigns.$post({ json: { name, choice, options } }));
  const param = { id: campaign.id };
  while (plan.waits && campaign.state === "running") {
    progress.showText(`${campaign.done} of ${counted(campaign.total, "user")}`);
    await wait(POLL_INTERVAL_MS);
    ({ campaign } = await apiValue(api.enrolment.campaigns[":id"].$get({ param })));
  }
  const did = campaign.state === "running"
    ? `Campaign ${quoted(name)} began with ${counted(campaign.total, "user")}. Its id is ${campaign.id}.`
    : `${counted(campaign.invited, "invitation")} queued in campaign ${quoted(name)}, ${campaign.id}.`;
  return success(resultText(did, { notes: reasonTexts(campaign.skipped) }));
}

function previewText({ total, invited, skipped, isMailConfigured, localUrl }: CampaignPreview): string {
  const did = `${invited} of ${counted(total, "user")} would get a mail. Nothing was sent.`;
  const notes = [
    ...reasonTexts(skipped),
    ...localUrl === null
      ? []
      : [`The links begin with ${localUrl}, which only this host can open. Set http.public_url.`],
    ...isMailConfigured ? [] : ["No mail server is configured, so no campaign can begin."],
  ];
  return resultText(did, { notes });
}

function reasonTexts(skipped: CampaignPreview["skipped"]): string[] {
  return Object.entries(skipped).map(([reason, count]) =>
    `${counted(count, "user")} not invited: ${reason.replaceAll("_", " ")}.`
  );
}

function campaignTable(campaigns: readonly CampaignView[]): string {
  if (campaigns.length === 0) return "There are no campaigns.\n";
  return table([
    ["id", "name", "state", "started", "users", "done", "invited", "enrolled", "reminded"],
    ...campaigns.map(({ id, name, state, createdMs, total, done, invited, enrolled, reminded }) => [
      ...[id, printable(name), state, utcTimeText(createdMs)],
      ...[total, done, invited, enrolled, reminded].map(String),
    ]),
  ]);
}

const OPTIONS = {
  all: { type: "boolean" },
  group: { type: "string" },
  users: { type: "string" },
  file: { type: "string" },
  name: { type: "string" },
  "dry-run": { type: "boolean" },
  "deadline-days": { type: "string" },
  maximum: { type: "string" },
  "per-minute": { type: "string" },
  "no-reminders": { type: "boolean" },
  "skip-numbers": { type: "boolean" },
  again: { type: "boolean" },
  wait: { type: "boolean" },
  status: { type: "string" },
  format: { type: "string" },
} as const;
const STATUSES = ["enrolled", "number", "invited", "overdue", "not_invited"] as const;

interface GivenOptions {
  readonly maximum?: number;
  readonly perMinute?: number;
  readonly deadlineDays?: number;
  readonly reminders: boolean;
  readonly includesNumbers: boolean;
  readonly again: boolean;
}

interface InvitePlan {
  readonly does: "invite";
  readonly users:
    | { readonly kind: "all" }
    | { readonly kind: "group" | "file"; readonly name: string }
    | { readonly kind: "users"; readonly names: readonly string[] };
  readonly name: string | null;
  readonly isDryRun: boolean;
  readonly waits: boolean;
  readonly options: GivenOptions;
}

export type EnrolPlan =
  | InvitePlan
  | { readonly does: "campaigns" }
  | { readonly does: "cancel"; readonly id: string }
  | {
    readonly does: "report";
    readonly status: typeof STATUSES[number] | "";
    readonly format: "csv" | "json";
  };

type Values = ReturnType<typeof parseCommandArgs<typeof OPTIONS>> extends infer P
  ? P extends { readonly ok: true; readonly values: infer V } ? V : never
  : never;

/** Reads the arguments. A text is the problem with them. */
export function planEnrol(args: readonly string[]): EnrolPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [action, word, extra], values } = parsed;
  if (action === undefined) return "the action is missing";
  const given = Object.keys(values).filter((name) => values[name as keyof Values] !== undefined);
  const isOfReport = (name: string) => name === "status" || name === "format";
  const wrong = given.find((name) => action !== (isOfReport(name) ? "report" : "invite"));
  if (wrong !== undefined) return `--${wrong} is an option of ${isOfReport(wrong) ? "report" : "invite"}`;
  if (extra !== undefined || (word !== undefined && action !== "cancel")) return "there are too many words";
  switch (action) {
    case "invite":
      return planInvite(values);
    case "campaigns":
      return { does: "campaigns" };
    case "cancel":
      return word === undefined ? "the campaign is missing" : { does: "cancel", id: word };
    case "report":
      return planReport(values);
    default:
      return "the action must be invite, campaigns, cancel or report";
  }
}

function planReport({ status: given = "", format = "csv" }: Values): EnrolPlan | string {
  const status = STATUSES.find((one) => one === given);
  if (given !== "" && status === undefined) return `--status must be one of ${STATUSES.join(", ")}`;
  if (format !== "csv" && format !== "json") return "--format must be csv or json";
  return { does: "report", status: status ?? "", format };
}

function planInvite(values: Values): EnrolPlan | string {
  const users = usersOf(values);
  if (typeof users === "string") return users;
  const numbers: { maximum?: number; perMinute?: number; deadlineDays?: number } = {};
  const rows = [["maximum", "maximum", 1_000_000, 1], ["per-minute", "perMinute", 60_000, 1], [
    "deadline-days",
    "deadlineDays",
    365,
    0,
  ]] as const;
  for (const [option, field, max, min] of rows) {
    const text = values[option];
    if (text === undefined) continue;
    const value = /^[0-9]{1,7}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) return `--${option} must be a number from ${min} to ${max}`;
    numbers[field] = value;
  }
  return {
    does: "invite",
    users,
    name: values.name ?? null,
    isDryRun: values["dry-run"] === true,
    waits: values.wait === true,
    options: {
      ...numbers,
      reminders: values["no-reminders"] !== true,
      includesNumbers: values["skip-numbers"] !== true,
      again: values.again === true,
    },
  };
}

function usersOf({ all, group, users, file }: Values): InvitePlan["users"] | string {
  const given = [all === true, group !== undefined, users !== undefined, file !== undefined].filter(Boolean);
  if (given.length !== 1) return "give one of --all, --group, --users and --file";
  if (group !== undefined) return { kind: "group", name: group };
  if (file !== undefined) return { kind: "file", name: file };
  if (users === undefined) return { kind: "all" };
  const names = users.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return names.length === 0 ? "--users must name a user" : { kind: "users", names };
}

export const enrolCommand = adminCommand({ usage: USAGE, plan: planEnrol, run });

if (import.meta.main) await runMain(enrolCommand);
