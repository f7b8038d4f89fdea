// `deno task tokens`: imports, lists, assigns and removes hardware tokens.

import type { HardwareTokenPage, HardwareTokenView } from "../console/api/tokens/token_types.ts";
import { type AdminApi, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import { type CommandOutcome, counted, quoted, resultText, table, utcTimeText } from "./format_result.ts";
import { planTokenImport, runTokenImport, type TokenImportPlan } from "./token_import.ts";
import { parseCommandArgs } from "./terminal.ts";
import { runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Import, list, assign and remove hardware tokens.

Usage:
  deno task tokens import <file> [options]         Add the tokens of a seed file (PSKC or CSV).
  deno task tokens list [<text>] [--free]          List the tokens whose serial number, user or manufacturer has the text.
  deno task tokens assign <serial> <user>          Assign a token to a user.
  deno task tokens unassign <serial>               Take a token from its user.
  deno task tokens enable <serial>                 Accept the codes of a token again.
  deno task tokens disable <serial>                Accept no code of a token.
  deno task tokens resync <serial> <code> <code>   Resynchronize a token with two consecutive codes.
  deno task tokens test <serial> <code>            Check a code without using it.
  deno task tokens remove <serial>                 Delete a token and its seed.

Options of import:
  --dry-run            Show what would be imported. Changes nothing.
  --assign             Assign the tokens to the users that the file names.
  --password           Ask for the password of an encrypted PSKC file, or read it from standard input.
  --key                Ask for the pre-shared key (hexadecimal) of an encrypted PSKC file, or read it from standard input.
  --kind <kind>        hotp or totp, for tokens whose type the file does not state.
  --digits <n>         The length of codes, for tokens whose file does not state it (default: 6).
  --period <seconds>   The time step of TOTP, for tokens whose file does not state it (default: 30).
  --algorithm <hash>   SHA1, SHA256 or SHA512, for tokens whose file does not state it (default: SHA1).
  --encoding <name>    The encoding of the seeds in a CSV file: hex, base32 or base64 (default: detected).
  --manufacturer <name>
  --ignore-validity    Accept the tokens outside the validity period that the file states.
`;

export type TokenPlan =
  | { readonly does: "import"; readonly plan: TokenImportPlan }
  | { readonly does: "list"; readonly text: string; readonly isFree: boolean }
  | { readonly does: "assign"; readonly serial: string; readonly user: string }
  | { readonly does: "unassign" | "enable" | "disable" | "remove"; readonly serial: string }
  | { readonly does: "resync"; readonly serial: string; readonly codes: [string, string] }
  | { readonly does: "test"; readonly serial: string; readonly code: string };

/** Reads the arguments. A text is the problem with them. */
export function planTokens([action, ...args]: readonly string[]): TokenPlan | string {
  if (action === undefined) return "the action is missing";
  if (action === "import") {
    const plan = planTokenImport(args);
    return typeof plan === "string" ? plan : { does: "import", plan };
  }
  const parsed = parseCommandArgs(args, action === "list" ? { free: { type: "boolean" } } : {});
  if (!parsed.ok) return parsed.problem;
  const { words, values } = parsed;
  if (action === "list") {
    if (words.length > 1) return "there is more than one text";
    return { does: "list", text: words[0] ?? "", isFree: "free" in values && values.free === true };
  }
  const [serial, first, second] = words;
  if (serial === undefined) return "the serial number is missing";
  switch (action) {
    case "assign":
      if (first === undefined) return "the user is missing";
      return second === undefined ? { does: "assign", serial, user: first } : "there is more than one user";
    case "resync":
      if (first === undefined || second === undefined) return "two codes are required";
      return { does: "resync", serial, codes: [first, second] };
    case "test":
      return first === undefined ? "the code is missing" : { does: "test", serial, code: first };
    case "unassign":
    case "enable":
    case "disable":
    case "remove":
      return first === undefined ? { does: action, serial } : "there is more than one serial number";
    default:
      return `there is no action ${quoted(action)}`;
  }
}

function run(plan: TokenPlan): Promise<CommandOutcome> {
  if (plan.does === "import") return runTokenImport(plan.plan);
  return runCommand(async (api) => success(await performOnTokens(api, plan)));
}

const MAX_LISTED = 1000;
const PAGE_SIZE = 200;

/** Performs an action, and returns the text of its result. */
export async function performOnTokens(
  api: AdminApi,
  plan: Exclude<TokenPlan, { does: "import" }>,
): Promise<string> {
  if (plan.does === "list") return await listTokens(api, plan);
  const { serial } = plan;
  const one = api["hardware-tokens"][":id"];
  const param = { id: pathName(serial, "serial number") };
  const result = (did: string, token: HardwareTokenView) =>
    resultText(`${did} token ${quoted(token.serial)}.`, { blocks: [tokenTable([token])] });
  const call = <T>(of: Parameters<typeof apiValue<T>>[0]): Promise<T> =>
    rewordRefusal(
      apiValue<T>(of),
      ({ message }) => `Cannot ${plan.does} the token ${quoted(serial)}: ${message}`,
    );
  switch (plan.does) {
    case "assign":
      return result("Assigned", await call(one.assign.$post({ param, json: { user: plan.user } })));
    case "unassign":
      return result("Unassigned", await call(one.unassign.$post({ param, json: {} })));
    case "enable":
      return result("Enabled", await call(one.enabled.$put({ param, json: { enabled: true } })));
    case "disable":
      return result("Disabled", await call(one.enabled.$put({ param, json: { enabled: false } })));
    case "resync":
      return result(
        "Resynchronized",
        await call(one.resynchronize.$post({ param, json: { codes: plan.codes } })),
      );
    case "remove":
      return result("Removed", await call(one.$delete({ param, json: {} })));
    case "test":
      return await testCode(api, plan);
  }
}

async function testCode(
  api: AdminApi,
  { serial, code }: { serial: string; code: string },
): Promise<string> {
  const param = { id: pathName(serial, "serial number") };
  const { check } = await rewordRefusal(
    apiValue(api["hardware-tokens"][":id"].test.$post({ param, json: { code } })),
    ({ message }) => `Cannot test the code: ${message}`,
  );
  switch (check.kind) {
    case "valid":
      return resultText(
        `The code is valid. It was not used up. It is ${check.ahead} ahead of the expected one.`,
      );
    case "used":
      return resultText("This code was already used, or a later one was.");
    case "out_of_sync":
      return resultText(`The token is out of sync by ${check.ahead} codes. Resynchronize it.`);
    case "wrong":
      return resultText("This is not a code of this token.");
  }
}

async function listTokens(
  api: AdminApi,
  { text, isFree }: { text: string; isFree: boolean },
): Promise<string> {
  const tokens: HardwareTokenView[] = [];
  let total = 0;
  for (let page = 1; tokens.length < MAX_LISTED; page++) {
    const query = {
      q: text,
      page: String(page),
      size: String(PAGE_SIZE),
      state: isFree ? "free" as const : "" as const,
    };
    const answer: HardwareTokenPage = await apiValue(api["hardware-tokens"].$get({ query }));
    total = answer.total;
    if (answer.rows.length === 0) break;
    tokens.push(...answer.rows);
  }
  const more = total - tokens.length;
  return resultText(total === 0 ? "There are no such tokens." : `${counted(total, "token")}.`, {
    blocks: [
      tokens.length === 0 ? "" : tokenTable(tokens),
      more > 0 ? `  and ${more} more; add a part of the serial number\n` : "",
    ],
  });
}

function tokenTable(tokens: readonly HardwareTokenView[]): string {
  const rows = tokens.map(({ serial, kind, digits, periodS, user, state, manufacturer, usedMs }) => [
    serial,
    kind === "totp" ? `TOTP, ${digits} digits, ${periodS} s` : `HOTP, ${digits} digits`,
    user ?? "",
    state,
    manufacturer,
    usedMs === null ? "never" : utcTimeText(usedMs),
  ]);
  return table([["serial number", "type", "user", "state", "manufacturer", "last used"], ...rows]);
}

if (import.meta.main) await runMain({ usage: USAGE, plan: planTokens, run });
