// `deno task admin <resource> <action>`: the objects that administrators set up, through the administration API.

import { COMMAND } from "../platform/command_name.ts";
import type { ReceiverRow } from "../console/api/alerts/alert_types.ts";
import type {
  ConnectionRequestRow,
  ConnectionRow,
  ConnectionTest,
  CreatedConnectionSecret,
} from "../console/api/connections/connection_types.ts";
import type { DestinationRow } from "../console/api/log_export/log_export_types.ts";
import { RECEIVER_FIELDS } from "../platform/alerts/alert_kinds.ts";
import type { Config } from "../platform/config/config.ts";
import { escapeLines } from "../platform/control_characters.ts";
import { appliesTo, choice, defaultsOf, type Fields, flag, number, text } from "../platform/fields.ts";
import { DESTINATION_FIELDS, NEW_DESTINATION_FIELDS } from "../platform/log_export/destination_choices.ts";
import {
  CONNECTION_FIELDS,
  CONNECTION_KINDS,
  REQUEST_OUTCOMES,
} from "../scim/v2/connections/connection_settings.ts";
import { type AdminApi, AdminRefusal, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import {
  type ActionArguments,
  adminHelp,
  type AdminPlan,
  fieldValueText,
  optionOf,
  optionProblem,
  type OptionValues,
  planArguments,
  type ResourceArguments,
  withFileValues,
} from "./admin_options.ts";
import { type CommandOutcome, counted, quoted, resultText, table, utcTimeText } from "./format_result.ts";
import { adminCommand, checkTarget, runCommand, runMain, success, targetNames } from "./run_admin_command.ts";

type Answer = Promise<{ ok: boolean; json(): Promise<unknown> }>;
type Send = (args: { readonly param?: object; readonly json?: object; readonly query?: object }) => Answer;

/** A route of the typed client, without the types of bodies: they come from the fields. */
interface Route
  extends
    Record<"$get" | "$post" | "$patch" | "$delete", Send>,
    Record<":name" | ":id" | "pause" | "requests" | "secret" | "secrets" | "test", Route> {}

/** An object, as the API lists it. */
interface Row {
  readonly name?: string;
  readonly version: number;
  readonly settings: object;
}

interface Call {
  readonly resource: AdminResource;
  readonly fields: Fields;
  /** The route of all objects, and of this one. */
  readonly all: Route;
  readonly own: Route;
  readonly name: string;
  readonly param: { readonly name: string };
  /** The second word: the id of a secret. */
  readonly id: string;
  readonly given: OptionValues;
  readonly config: Config;
  /** Reads the object. A change names its version. */
  read(): Promise<Row>;
}

interface Action extends ActionArguments {
  /** Calls the API. The result is what `--json` prints. */
  send(call: Call): Promise<unknown>;
  /** The result as a sentence, and tables. */
  text(value: unknown, call: Call): readonly [did: string, ...blocks: string[]];
}

interface AdminResource extends ResourceArguments {
  readonly actions: Readonly<Record<string, Action>>;
  readonly route: (api: AdminApi) => unknown;
  /** The cells of the list, by column. */
  cells(row: Row): Readonly<Record<string, string>>;
  /** More tables of an object. */
  details?(row: Row): readonly string[];
}

const nameOf = ({ name, settings }: Row): string => name ?? String(Reflect.get(settings, "name"));
const timeOr = (atMs: number | null, otherwise: string): string =>
  atMs === null ? otherwise : utcTimeText(atMs);

function listTable(rows: readonly Readonly<Record<string, string>>[]): string {
  return rows[0] === undefined ? "" : table([Object.keys(rows[0]), ...rows.map(Object.values)]);
}

const didText = (did: string): Action["text"] => (_, { name, resource: { object } }) => [
  `${did} the ${object} ${quoted(name)}.`,
];

const LIST: Action = {
  takes: "",
  does: "List all with their state.",
  send: ({ all }) => apiValue(all.$get({})),
  text(value, { resource: { object, cells } }) {
    const { items } = value as { readonly items: readonly Row[] };
    if (items.length === 0) return [`There are no ${object}s.`];
    return [`${counted(items.length, object)}.`, listTable(items.map(cells))];
  },
};

const SHOW: Action = {
  does: "Show the values and the state of one, without secrets.",
  send: ({ read }) => read(),
  text(value, { name, resource: { object, actions, cells, details } }) {
    const row = value as Row;
    const values = Object.entries(actions["add"]?.fields ?? {}).flatMap(([field, one]) => {
      if (!(field in row.settings) || !appliesTo(one.when, row.settings)) return [];
      return [[optionOf(field, one), fieldValueText(Reflect.get(row.settings, field))]];
    });
    const state = Object.entries(cells(row)).filter(([cell]) => cell !== "name" && !(cell in row.settings));
    return [`The ${object} ${quoted(name)}.`, table([...values, ...state]), ...details?.(row) ?? []];
  },
};

const CHANGE: Action = {
  does: "Change the values that are given. The others stay.",
  send: (call) => sendChange(call),
  text: didText("Changed"),
};

async function sendChange(
  { fields, own, param, given, read }: Call,
  toBody = (given: OptionValues) => given,
): Promise<unknown> {
  const { version, settings } = await read();
  const problem = optionProblem(fields, given, { ...settings, ...given });
  if (problem !== null) throw new AdminRefusal("bad_field", `${problem}.`);
  return await apiValue(own.$patch({ param, json: { version, change: toBody(given) } }));
}

const pausing = (paused: boolean): Pick<Action, "send" | "text"> => ({
  send: ({ own, param }) => apiValue(own.pause.$post({ param, json: { paused } })),
  text: didText(paused ? "Paused" : "Resumed"),
});
const PAUSE = pausing(true);
const RESUME = pausing(false);

const REMOVE: Action = {
  does: "Remove one.",
  send: ({ own, param }) => apiValue(own.$delete({ param })),
  text: didText("Removed"),
};

type SenderRow = DestinationRow | ReceiverRow;

/** The cells of what sends to another system: a destination or a receiver. */
function senderCells({ name, settings: { kind, isPaused }, address, problem, lastSentMs }: SenderRow) {
  const working = problem !== null ? `failing: ${problem.detail}` : lastSentMs === null ? "new" : "ok";
  return {
    name,
    kind,
    address,
    state: isPaused ? "paused" : working,
    "last sent": timeOr(lastSentMs, "never"),
  };
}

const ADD_SENDER: Action = {
  does: "Create one. The secret of a webhook is printed once.",
  send: ({ fields, all, name, given }) =>
    apiValue(all.$post({ json: { name, ...defaultsOf(fields, given), ...given } })),
  text(value, { name, resource: { object } }) {
    const { item: { address } } = value as { readonly item: SenderRow };
    return [`Created the ${object} ${quoted(name)} at ${address}.`, webhookSecretOf(value)];
  },
};

const TEST_SENDER: Action = {
  does: "Send a test.",
  async send({ own, param, name }) {
    const value = await apiValue(own.test.$post({ param, json: {} }));
    type Tested = { ok: true } | { ok: false; code: string; detail: string };
    const { result } = value as { readonly result: Tested };
    if (result.ok) return value;
    throw testFailed(`The test of ${quoted(name)} failed (${result.code}): ${result.detail}.`);
  },
  text: (_, { name }) => [`The test of ${quoted(name)} was sent.`],
};

const RENEW_SECRET: Action = {
  does: "Replace the key of the signatures of a webhook.",
  async send({ own, param, read }) {
    const { version, settings } = await read();
    if (Reflect.get(settings, "kind") !== "webhook") {
      throw new AdminRefusal("no_secret", "Only a webhook has one.");
    }
    return await apiValue(own.secret.$post({ param, json: { version } }));
  },
  text: (value, { name }) => [
    `Created a new secret for ${quoted(name)}. The old one is not used any more.`,
    webhookSecretOf(value),
  ],
};

/** A failed test: its message is complete. */
const testFailed = (message: string) => new AdminRefusal("test_failed", message);

function webhookSecretOf(value: unknown): string {
  const { webhookSecret } = value as { readonly webhookSecret: string };
  return webhookSecret === "" ? "" : table([["Signature secret:", `${webhookSecret}   (shown only once)`]]);
}

const ADD_CONNECTION: Action = {
  does: "Create one, and print its token once.",
  send({ all, name, given: { oauth, days, target, ...given }, config }) {
    const secret = { kind: oauth === true ? "client_secret" : "token", days: days || null };
    const json = { name, ...withoutMe(given), target: wantedTarget(target, config), secret };
    return apiValue(all.$post({ json }));
  },
  text(value, { name }) {
    const { item: { settings: { access, target } } } = value as CreatedConnectionSecret;
    const did = `Created the connection ${quoted(name)} with ${access} access to ${targetNames([target])}.`;
    return [did, newSecretText(value as CreatedConnectionSecret)];
  },
};

/** An empty user of `/Me` is none. */
const withoutMe = ({ meUser, ...given }: OptionValues): OptionValues =>
  meUser === undefined ? given : { ...given, meUser: meUser || null };

const TEST_CONNECTION: Action = {
  does: "Check whether the identity provider reached this server.",
  async send({ own, param, name }) {
    const value = await apiValue(own.test.$post({ param })) as ConnectionTest;
    if (value.state === "works") return value;
    throw testFailed(`The connection ${quoted(name)} ${TEST_STATES[value.state]}.`);
  },
  text: (_, { name }) => [`The last request of ${quoted(name)} succeeded.`],
};

const TEST_STATES: Readonly<Record<Exclude<ConnectionTest["state"], "works">, string>> = {
  no_secret: "has no valid secret",
  paused: "is paused",
  unused: "got no request with its secrets yet",
  refused: "refused its last request",
};

const ROTATE: Action = {
  does: "Create a new secret. The old one stays valid for a while.",
  async send({ own, param, read, given: { secret, overlapHours = 24, days } }) {
    const replaces = secret ?? onlySecret(await read() as ConnectionRow);
    return await apiValue(own.secrets.$post({ param, json: { replaces, overlapHours, days: days || null } }));
  },
  text(value, { name, given: { overlapHours = 24 } }) {
    const old = overlapHours === 0 ? "revoked" : `valid for ${counted(Number(overlapHours), "hour")}`;
    return [
      `Created a new secret of ${quoted(name)}. The old one is ${old}.`,
      newSecretText(value as CreatedConnectionSecret),
    ];
  },
};

const REVOKE: Action = {
  takes: "name secret",
  does: "Revoke a secret immediately. The action show lists the secrets.",
  send: ({ own, param, id }) =>
    apiValue(own.secrets[":id"].$delete({ param: { ...param, id: pathName(id, "secret") } })),
  text: (_, { name, id }) => [`Revoked the secret ${quoted(id)} of ${quoted(name)}.`],
};

const REQUESTS: Action = {
  does: "List its last requests.",
  send: ({ own, param, given: { outcome = "", text = "", count = 20 } }) =>
    apiValue(own.requests.$get({ param, query: { outcome, text, size: String(count) } })),
  text(value, { name }) {
    const { rows } = value as { readonly rows: readonly ConnectionRequestRow[] };
    if (rows.length === 0) return ["There are no such requests."];
    const cells = rows.map(({ atMs, operation, resource, status, scimType, detail, source, dryRun }) => ({
      time: utcTimeText(atMs),
      operation: `${operation}${dryRun ? " (dry run)" : ""}`,
      resource: resource?.name ?? resource?.id ?? "",
      status: scimType === null ? String(status) : `${status} ${scimType}`,
      source,
      detail: detail ?? "",
    }));
    const did = `The last ${counted(rows.length, "request")} of ${quoted(name)}, newest first.`;
    return [did, listTable(cells)];
  },
};

/** The target of the options. Without one, the only target of the settings. */
function wantedTarget(given: unknown, config: Config): string {
  if (typeof given === "string") return checkTarget(given, config).name;
  const names = config.targets.map(({ name }) => name);
  if (names.length === 1) return names[0] ?? "";
  const problem = `choose its target with --target. The settings define ${targetNames(names)}.`;
  throw new AdminRefusal("unknown_target", problem);
}

function onlySecret({ secrets }: ConnectionRow): string {
  const valid = secrets.filter(({ expiresMs }) => (expiresMs ?? Infinity) > Date.now());
  if (valid.length === 1) return valid[0]?.id ?? "";
  const problem = valid.length === 0 ? "it has no valid secret." : "choose one with --secret.";
  throw new AdminRefusal("unknown_secret", problem);
}

function secretTable(secrets: ConnectionRow["secrets"]): string {
  return listTable(secrets.map(({ id, kind, createdMs, expiresMs, usedMs }) => ({
    id,
    kind: kind.replace("_", " "),
    created: utcTimeText(createdMs),
    expires: `${(expiresMs ?? Infinity) <= Date.now() ? "expired " : ""}${timeOr(expiresMs, "never")}`,
    "last used": timeOr(usedMs, "never"),
  })));
}

/** What to enter at the identity provider. */
function newSecretText({ item: { settings, url }, secret, tokenUrl }: CreatedConnectionSecret): string {
  if (secret === null) return "";
  const shown = `${secret.text}   (shown only once)`;
  const rows = secret.kind === "token"
    ? [["Token:", shown]]
    : [["Token endpoint:", tokenUrl], ["Client ID:", settings.name], ["Client secret:", shown]];
  return `Enter at the identity provider:\n\n${table([["Base URL:", url], ...rows])}`;
}

const NEW_CONNECTION_FIELDS = {
  kind: choice(CONNECTION_KINDS, { default: "other" }),
  target: text({ max: 64 }),
};
// Pause and resume are actions.
const { paused: _paused, ...CONNECTION_OPTIONS } = {
  ...CONNECTION_FIELDS,
  meUser: text({ max: 256, hasHint: true }),
};
const SECRET_DAYS = { days: number({ min: 0, max: 1096, default: 0 }) };
// What kind an object has, it keeps.
const { kind: _destinationKind, ...DESTINATION_CHANGES } = DESTINATION_FIELDS;
const { kind: _receiverKind, ...RECEIVER_CHANGES } = RECEIVER_FIELDS;

/** By name, in the order of the help. */
const RESOURCES: Readonly<Record<string, AdminResource>> = {
  "log-export": {
    summary: "destinations of logins and the audit log: syslog or webhooks",
    object: "destination",
    example: "siem --kind syslog-tls --host logs.example.com",
    key: (name) => `logexport.${name}`,
    texts: { pastHours: "First send the records of so many past hours" },
    route: (api) => api["log-export"],
    cells: (row: DestinationRow) => ({
      ...senderCells(row),
      ...{ sent: String(row.sent), waiting: String(row.backlog), skipped: String(row.skipped) },
    }),
    actions: {
      list: LIST,
      show: SHOW,
      add: { ...ADD_SENDER, fields: { ...DESTINATION_FIELDS, ...NEW_DESTINATION_FIELDS } },
      change: { ...CHANGE, fields: DESTINATION_CHANGES },
      test: TEST_SENDER,
      pause: { ...PAUSE, does: "Stop sending. Records wait, up to the bound." },
      resume: { ...RESUME, does: "Send again, beginning with the oldest record that waits." },
      "renew-secret": RENEW_SECRET,
      remove: { ...REMOVE, does: "Remove one. Records that wait are not sent." },
    },
  },
  "alert-receiver": {
    summary: "receivers of alerts: mail or webhooks",
    object: "receiver",
    example: "ops --kind mail --addresses ops@example.com,night@example.com",
    key: (name) => `alerts.${name}`,
    route: (api) => api.alerts.receivers,
    cells: (row: ReceiverRow) => ({ ...senderCells(row), waiting: String(row.waiting) }),
    actions: {
      list: LIST,
      show: SHOW,
      add: { ...ADD_SENDER, fields: RECEIVER_FIELDS },
      change: { ...CHANGE, fields: RECEIVER_CHANGES },
      test: TEST_SENDER,
      pause: { ...PAUSE, does: "Stop sending. Alerts that open meanwhile are not sent later." },
      resume: { ...RESUME, does: "Send alerts again." },
      "renew-secret": RENEW_SECRET,
      remove: REMOVE,
    },
  },
  "scim-connection": {
    summary: "connections of identity providers, which provision users through /scim/v2",
    object: "connection",
    example: "okta --kind okta --days 365",
    key: (name) => `connections.field_${name}`,
    texts: {
      kind: "The identity provider",
      target: "The target that it provisions; required if there are several targets",
      access: "Permission",
      oauth: "Create a client secret for the OAuth token endpoint instead of a token",
      days: "The secret expires after so many days; 0: never",
      secret: "The id of the secret to replace; required if several are valid",
      overlapHours: "The old secret stays valid for so many hours",
      outcome: "List only these",
      text: "List only requests whose user, address or reason contains this text",
      count: "List at most so many",
    },
    route: (api) => api.connections,
    cells: (
      { settings: { name, kind, target, access, paused, dryRun }, lacksTarget, lastRequest }: ConnectionRow,
    ) => ({
      ...{ name, kind, target, access },
      state: lacksTarget ? "no target" : paused ? "paused" : dryRun ? "dry run" : "active",
      "last request": lastRequest === null
        ? "none"
        : `${utcTimeText(lastRequest.atMs)} (${lastRequest.status})`,
    }),
    details: ({ url, secrets }: ConnectionRow) => [table([["base URL", url]]), secretTable(secrets)],
    actions: {
      list: LIST,
      show: SHOW,
      add: {
        ...ADD_CONNECTION,
        fields: { ...NEW_CONNECTION_FIELDS, ...CONNECTION_OPTIONS, oauth: flag(), ...SECRET_DAYS },
      },
      change: { ...CHANGE, fields: CONNECTION_OPTIONS, send: (call) => sendChange(call, withoutMe) },
      test: TEST_CONNECTION,
      pause: {
        ...PAUSE,
        does: "Answer each request with 503.",
        send: (call) => sendChange({ ...call, given: { paused: true } }),
      },
      resume: {
        ...RESUME,
        does: "Answer requests again.",
        send: (call) => sendChange({ ...call, given: { paused: false } }),
      },
      remove: { ...REMOVE, does: "Remove one. Its users stay." },
      rotate: {
        ...ROTATE,
        fields: {
          secret: text({ max: 64 }),
          overlapHours: number({ min: 0, max: 720, default: 24 }),
          ...SECRET_DAYS,
        },
      },
      revoke: REVOKE,
      requests: {
        ...REQUESTS,
        fields: {
          outcome: choice(["", ...REQUEST_OUTCOMES], { default: "" }),
          text: text({ max: 256 }),
          count: number({ min: 1, max: 200, default: 20 }),
        },
      },
    },
  },
};

export const planAdmin = (args: readonly string[]) => planArguments(RESOURCES, args);

/** Actions in the middle of a sentence, if they are not their own names. */
const VERB_TEXTS: Readonly<Record<string, string>> = {
  add: "create",
  "renew-secret": "renew the secret of",
  rotate: "rotate the secret of",
  revoke: "revoke the secret of",
  requests: "list the requests of",
};

async function run(plan: AdminPlan | { readonly help: string }): Promise<CommandOutcome> {
  if ("help" in plan) return success(plan.help);
  const { name, id } = plan;
  const resource = RESOURCES[plan.resource] as AdminResource;
  const { object } = resource;
  const { takes, fields = {}, send, text } = resource.actions[plan.action] as Action;
  const targets = typeof plan.given["target"] === "string" ? [plan.given["target"]] : [];
  return await runCommand(async (api, config) => {
    const given = await withFileValues(fields, plan.given);
    const all = resource.route(api) as Route;
    const read = async () => {
      const { items } = await apiValue(all.$get({})) as { readonly items: readonly Row[] };
      const found = items.find((row) => nameOf(row) === name);
      if (found !== undefined) return found;
      throw new AdminRefusal("unknown", `No ${object} has this name.`);
    };
    const param = { name: takes === "" ? "" : pathName(name, object) };
    const call: Call = { resource, fields, all, own: all[":name"], name, param, id, given, config, read };
    const value = await rewordRefusal(send(call), ({ code, message, field = "" }) => {
      if (code === "test_failed") return message;
      const about = fields[field] === undefined ? "" : `${optionOf(field, fields[field])}: `;
      const what = `${object}${takes === "" ? "s" : ` ${quoted(name)}`}`;
      return `Cannot ${VERB_TEXTS[plan.action] ?? plan.action} the ${what}: ${about}${message}`;
    });
    if (plan.isJson) return success(`${escapeLines(JSON.stringify(value, null, 2))}\n`);
    const [did, ...blocks] = text(value, call);
    return success(resultText(did, { blocks }));
  }, { targets });
}

/** The hint after wrong arguments, and the help, are those of the resource. */
export function runAdmin(args: readonly string[]): Promise<CommandOutcome> {
  const [resource = ""] = args;
  const hint = `Help: ${COMMAND} admin ${Object.hasOwn(RESOURCES, resource) ? `${resource} ` : ""}--help\n`;
  return adminCommand({ usage: adminHelp(RESOURCES, resource), hint, plan: planAdmin, run })(args);
}

if (import.meta.main) await runMain(runAdmin);
