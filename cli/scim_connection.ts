// `deno task scim-connection`: creates, lists, pauses and removes connections of identity providers, and their secrets.

import type { Config } from "../platform/config/config.ts";
import { type AdminApi, AdminRefusal, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import { type ConnectionPlan, planScimConnection } from "./connection_plan.ts";
import { connectionTable, newSecretText, requestTable, secretTable } from "./connection_text.ts";
import { type CommandOutcome, counted, quoted, resultText } from "./format_result.ts";
import { checkTarget, runCommand, runMain, success, targetNames } from "./run_admin_command.ts";

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

if (import.meta.main) await runMain({ usage: USAGE, plan: planScimConnection, run });
