// The arguments of `deno task enrol`.

import { parseCommandArgs } from "./terminal.ts";

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

export interface InvitePlan {
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
