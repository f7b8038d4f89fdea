// The arguments of `deno task scim-connection`.

import type { ConnectionChange, ConnectionKind } from "../console/api/connections/connection_types.ts";
import {
  CONNECTION_KINDS,
  REQUEST_OUTCOMES,
  type RequestOutcome,
} from "../scim/v2/connections/connection_settings.ts";
import { quoted } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";

const OPTIONS = {
  kind: { type: "string" },
  target: { type: "string" },
  access: { type: "string" },
  oauth: { type: "boolean" },
  "dry-run": { type: "boolean" },
  days: { type: "string" },
  secret: { type: "string" },
  "overlap-hours": { type: "string" },
  outcome: { type: "string" },
  text: { type: "string" },
  count: { type: "string" },
} as const;

type OptionName = keyof typeof OPTIONS;

/** The options of each action. */
const ACTIONS: ReadonlyMap<string, readonly OptionName[]> = new Map<string, readonly OptionName[]>([
  ["list", []],
  ["add", ["kind", "target", "access", "oauth", "dry-run", "days"]],
  ["rotate", ["secret", "overlap-hours", "days"]],
  ["revoke", []],
  ["pause", []],
  ["resume", []],
  ["remove", []],
  ["requests", ["outcome", "text", "count"]],
]);

export type ConnectionPlan =
  | { readonly verb: "list"; readonly name: string | null }
  | { readonly verb: "pause" | "resume" | "remove"; readonly name: string }
  | { readonly verb: "revoke"; readonly name: string; readonly secret: string }
  | {
    readonly verb: "add";
    readonly name: string;
    readonly kind: ConnectionKind;
    /** `null` selects the only target of the settings. */
    readonly target: string | null;
    readonly change: ConnectionChange;
    readonly secret: { readonly kind: "token" | "client_secret"; readonly days: number | null };
  }
  | {
    readonly verb: "rotate";
    readonly name: string;
    /** `null` selects the only valid secret. */
    readonly secret: string | null;
    readonly overlapHours: number;
    readonly days: number | null;
  }
  | {
    readonly verb: "requests";
    readonly name: string;
    readonly outcome: RequestOutcome | "";
    readonly text: string;
    readonly count: number;
  };

/** Reads the arguments. A text is the problem with them. */
export function planScimConnection(args: readonly string[]): ConnectionPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [verb, name, secret, more], values } = parsed;
  if (verb === undefined) return "the action is missing";
  const options = ACTIONS.get(verb);
  if (options === undefined) return `there is no action ${quoted(verb)}`;
  const wrong = (Object.keys(values) as OptionName[]).find((option) => !options.includes(option));
  if (wrong !== undefined) return `--${wrong} cannot be used with ${verb}`;
  if (more !== undefined || (secret !== undefined && verb !== "revoke")) return "there is more than one name";
  if (verb === "list") return { verb, name: name ?? null };
  if (name === undefined) return "the name of the connection is missing";
  if (verb === "pause" || verb === "resume" || verb === "remove") return { verb, name };
  if (verb === "revoke") {
    return secret === undefined ? "the id of the secret is missing" : { verb, name, secret };
  }
  return planWithOptions(verb, name, values);
}

type Values = Partial<Record<OptionName, string | boolean>>;

function planWithOptions(verb: string, name: string, values: Values): ConnectionPlan | string {
  const text = (option: OptionName) => typeof values[option] === "string" ? values[option] : undefined;
  const days = wholeNumber(text("days"), { least: 1, most: 1096 });
  if (days === undefined) return "--days must be a whole number from 1 to 1096";
  if (verb === "add") {
    const kind = CONNECTION_KINDS.find((one) => one === text("kind"));
    if (kind === undefined) return "--kind must be okta, entra or other";
    const access = text("access") ?? "write";
    if (access !== "read" && access !== "write") return "--access must be read or write";
    const change = { access, dryRun: values["dry-run"] === true } as const;
    const secret = { kind: values.oauth === true ? "client_secret" : "token", days } as const;
    return { verb, name, kind, target: text("target") ?? null, change, secret };
  }
  if (verb === "rotate") {
    const overlapHours = wholeNumber(text("overlap-hours") ?? "24", { least: 0, most: 720 });
    if (typeof overlapHours !== "number") return "--overlap-hours must be a whole number from 0 to 720";
    return { verb, name, secret: text("secret") ?? null, overlapHours, days };
  }
  const given = text("outcome");
  const outcome = REQUEST_OUTCOMES.find((one) => one === given);
  if (given !== undefined && outcome === undefined) return "--outcome must be done, refused or failed";
  const count = wholeNumber(text("count") ?? "20", { least: 1, most: 200 });
  if (typeof count !== "number") return "--count must be a whole number from 1 to 200";
  return { verb: "requests", name, outcome: outcome ?? "", text: text("text") ?? "", count };
}

/** `null`: no text. `undefined`: no whole number within the bounds. */
function wholeNumber(
  text: string | undefined,
  { least, most }: { least: number; most: number },
): number | null | undefined {
  if (text === undefined) return null;
  const number = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  return number >= least && number <= most ? number : undefined;
}
