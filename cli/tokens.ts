// `deno task tokens`: imports, lists, assigns and removes hardware tokens.

import { COMMAND } from "../platform/command_name.ts";
import { type AdminApi, apiValue, commandClock, pathName, rewordRefusal } from "./admin_connection.ts";
import {
  type CommandOutcome,
  counted,
  printable,
  quoted,
  resultText,
  table,
  utcTimeText,
} from "./format_result.ts";
import { adminCommand, refusal, runCommand, runMain, success } from "./run_admin_command.ts";
import { parseCommandArgs, readSecretLine, writeNotice } from "./terminal.ts";
import type {
  HardwareTokenPage,
  HardwareTokenView,
  TokenImportRow,
  TokenImportView,
} from "../console/api/tokens/token_types.ts";
import { decodeFileText } from "../platform/file_text.ts";
import { pauseFor } from "../platform/runtime.ts";

const USAGE = `Import, list, assign and remove hardware tokens.

Usage:
  ${COMMAND} tokens import <file> [options]         Add the tokens of a seed file (PSKC or CSV).
  ${COMMAND} tokens list [<text>] [--free]          List the tokens whose serial number, user or manufacturer has the text.
  ${COMMAND} tokens assign <serial> <user>          Assign a token to a user.
  ${COMMAND} tokens unassign <serial>               Take a token from its user.
  ${COMMAND} tokens enable <serial>                 Accept the codes of a token again.
  ${COMMAND} tokens disable <serial>                Accept no code of a token.
  ${COMMAND} tokens resync <serial> <code> <code>   Resynchronize a token with two consecutive codes.
  ${COMMAND} tokens test <serial> <code>            Check a code without using it.
  ${COMMAND} tokens remove <serial>                 Delete a token and its seed.

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
  if (plan.does === "test") return runCommand((api) => testCode(api, plan));
  return runCommand(async (api) => success(await performOnTokens(api, plan)));
}

const MAX_LISTED = 1000;
const PAGE_SIZE = 200;

/** Performs an action, and returns the text of its result. */
async function performOnTokens(
  api: AdminApi,
  plan: Exclude<TokenPlan, { does: "import" | "test" }>,
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
  }
}

/** Ends with 1 if a login would refuse the code. */
async function testCode(
  api: AdminApi,
  { serial, code }: { serial: string; code: string },
): Promise<CommandOutcome> {
  const param = { id: pathName(serial, "serial number") };
  const { check } = await rewordRefusal(
    apiValue(api["hardware-tokens"][":id"].test.$post({ param, json: { code } })),
    ({ message }) => `Cannot test the code: ${message}`,
  );
  switch (check.kind) {
    case "valid":
      return success(
        resultText(`The code is valid. It was not used up. It is ${check.ahead} ahead of the expected one.`),
      );
    case "used":
      return refusal("This code was already used, or a later one was.");
    case "out_of_sync":
      return refusal(`The token is out of sync by ${check.ahead} codes. Resynchronize it.`);
    case "wrong":
      return refusal("This is not a code of this token.");
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

const OPTIONS = {
  "dry-run": { type: "boolean" },
  assign: { type: "boolean" },
  password: { type: "boolean" },
  key: { type: "boolean" },
  kind: { type: "string" },
  digits: { type: "string" },
  period: { type: "string" },
  algorithm: { type: "string" },
  encoding: { type: "string" },
  manufacturer: { type: "string" },
  "ignore-validity": { type: "boolean" },
} as const;

const KINDS = ["hotp", "totp"] as const;
const ALGORITHMS = ["SHA1", "SHA256", "SHA512"] as const;
const ENCODINGS = ["auto", "hex", "base32", "base64"] as const;
const DIGITS = ["6", "7", "8"] as const;

interface TokenImportPlan {
  readonly file: string;
  readonly isDryRun: boolean;
  readonly secret: "password" | "key" | null;
  readonly options: {
    readonly kind: typeof KINDS[number] | null;
    readonly algorithm: typeof ALGORITHMS[number] | null;
    readonly digits: number | null;
    readonly periodS: number | null;
    readonly encoding: typeof ENCODINGS[number];
    readonly manufacturer: string;
    readonly assigns: boolean;
    readonly ignoreValidity: boolean;
  };
}

/** Reads the arguments. A text is the problem with them. */
function planTokenImport(args: readonly string[]): TokenImportPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [file, second], values } = parsed;
  if (file === undefined) return "the file is missing";
  if (second !== undefined) return "there is more than one file";
  if (values.password === true && values.key === true) return "--password and --key exclude each other";
  const kind = choice("kind", values.kind, KINDS);
  const algorithm = choice("algorithm", values.algorithm?.toUpperCase(), ALGORITHMS);
  const encoding = choice("encoding", values.encoding, ENCODINGS);
  const digits = choice("digits", values.digits, DIGITS);
  for (const one of [kind, algorithm, encoding, digits]) {
    if (one !== null && "problem" in one) return one.problem;
  }
  const period = values.period ?? null;
  if (period !== null && !/^[1-9][0-9]{1,2}$/.test(period)) return "--period must be a number of seconds";
  return {
    file,
    isDryRun: values["dry-run"] === true,
    secret: values.password === true ? "password" : values.key === true ? "key" : null,
    options: {
      kind: valueOf(kind),
      algorithm: valueOf(algorithm),
      digits: digits === null ? null : Number(valueOf(digits)),
      periodS: period === null ? null : Number(period),
      encoding: valueOf(encoding) ?? "auto",
      manufacturer: values.manufacturer ?? "",
      assigns: values.assign === true,
      ignoreValidity: values["ignore-validity"] === true,
    },
  };
}

type Choice<T> = { readonly value: T } | { readonly problem: string } | null;

function choice<T extends string>(name: string, given: string | undefined, values: readonly T[]): Choice<T> {
  if (given === undefined) return null;
  const value = values.find((one) => one === given);
  return value === undefined ? { problem: `--${name} must be one of ${values.join(", ")}` } : { value };
}

function valueOf<T>(given: Choice<T>): T | null {
  return given !== null && "value" in given ? given.value : null;
}

const MAX_FILE_OCTETS = 16 * 1024 * 1024;

async function runTokenImport(plan: TokenImportPlan): Promise<CommandOutcome> {
  const text = await readSeedText(plan.file);
  if (text === null) {
    return refusal(
      `Cannot read ${
        quoted(plan.file)
      }: it is missing, larger than 16 MiB, or not text in UTF-8 or UTF-16.\n`,
    );
  }
  const secret = plan.secret === null ? "" : await readSecretLine(Deno.stdin, writeNotice);
  if (secret === null) return refusal(`Cannot import the file: no ${plan.secret} was entered.\n`);
  return await runCommand((api) => importSeedFile(api, plan, { text, secret }));
}

async function readSeedText(path: string): Promise<string | null> {
  try {
    if ((await Deno.stat(path)).size > MAX_FILE_OCTETS) return null;
    return decodeFileText(await Deno.readFile(path));
  } catch (_unreadable) {
    return null;
  }
}

const PIECE_CHARACTERS = 200_000;

/** Uploads the file, checks it, and imports it unless it is a dry run. */
async function importSeedFile(
  api: AdminApi,
  { file, isDryRun, secret: secretKind, options }: TokenImportPlan,
  { text, secret }: { text: string; secret: string },
): Promise<CommandOutcome> {
  const { imports } = api["hardware-tokens"];
  const name = file.slice(file.lastIndexOf("/") + 1).slice(0, 300);
  const { id } = await apiValue<TokenImportView>(imports.$post({ json: { file: name } }));
  const param = { id };
  for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
    const json = { text: text.slice(from, from + PIECE_CHARACTERS) };
    await apiValue<TokenImportView>(imports[":id"].text.$post({ param, json }));
  }
  const json = { ...options, ...(secretKind === null ? {} : { [secretKind]: secret }) };
  await apiValue<TokenImportView>(imports[":id"].check.$post({ param, json }));
  const checked = await whenState(api, id, "checked");
  if (checked.problem !== null) return refusal(`Cannot import ${quoted(name)}: ${checked.detail}\n`);
  const problems = await readRefused(api, id);
  if (!isDryRun && checked.counts.new > 0) {
    await apiValue<TokenImportView>(imports[":id"].apply.$post({ param, json: {} }));
    const { imported, problem, detail } = await whenState(api, id, "applied");
    if (problem !== null) return refusal(`${detail} ${counted(imported, "token")} were imported.\n`);
  }
  const done = isDryRun ? "Nothing was changed." : `Imported ${counted(checked.counts.new, "token")}.`;
  const report = reportText(checked, problems, done);
  return checked.counts.refused > 0 ? { out: report, err: "", exitCode: 1 } : success(report);
}

const POLL_MS = 200;

async function whenState(
  api: AdminApi,
  id: string,
  state: TokenImportView["state"],
): Promise<TokenImportView> {
  const one = api["hardware-tokens"].imports[":id"];
  while (true) {
    const view: TokenImportView = await apiValue(one.$get({ param: { id }, query: {} }));
    if (view.state === state) return view;
    await pauseFor(commandClock, POLL_MS);
  }
}

/** The refused rows that are printed. */
const MAX_PRINTED = 100;

async function readRefused(api: AdminApi, id: string): Promise<readonly TokenImportRow[]> {
  const query = { verdict: "refused" as const, size: String(MAX_PRINTED) };
  const one = api["hardware-tokens"].imports[":id"];
  return (await apiValue<TokenImportView>(one.$get({ param: { id }, query }))).rows;
}

function reportText(view: TokenImportView, refused: readonly TokenImportRow[], done: string): string {
  const { counts, assigns } = view;
  const rows = refused.map(({ line, serial, detail }) => [String(line), printable(serial), detail]);
  const more = counts.refused - refused.length;
  return resultText(
    `${counted(view.total, "row")}: ${counts.new} new, ${counts.known} known, ${counts.refused} refused, ` +
      `${assigns} assigned. ${done}`,
    {
      blocks: [
        rows.length === 0 ? "" : table([["row", "serial number", "problem"], ...rows]),
        more > 0 ? `  and ${more} more\n` : "",
      ],
      notes: view.isSigned ? ["The file is signed. The signature is not checked."] : [],
    },
  );
}

export const tokensCommand = adminCommand({ usage: USAGE, plan: planTokens, run });

if (import.meta.main) await runMain(tokensCommand);
