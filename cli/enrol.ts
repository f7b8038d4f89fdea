// `deno task enrol`: invites users by mail, shows campaigns, and writes the enrolment report.

import type { CampaignPreview, CampaignView } from "../console/api/enrolment/campaigns.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import { FileError, openRowFile } from "../scim/transfer/row_reader.ts";
import { identifyRow } from "../scim/transfer/validate_rows.ts";
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
import { checkTarget, refusal, runCommand, runMain, success } from "./run_admin_command.ts";
import { type EnrolPlan, type InvitePlan, planEnrol } from "./enrol_plan.ts";
import { type Progress, terminalProgress } from "./terminal.ts";

const USAGE = `Invite users by mail to set up a second factor, and show who has one.

Usage:
  deno task enrol invite --all              Invite all active users without a factor.
  deno task enrol invite --group <group>    Invite the members of a group.
  deno task enrol invite --users <a,b>      Invite these users.
  deno task enrol invite --file <file>      Invite the users of a file, such as the file of an import.
  deno task enrol campaigns                 List the campaigns, with their progress.
  deno task enrol cancel <campaign>         End a campaign. Sent invitations stay valid.
  deno task enrol report                    Write the enrolment report to standard output.

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
export async function performEnrol(plan: EnrolPlan, deps: EnrolDeps): Promise<CommandOutcome> {
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

if (import.meta.main) await runMain({ usage: USAGE, plan: planEnrol, run });
