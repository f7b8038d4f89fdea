// `deno task tokens import`: uploads a seed file, prints the report of the dry run, and imports the tokens. No seed is printed.

import type { TokenImportRow, TokenImportView } from "../console/api/tokens/token_types.ts";
import { type AdminApi, apiValue, commandClock } from "./admin_connection.ts";
import { type CommandOutcome, counted, printable, quoted, resultText, table } from "./format_result.ts";
import { pauseFor } from "../platform/runtime.ts";
import { decodeFileText } from "../platform/file_text.ts";
import { parseCommandArgs, readSecretLine, writeNotice } from "./terminal.ts";
import { refusal, runCommand, success } from "./run_admin_command.ts";

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

export interface TokenImportPlan {
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
export function planTokenImport(args: readonly string[]): TokenImportPlan | string {
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

export async function runTokenImport(plan: TokenImportPlan): Promise<CommandOutcome> {
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
export async function importSeedFile(
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
  if (isDryRun) return success(reportText(checked, problems, "Nothing was changed."));
  if (checked.counts.new > 0) {
    await apiValue<TokenImportView>(imports[":id"].apply.$post({ param, json: {} }));
    const { imported, problem, detail } = await whenState(api, id, "applied");
    if (problem !== null) return refusal(`${detail} ${counted(imported, "token")} were imported.\n`);
  }
  const done = `Imported ${counted(checked.counts.new, "token")}.`;
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
