// `deno task check-config`: checks the settings without starting the server.

import { COMMAND } from "../platform/command_name.ts";
import { basename } from "node:path";
import type {
  ClientSettings,
  Config,
  ConfigFault,
  ConfigSources,
  ConfigWarning,
  ReplyValue,
} from "../platform/config/config.ts";
import { shownKey } from "../platform/setting_problems.ts";
import { loadConfig } from "../platform/config/load.ts";
import { settingsFileMode } from "../platform/config/list_settings.ts";
import { socketAddressText } from "../platform/addresses.ts";
import { usesTls } from "../platform/client_settings.ts";
import { extensionsProblem } from "../scim/v2/schema/custom_extension.ts";
import { encodeReplyAttribute } from "../radius/protocol/attributes.ts";
import { escapeControlCharacters } from "../platform/control_characters.ts";
import type { StoredCheck } from "./check_stored_settings.ts";
import { type CommandOutcome, counted, firstOf } from "./format_result.ts";
import { isHelpRequested } from "./terminal.ts";
import { rejectsUnknownUsers } from "../radius/protocol/login_input.ts";

const USAGE = `Check the settings without starting the server.

Usage:
  ${COMMAND} check-config         List all errors and warnings, and print a summary of the settings.
  ${COMMAND} check-config --json  Print the errors, the warnings and the upgrade as JSON.

Reads the file in COUNTERSIGN_CONFIG, or countersign.toml in the working directory. Without a file, every setting has
its default. If there is a store, the command also checks the file together with the settings that are saved in the
console, and names the layer of each problem. It says whether the next start upgrades the store, for how long, how large
the backup is that is made first, and for which nodes the upgrade waits. It changes nothing, and works while the server
runs: before an upgrade, run it from the new version.
Exit codes: 0 if all settings and the store can be used, 1 if there are errors, 2 for wrong usage.
`;

const listed = (entries: readonly ConfigFault[]) =>
  entries.map((fault) =>
    `  ${escapeControlCharacters(shownKey(fault))}: ${escapeControlCharacters(fault.problem)}\n`
  ).join("");

/** All errors as lines for a terminal, each with its key. Shows no secret. */
export function printFaults(faults: readonly ConfigFault[]): string {
  return `Cannot use the settings: ${counted(faults.length, "error")}\n${listed(faults)}`;
}

/** All warnings as lines for a terminal. Empty without warnings. */
function printWarnings(warnings: readonly ConfigWarning[]): string {
  return warnings.length === 0 ? "" : `${counted(warnings.length, "warning")}\n${listed(warnings)}`;
}

/** The problem with an attribute of [radius.reply.default] according to the dictionary, or `null`. */
export function replyAttributeProblem(name: string, value: ReplyValue): string | null {
  const encoded = encodeReplyAttribute(name, value);
  return encoded.ok ? null : encoded.problem;
}

/** The checks of values that only other areas understand. */
export const VALUE_CHECKS = {
  checkReplyAttribute: replyAttributeProblem,
  checkExtensions: extensionsProblem,
} as const satisfies Partial<ConfigSources>;

function clientsText({ radius }: Config): string {
  if (radius.clients.length === 0) {
    const secret = radius.secret === ""
      ? "a secret that the first start generates"
      : "the secret in radius.secret";
    return `any address, with ${secret}`;
  }
  return namesText(radius.clients.map(({ name }) => name));
}

type Named = Pick<
  ClientSettings,
  "name" | "messageAuthenticator" | "unknownUsers" | "firstFactor" | "tlsSan" | "tlsFingerprint"
>;

/** The clients of the settings. Without clients, the entry for any address. */
function clientEntries({ radius }: Config): readonly Named[] {
  return radius.clients.length === 0
    ? [{ ...radius.anyClient, name: "any address", tlsSan: "", tlsFingerprint: "" }]
    : radius.clients;
}

/** Which clients may omit Message-Authenticator. Does not read the store, which records the addresses that sign. */
function unsignedText(config: Config): string {
  // TLS protects each packet.
  const entries = clientEntries(config).filter((entry) => !usesTls(entry));
  const ofMode = (mode: Named["messageAuthenticator"]) =>
    entries.filter(({ messageAuthenticator }) => messageAuthenticator === mode).map(({ name }) => name);
  const [open, learning] = config.radius.clients.length === 0
    ? [[...ofMode("off"), ...ofMode("auto")], []]
    : [ofMode("off"), ofMode("auto")];
  const parts = [
    open.length === 0 ? [] : `unsigned requests from ${namesText(open)} are accepted`,
    learning.length === 0
      ? []
      : `unsigned requests from ${namesText(learning)} are accepted until the address sends a signed one`,
  ].flat();
  return parts.length === 0 ? "unsigned requests are not accepted" : parts.join("; ");
}

/** Which clients accept a User-Name that is not in the directory. */
function unknownUsersText(config: Config): string {
  const entries = clientEntries(config);
  const rejects = entries.filter(rejectsUnknownUsers);
  const allows = entries.filter((entry) => !rejectsUnknownUsers(entry));
  return [
    rejects.length === 0 ? [] : `rejected from ${namesText(rejects.map(({ name }) => name))}`,
    allows.length === 0 ? [] : `allowed from ${namesText(allows.map(({ name }) => name))}`,
  ].flat().join("; ");
}

const namesText = (names: readonly string[]) => firstOf(names, 8);

/** Each target with its backends. Marks the target whose users sign in. */
function targetsText({ targets, radius }: Config): string {
  const shown = targets.map(({ name, backends }) => {
    const kinds = backends.map(({ name, kind, mode }) =>
      `${name}: ${kind}${mode === "async" ? ", async" : ""}`
    );
    return `${name} (${kinds.join("; ")})${
      name === radius.directory && targets.length > 1 ? " for sign-ins" : ""
    }`;
  });
  return namesText(shown);
}

function credentialsText({ scim: { credentials } }: Config): string {
  if (credentials.length === 0) return "no credentials in the settings; the store may contain others";
  return namesText(
    credentials.map(({ name, access, targets }) => `${name} (${access}: ${targets.join(", ")})`),
  );
}

/** A summary of the settings for the terminal. */
function configSummary(config: Config): string {
  const { http, radius, secondFactor, telephony } = config;
  const rows = [
    [
      "RADIUS",
      [
        ...radius.listen.map(socketAddressText),
        ...radius.tls.listen.map((address) => `${socketAddressText(address)} with TLS`),
      ].join(", "),
    ],
    ["clients", clientsText(config)],
    ["unsigned", unsignedText(config)],
    ["unknown", `users who are not in the directory are ${unknownUsersText(config)}`],
    [
      "HTTP",
      `${socketAddressText(http.listen)}${
        http.tls === null ? "" : " with TLS"
      }, public URL ${http.publicUrl}`,
    ],
    [
      "services",
      `second factor ${secondFactor.url || "embedded"}, telephony ${telephony.url || "embedded outbox"}`,
    ],
    ["targets", targetsText(config)],
    ["SCIM", credentialsText(config)],
    ["data", config.server.dataDir],
    ...config.store.kv === "" ? [] : [["store", config.store.kv]],
  ];
  return rows.map(([name = "", value = ""]) => `  ${name.padEnd(9)} ${escapeControlCharacters(value)}\n`)
    .join("");
}

/**
 * Runs the command without access to the process.
 *
 * @param stored the check of the file together with the store, if there is one.
 */
export function checkConfig(
  args: readonly string[],
  sources: ConfigSources,
  stored: StoredCheck | null = null,
): CommandOutcome {
  if (isHelpRequested(args)) return { out: USAGE, err: "", exitCode: 0 };
  const isJson = args[0] === "--json" && args.length === 1;
  if (args.length > 0 && !isJson) {
    return {
      out: "",
      err: `Cannot use the arguments: unexpected "${escapeControlCharacters(args.join(" "))}".\n\n${USAGE}`,
      exitCode: 2,
    };
  }
  const outcome = loadConfig(sources);
  if (!outcome.ok && isJson) return jsonOutcome({ errors: outcome.faults.map(faultText) });
  if (!outcome.ok) return { out: "", err: printFaults(outcome.faults), exitCode: 1 };
  const { config, warnings } = outcome;
  if (isJson) return jsonOutcome(stored ?? { errors: [], warnings: warnings.map(faultText) });
  const head = config.file === null
    ? "There is no countersign.toml. Every setting has its default."
    : `${basename(config.file)} is valid.`;
  const summary = `${escapeControlCharacters(head)}\n${configSummary(stored?.config ?? config)}`;
  if (stored !== null) return { ...stored, out: summary + stored.out };
  return { out: summary + printWarnings(warnings), err: "", exitCode: 0 };
}

const faultText = (fault: ConfigFault) => `${shownKey(fault)}: ${fault.problem}`;

/** The result as one line of JSON. `upgrade`: null if there is no store. */
function jsonOutcome(
  { errors, warnings = [], upgrade = null }:
    & Pick<StoredCheck, "errors">
    & Partial<Pick<StoredCheck, "warnings" | "upgrade">>,
): CommandOutcome {
  const ok = errors.length === 0;
  return {
    out: `${JSON.stringify({ ok, errors, warnings, upgrade })}\n`,
    err: "",
    exitCode: ok ? 0 : 1,
  };
}

/** Runs the command: the file alone, then together with the store if there is one. */
async function checkAll(args: readonly string[], sources: ConfigSources): Promise<CommandOutcome> {
  const loaded = args.some((arg) => arg !== "--json") ? null : loadConfig(sources);
  if (loaded === null || !loaded.ok) return checkConfig(args, sources);
  const { checkStored } = await import("./check_stored_settings.ts");
  return checkConfig(args, sources, await checkStored(loaded.config, loaded.settingsFile));
}

/** {@link checkAll} with the settings of the process. */
export const checkConfigCommand = (args: readonly string[]) =>
  checkAll(args, {
    env: Deno.env.get,
    readTextFile: Deno.readTextFileSync,
    fileMode: (path) => settingsFileMode(Deno.statSync(path)),
    cwd: Deno.cwd(),
    ...VALUE_CHECKS,
  });

if (import.meta.main) {
  const { out, err, exitCode } = await checkConfigCommand(Deno.args);
  const encoder = new TextEncoder();
  Deno.stdout.writeSync(encoder.encode(out));
  Deno.stderr.writeSync(encoder.encode(err));
  Deno.exitCode = exitCode;
}
