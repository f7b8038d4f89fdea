// The arguments of `deno task log-export`.

import { quoted } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";

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
export interface NewDestinationPlan {
  readonly verb: "add";
  readonly name: string;
  readonly kind: "syslog_tls" | "syslog_udp" | "webhook";
  readonly address: { readonly url: string } | { readonly host: string; readonly port: number };
  readonly allowsHttp: boolean;
  readonly format?: string;
  readonly records?: readonly string[];
  readonly numbers: Readonly<Partial<Record<"facility" | "maxHours" | "maxRecords" | "pastHours", number>>>;
  readonly files: Readonly<Partial<Record<"ca" | "certificate" | "privateKey" | "authorization", string>>>;
}

export type LogExportPlan =
  | { readonly verb: "list" }
  | { readonly verb: Exclude<Verb, "list" | "add">; readonly name: string }
  | NewDestinationPlan;

/** Reads the arguments. A text is the problem with them. */
export function planLogExport(args: readonly string[]): LogExportPlan | string {
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
  const kinds = (["syslog-tls", "syslog-udp", "webhook"] as const).filter((kind) => text(kind) !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    return "exactly one of --syslog-tls, --syslog-udp and --webhook is required";
  }
  const address = kind === "webhook" ? { url: text(kind) ?? "" } : readHostAndPort(text(kind) ?? "", kind);
  if (address === null) return `--${kind} must be a host and a port, such as logs.example.com:6514`;
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
    ...{ verb: "add", name, address, numbers, files },
    kind: kind === "webhook" ? kind : kind === "syslog-tls" ? "syslog_tls" : "syslog_udp",
    allowsHttp: values["allow-http"] === true,
    ...format === undefined ? {} : { format: format.replaceAll("-", "_") },
    ...records === undefined ? {} : { records: records.split(",") },
  };
}

const DEFAULT_PORTS = { "syslog-tls": 6514, "syslog-udp": 514 } as const;

/** `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. */
function readHostAndPort(
  text: string,
  kind: keyof typeof DEFAULT_PORTS,
): { host: string; port: number } | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text);
  if (found === null) return null;
  return { host: found[1] ?? found[2] ?? "", port: Number(found[3] ?? DEFAULT_PORTS[kind]) };
}
