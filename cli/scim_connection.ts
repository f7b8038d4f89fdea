// `deno task scim-connection`: creates, lists, pauses and removes connections of identity providers, and their secrets.

import { type AdminApi, AdminRefusal, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import {
  type CommandOutcome,
  counted,
  printable,
  quoted,
  resultText,
  table,
  utcTimeText,
} from "./format_result.ts";
import { checkTarget, runCommand, runMain, success, targetNames } from "./run_admin_command.ts";
import { parseCommandArgs } from "./terminal.ts";
import type {
  ConnectionChange,
  ConnectionKind,
  ConnectionRequestRow,
  ConnectionRow,
  ConnectionSecretRow,
  CreatedConnectionSecret,
} from "../console/api/connections/connection_types.ts";
import type { Config } from "../platform/config/config.ts";
import {
  CONNECTION_KINDS,
  REQUEST_OUTCOMES,
  type RequestOutcome,
} from "../scim/v2/connections/connection_settings.ts";

const USAGE = `Manage the connections of identity providers, which provision users through /scim/v2.

Usage:
  deno task scim-connection list [<name>]           List all connections, or the secrets of one.
  deno task scim-connection add <name> [options]    Create a connection and print its token once.
  deno task scim-connection rotate <name>           Create a new secret. The old one stays valid for a while.
  deno task scim-connection revoke <name> <secret>  Revoke a secret immediately.
  deno task scim-connection pause <name>            Answer each request with 503.
  deno task scim-connection resume <name>           Answer requests again.
  deno task scim-connection remove <name>           Remove a connection. Its users stay.
  deno task scim-connection requests <name>         List its last requests.

Options of add:
  --kind okta|entra|other   The identity provider. Required.
  --target <target>         Provision this target. Required if the settings define several targets.
  --access read|write       Set the permission (default: write).
  --oauth                   Create a client secret for the OAuth token endpoint instead of a token.
  --dry-run                 Check, answer and log writes, but store nothing.
  --days <n>                Let the secret expire after 1 to 1096 days (default: never).

Options of rotate:
  --secret <id>             Replace this secret. Required if the connection has several valid secrets.
  --overlap-hours <n>       Keep the old secret valid for 0 to 720 hours (default: 24).
  --days <n>                Let the new secret expire after 1 to 1096 days (default: never).

Options of requests:
  --outcome done|refused|failed  List only these.
  --text <text>             List only requests whose user, address or reason contains this text.
  --count <n>               List at most 1 to 200 requests (default: 20).

A name begins with a letter, and has at most 40 letters a to z, digits and hyphens.
`;

async function run(plan: ConnectionPlan): Promise<CommandOutcome> {
  const targets = plan.verb === "add" && plan.target !== null ? [plan.target] : [];
  return await runCommand((api, config) => runAction(plan, api, config), { targets });
}

async function runAction(plan: ConnectionPlan, api: AdminApi, config: Config): Promise<CommandOutcome> {
  if (plan.verb === "list") return await list(api, plan.name);
  const commands = new ConnectionCommands(api, plan.name);
  switch (plan.verb) {
    case "add":
      return await commands.add(plan, config);
    case "rotate":
      return await commands.rotate(plan);
    case "revoke":
      return await commands.revoke(plan.secret);
    case "requests":
      return await commands.requests(plan);
    case "remove":
      return await commands.remove();
    default:
      return await commands.setPaused(plan.verb === "pause");
  }
}

async function list(api: AdminApi, name: string | null): Promise<CommandOutcome> {
  if (name === null) {
    const { items } = await apiValue(api.connections.$get());
    if (items.length === 0) return success(resultText("There are no connections."));
    return success(
      resultText(`${counted(items.length, "connection")}.`, { blocks: [connectionTable(items)] }),
    );
  }
  const { item, nowMs } = await new ConnectionCommands(api, name).read();
  const { secrets, url } = item;
  const did = `The connection ${quoted(name)} at ${url} has ${counted(secrets.length, "secret")}.`;
  return success(resultText(did, { blocks: secrets.length === 0 ? [] : [secretTable(secrets, nowMs)] }));
}

class ConnectionCommands {
  readonly #api: AdminApi;
  readonly #name: string;

  constructor(api: AdminApi, name: string) {
    this.#api = api;
    this.#name = name;
  }

  async add(
    { name, kind, target, change, secret }: Extract<ConnectionPlan, { verb: "add" }>,
    config: Config,
  ): Promise<CommandOutcome> {
    const json = { name, kind, target: wantedTarget(target, config), ...change, secret };
    const made = await this.#reword("create", apiValue(this.#api.connections.$post({ json })));
    const did = `Created the connection ${quoted(name)} with ${json.access} access to ${
      targetNames([json.target])
    }.`;
    return success(resultText(did, { blocks: [newSecretText(made)] }));
  }

  async rotate(
    { secret, overlapHours, days }: Extract<ConnectionPlan, { verb: "rotate" }>,
  ): Promise<CommandOutcome> {
    const replaces = secret ?? await this.#onlySecret();
    const call = this.#api.connections[":name"].secrets.$post({
      param: this.#param(),
      json: { replaces, overlapHours, days },
    });
    const made = await this.#reword("rotate the secret of", apiValue(call));
    const did = overlapHours === 0
      ? `Created a new secret of ${quoted(this.#name)}. The old one is revoked.`
      : `Created a new secret of ${quoted(this.#name)}. The old one is valid for ${
        counted(overlapHours, "hour")
      }.`;
    return success(resultText(did, { blocks: [newSecretText(made)] }));
  }

  async revoke(id: string): Promise<CommandOutcome> {
    const param = { ...this.#param(), id: pathName(id, "secret") };
    const call = this.#api.connections[":name"].secrets[":id"].$delete({ param });
    await this.#reword("revoke the secret of", apiValue(call));
    return success(resultText(`Revoked the secret ${quoted(id)} of ${quoted(this.#name)}.`));
  }

  async setPaused(paused: boolean): Promise<CommandOutcome> {
    const { item: { version } } = await this.read();
    const json = { version, change: { paused } };
    const call = this.#api.connections[":name"].$patch({ param: this.#param(), json });
    await this.#reword(paused ? "pause" : "resume", apiValue(call));
    return success(resultText(`${paused ? "Paused" : "Resumed"} the connection ${quoted(this.#name)}.`));
  }

  async remove(): Promise<CommandOutcome> {
    await this.#reword("remove", apiValue(this.#api.connections[":name"].$delete({ param: this.#param() })));
    return success(resultText(`Removed the connection ${quoted(this.#name)}.`));
  }

  async requests(
    { outcome, text, count }: Extract<ConnectionPlan, { verb: "requests" }>,
  ): Promise<CommandOutcome> {
    const query = { outcome, text, size: String(count) };
    const call = this.#api.connections[":name"].requests.$get({ param: this.#param(), query });
    const { rows } = await this.#reword("list the requests of", apiValue(call));
    if (rows.length === 0) return success(resultText("There are no such requests."));
    const did = `The last ${counted(rows.length, "request")} of ${quoted(this.#name)}, newest first.`;
    return success(resultText(did, { blocks: [requestTable(rows)] }));
  }

  read() {
    return this.#reword("read", apiValue(this.#api.connections[":name"].$get({ param: this.#param() })));
  }

  async #onlySecret(): Promise<string> {
    const { item: { secrets }, nowMs } = await this.read();
    const valid = secrets.filter(({ expiresMs }) => expiresMs === null || expiresMs > nowMs);
    const [only] = valid;
    if (only !== undefined && valid.length === 1) return only.id;
    const problem = only === undefined ? "it has no valid secret" : "choose one with --secret";
    throw new AdminRefusal(
      "unknown_secret",
      `Cannot rotate the secret of ${quoted(this.#name)}: ${problem}.`,
    );
  }

  #param(): { name: string } {
    return { name: pathName(this.#name, "connection") };
  }

  #reword<T>(did: string, value: Promise<T>): Promise<T> {
    return rewordRefusal(
      value,
      ({ message }) => `Cannot ${did} the connection ${quoted(this.#name)}: ${message}`,
    );
  }
}

/** The target of the arguments. Without one, the only target of the settings. */
function wantedTarget(given: string | null, config: Config): string {
  if (given !== null) return checkTarget(given, config).name;
  const [only, ...others] = config.targets.map(({ name }) => name);
  if (only !== undefined && others.length === 0) return only;
  const names = targetNames(config.targets.map(({ name }) => name));
  throw new AdminRefusal(
    "unknown_target",
    `Cannot create the connection: choose its target with --target. The settings define ${names}.`,
  );
}

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

const KINDS = { token: "token", client_secret: "client secret" } as const;

function connectionTable(connections: readonly ConnectionRow[]): string {
  const rows = connections.map(({ settings, lastRequest, lacksTarget }) => [
    settings.name,
    settings.kind,
    settings.target,
    settings.access,
    stateText(settings, lacksTarget),
    lastRequest === null ? "none" : `${utcTimeText(lastRequest.atMs)} (${lastRequest.status})`,
  ]);
  return table([["name", "kind", "target", "access", "state", "last request"], ...rows]);
}

function stateText({ paused, dryRun }: ConnectionRow["settings"], lacksTarget: boolean): string {
  if (lacksTarget) return "no target";
  if (paused) return "paused";
  return dryRun ? "dry run" : "active";
}

function secretTable(secrets: readonly ConnectionSecretRow[], nowMs: number): string {
  const rows = secrets.map(({ id, kind, createdMs, expiresMs, usedMs }) => [
    id,
    KINDS[kind],
    utcTimeText(createdMs),
    expiresMs === null ? "never" : `${expiresMs <= nowMs ? "expired " : ""}${utcTimeText(expiresMs)}`,
    usedMs === null ? "never" : utcTimeText(usedMs),
  ]);
  return table([["id", "kind", "created", "expires", "last used"], ...rows]);
}

function requestTable(requests: readonly ConnectionRequestRow[]): string {
  const rows = requests.map(({ atMs, operation, resource, status, scimType, detail, source, dryRun }) => [
    utcTimeText(atMs),
    `${operation}${dryRun ? " (dry run)" : ""}`,
    resource?.name ?? resource?.id ?? "",
    scimType === null ? String(status) : `${status} ${scimType}`,
    source,
    detail ?? "",
  ]);
  return table([["time", "operation", "resource", "status", "source", "detail"], ...rows]);
}

/** What to enter at the identity provider. */
function newSecretText(
  { item: { settings, url }, secret, tokenUrl }: CreatedConnectionSecret,
): string {
  if (secret === null) return "";
  const shown = "(shown only once)";
  const rows = secret.kind === "token" ? [["Base URL:", url], ["Token:", `${secret.text}   ${shown}`]] : [
    ["Base URL:", url],
    ["Token endpoint:", tokenUrl],
    ["Client ID:", settings.name],
    ["Client secret:", `${secret.text}   ${shown}`],
  ];
  return `Enter at the identity provider:\n\n${table(rows.map((row) => row.map(printable)))}`;
}

if (import.meta.main) await runMain({ usage: USAGE, plan: planScimConnection, run });
