// `deno task log-export`: lists, adds, tests, pauses and removes the destinations of the log export.

import { type AdminApi, AdminRefusal, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import { type CommandOutcome, counted, quoted, resultText, table, utcTimeText } from "./format_result.ts";
import { runCommand, runMain, success } from "./run_admin_command.ts";
import { parseCommandArgs } from "./terminal.ts";
import type { DestinationRow } from "../console/api/log_export/log_export_types.ts";
import {
  DESTINATION_KIND_NAMES,
  DESTINATION_KINDS,
  type DestinationKind,
} from "../platform/log_export/destination_choices.ts";

const USAGE = `Send logins and the audit log to other systems, as syslog or as webhooks.

Usage:
  deno task log-export list                       List all destinations with their state.
  deno task log-export add <name> <address>       Create a destination. See the addresses below.
  deno task log-export test <name>                Send a test record.
  deno task log-export pause <name>               Stop sending. Records wait, up to the bound.
  deno task log-export resume <name>              Send again, beginning with the oldest record that waits.
  deno task log-export renew-secret <name>        Create a new key for the signatures of a webhook.
  deno task log-export remove <name>              Remove a destination.

Addresses:
  --syslog-tls <host>[:<port>]  Syslog over TLS (RFC 5425), port 6514 by default.
  --syslog-udp <host>[:<port>]  Syslog over UDP (RFC 5426), port 514 by default. Records can get lost.
  --webhook <url>               A signed POST for each batch of records.

Options of add:
  --format <format>           Syslog: json (default) or structured-data. Webhook: json (default) or ndjson.
  --records <kinds>           Kinds, with commas: logins, audit, drops, alerts (default: logins,audit,alerts).
  --facility <n>              The syslog facility, 0 to 23 (default: 10).
  --ca <file>                 Accept the certificates of these authorities (PEM).
  --cert <file> --key <file>  The client certificate of syslog over TLS, and its key (PEM).
  --authorization-file <file> The value of the Authorization header of a webhook.
  --allow-http                Allow a webhook without TLS.
  --max-hours <n>             Skip records that wait for longer, 1 to 720 (default: 72).
  --max-records <n>           Skip the oldest if more records wait (default: 500000).
  --past-hours <n>            First send the records of the last hours, 0 to 720 (default: 0).

A name begins with a letter, and has at most 40 letters a to z, digits and hyphens.
`;

async function run(plan: LogExportPlan, api: AdminApi): Promise<CommandOutcome> {
  if (plan.verb === "list") return await list(api);
  const commands = new DestinationCommands(api, plan.name);
  switch (plan.verb) {
    case "add":
      return await commands.add(plan);
    case "test":
      return await commands.test();
    case "renew-secret":
      return await commands.renewSecret();
    case "remove":
      return await commands.remove();
    default:
      return await commands.setPaused(plan.verb === "pause");
  }
}

async function list(api: AdminApi): Promise<CommandOutcome> {
  const { items } = await apiValue(api["log-export"].$get());
  if (items.length === 0) return success(resultText("There are no destinations."));
  const rows = items.map((item) => [
    item.name,
    item.settings.kind.replace("_", " "),
    item.address,
    stateText(item),
    String(item.sent),
    String(item.backlog),
    String(item.skipped),
    item.lastSentMs === null ? "never" : utcTimeText(item.lastSentMs),
  ]);
  const head = ["name", "kind", "address", "state", "sent", "waiting", "skipped", "last sent"];
  return success(
    resultText(`${counted(items.length, "destination")}.`, { blocks: [table([head, ...rows])] }),
  );
}

function stateText({ settings, problem, lastSentMs }: DestinationRow): string {
  if (settings.isPaused) return "paused";
  if (problem !== null) return `failing: ${problem.detail}`;
  return lastSentMs === null ? "new" : "ok";
}

class DestinationCommands {
  readonly #api: AdminApi;
  readonly #name: string;

  constructor(api: AdminApi, name: string) {
    this.#api = api;
    this.#name = name;
  }

  async add(
    { kind, address, allowsHttp, format, records, numbers, files }: NewDestinationPlan,
  ): Promise<CommandOutcome> {
    const texts = await Promise.all(
      Object.entries(files).map(async ([field, path]) => [field, await readText(path, field)] as const),
    );
    type Body = Parameters<AdminApi["log-export"]["$post"]>[0]["json"];
    // The API refuses what is not one of its values.
    const json = {
      ...{ name: this.#name, kind, allowsHttp, ...address, ...numbers, ...Object.fromEntries(texts) },
      ...format === undefined ? {} : { format },
      ...records === undefined ? {} : { records },
    } as Body;
    const { item, webhookSecret } = await this.#reword(
      "create",
      apiValue(this.#api["log-export"].$post({ json })),
    );
    const did = `Created the destination ${quoted(this.#name)} at ${item.address}.`;
    return success(resultText(did, { blocks: secretBlocks(webhookSecret) }));
  }

  async test(): Promise<CommandOutcome> {
    const call = this.#api["log-export"][":name"].test.$post({ param: this.#param(), json: {} });
    const { result } = await this.#reword("test", apiValue(call));
    if (result.ok) return success(resultText(`The receiver has a test record, after ${result.tookMs} ms.`));
    throw new AdminRefusal(
      "test_failed",
      `The test of ${quoted(this.#name)} failed (${result.code}): ${result.detail}.`,
    );
  }

  async setPaused(paused: boolean): Promise<CommandOutcome> {
    const call = this.#api["log-export"][":name"].pause.$post({ param: this.#param(), json: { paused } });
    await this.#reword(paused ? "pause" : "resume", apiValue(call));
    return success(resultText(`${paused ? "Paused" : "Resumed"} the destination ${quoted(this.#name)}.`));
  }

  async renewSecret(): Promise<CommandOutcome> {
    const param = this.#param();
    const { item: { version } } = await this.#reword(
      "read",
      apiValue(this.#api["log-export"][":name"].$get({ param })),
    );
    const call = this.#api["log-export"][":name"].secret.$post({ param, json: { version } });
    const { webhookSecret } = await this.#reword("renew the secret of", apiValue(call));
    const did = `Created a new secret for ${quoted(this.#name)}. The old one is not used any more.`;
    return success(resultText(did, { blocks: secretBlocks(webhookSecret) }));
  }

  async remove(): Promise<CommandOutcome> {
    await this.#reword(
      "remove",
      apiValue(this.#api["log-export"][":name"].$delete({ param: this.#param() })),
    );
    return success(resultText(`Removed the destination ${quoted(this.#name)}.`));
  }

  #param(): { name: string } {
    return { name: pathName(this.#name, "destination") };
  }

  #reword<T>(did: string, value: Promise<T>): Promise<T> {
    return rewordRefusal(
      value,
      ({ message }) => `Cannot ${did} the destination ${quoted(this.#name)}: ${message}`,
    );
  }
}

function secretBlocks(secret: string): string[] {
  return secret === "" ? [] : [table([["Signature secret:", `${secret}   (shown only once)`]])];
}

const MAX_FILE_OCTETS = 64 * 1024;

/** A certificate, a key or a header in a file. */
async function readText(path: string, field: string): Promise<string> {
  try {
    const { size } = await Deno.stat(path);
    if (size > MAX_FILE_OCTETS) {
      throw new AdminRefusal("too_large", `Cannot use ${quoted(path)}: the file is too large.`);
    }
    const text = await Deno.readTextFile(path);
    return field === "authorization" ? text.trim() : text;
  } catch (fault) {
    if (fault instanceof AdminRefusal) throw fault;
    throw new AdminRefusal("unreadable", `Cannot read the file ${quoted(path)}.`);
  }
}

const OPTIONS = {
  "syslog-tls": { type: "string" },
  "syslog-udp": { type: "string" },
  webhook: { type: "string" },
  format: { type: "string" },
  records: { type: "string" },
  facility: { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  "authorization-file": { type: "string" },
  "allow-http": { type: "boolean" },
  "max-hours": { type: "string" },
  "max-records": { type: "string" },
  "past-hours": { type: "string" },
} as const;

type OptionName = keyof typeof OPTIONS;
type Values = Partial<Record<OptionName, string | boolean>>;

const VERBS = ["list", "add", "test", "pause", "resume", "renew-secret", "remove"] as const;
type Verb = typeof VERBS[number];

/** A destination to add. Files are paths; the API checks the values. */
interface NewDestinationPlan {
  readonly verb: "add";
  readonly name: string;
  readonly kind: DestinationKind;
  readonly address: { readonly url: string } | { readonly host: string; readonly port: number };
  readonly allowsHttp: boolean;
  readonly format?: string;
  readonly records?: readonly string[];
  readonly numbers: Readonly<Partial<Record<"facility" | "maxHours" | "maxRecords" | "pastHours", number>>>;
  readonly files: Readonly<Partial<Record<"ca" | "certificate" | "privateKey" | "authorization", string>>>;
}

type LogExportPlan =
  | { readonly verb: "list" }
  | { readonly verb: Exclude<Verb, "list" | "add">; readonly name: string }
  | NewDestinationPlan;

/** Reads the arguments. A text is the problem with them. */
function planLogExport(args: readonly string[]): LogExportPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [word, name, more], values } = parsed;
  if (word === undefined) return "the action is missing";
  const verb = VERBS.find((one) => one === word);
  if (verb === undefined) return `there is no action ${quoted(word)}`;
  const [option] = Object.keys(values);
  if (option !== undefined && verb !== "add") return `--${option} cannot be used with ${verb}`;
  if (more !== undefined) return "there is more than one name";
  if (verb === "list") return name === undefined ? { verb } : "list takes no name";
  if (name === undefined) return "the name of the destination is missing";
  return verb === "add" ? planAdd(name, values) : { verb, name };
}

const KIND_OPTIONS = {
  syslog_tls: "syslog-tls",
  syslog_udp: "syslog-udp",
  webhook: "webhook",
} as const satisfies Record<DestinationKind, OptionName>;
const NUMBERS = {
  facility: "facility",
  "max-hours": "maxHours",
  "max-records": "maxRecords",
  "past-hours": "pastHours",
} as const;
const FILES = {
  ca: "ca",
  cert: "certificate",
  key: "privateKey",
  "authorization-file": "authorization",
} as const;

function planAdd(name: string, values: Values): NewDestinationPlan | string {
  const text = (option: OptionName) => typeof values[option] === "string" ? values[option] : undefined;
  const kinds = DESTINATION_KIND_NAMES.filter((kind) => text(KIND_OPTIONS[kind]) !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    return "exactly one of --syslog-tls, --syslog-udp and --webhook is required";
  }
  const row = DESTINATION_KINDS[kind];
  const where = text(KIND_OPTIONS[kind]) ?? "";
  const address = row.hasUrl ? { url: where } : readHostAndPort(where, row);
  if (address === null) {
    return `--${KIND_OPTIONS[kind]} must be a host and a port, such as logs.example.com:6514`;
  }
  const numbers: Record<string, number> = {};
  for (const [option, field] of Object.entries(NUMBERS)) {
    const given = text(option as OptionName);
    if (given === undefined) continue;
    if (!/^\d{1,9}$/.test(given)) return `--${option} must be a whole number`;
    numbers[field] = Number(given);
  }
  const files = Object.fromEntries(
    Object.entries(FILES).flatMap(([option, field]) => {
      const path = text(option as OptionName);
      return path === undefined ? [] : [[field, path]];
    }),
  );
  const format = text("format");
  const records = text("records");
  return {
    ...{ verb: "add", name, kind, address, numbers, files },
    allowsHttp: values["allow-http"] === true,
    ...format === undefined ? {} : { format: format.replaceAll("-", "_") },
    ...records === undefined ? {} : { records: records.split(",") },
  };
}

/** `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. */
function readHostAndPort(
  text: string,
  { port }: { readonly port: number },
): { host: string; port: number } | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text);
  if (found === null) return null;
  return { host: found[1] ?? found[2] ?? "", port: Number(found[3] ?? port) };
}

if (import.meta.main) {
  await runMain({ usage: USAGE, plan: planLogExport, run: (plan) => runCommand((api) => run(plan, api)) });
}
