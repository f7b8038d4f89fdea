// `deno task check-config`: says whether the settings are sound, without starting anything. Exit code 1 when not.

import { basename } from "node:path";
import type {
  ClientSettings,
  Config,
  ConfigFault,
  ConfigSources,
  ConfigWarning,
} from "../platform/config/config.ts";
import { loadConfig } from "../platform/config/load.ts";
import { socketAddressText } from "../platform/socket_address.ts";
import { encodeReplyAttribute } from "../radius/protocol/attributes.ts";
import { escapeControlCharacters } from "../platform/control_characters.ts";
import { rejectsUnknownUsers } from "../radius/protocol/user_name.ts";

const USAGE = `Check the settings without starting: every fault at once.

  deno task check-config

Reads the file that COUNTERSIGN_CONFIG names, else countersign.toml in the working directory; without either, every
setting has its default. Exit code 0: sound, perhaps with warnings; 1: there are faults; 2: wrong use.
`;

const listed = (entries: readonly ConfigFault[]) =>
  entries.map(({ key, problem }) =>
    `  ${escapeControlCharacters(key)}: ${escapeControlCharacters(problem)}\n`
  ).join("");

const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;

/** All faults as lines for a terminal, each with its key. Shows no secret. */
export function printFaults(faults: readonly ConfigFault[]): string {
  return `Cannot use the settings: ${counted(faults.length, "fault")}\n${listed(faults)}`;
}

/** All warnings as lines for a terminal; empty when there is none. */
export function printWarnings(warnings: readonly ConfigWarning[]): string {
  return warnings.length === 0 ? "" : `${counted(warnings.length, "warning")}\n${listed(warnings)}`;
}

/** What is wrong with an attribute of [radius.reply.default] by the dictionary, or `null`. */
export function replyAttributeProblem(name: string, value: string | number): string | null {
  const encoded = encodeReplyAttribute(name, value);
  return encoded.ok ? null : encoded.problem;
}

const MAX_NAMES = 8;

function clientsText({ radius }: Config): string {
  if (radius.clients.length === 0) {
    const secret = radius.secret === ""
      ? "a secret that the first start generates"
      : "the secret of radius.secret";
    return `any address, with ${secret}`;
  }
  return namesText(radius.clients.map(({ name }) => name));
}

type Named = Pick<ClientSettings, "name" | "messageAuthenticator" | "unknownUsers" | "firstFactor">;

/** The clients of the settings; without one, the entry for any address. */
function clientEntries({ radius }: Config): readonly Named[] {
  return radius.clients.length === 0 ? [{ ...radius.anyClient, name: "any address" }] : radius.clients;
}

/** Which clients may leave out Message-Authenticator. What the gateway has learnt is in the store, which is not read here. */
function unsignedText(config: Config): string {
  const entries = clientEntries(config);
  const ofMode = (mode: Named["messageAuthenticator"]) =>
    entries.filter(({ messageAuthenticator }) => messageAuthenticator === mode).map(({ name }) => name);
  const [open, learning] = config.radius.clients.length === 0
    ? [[...ofMode("off"), ...ofMode("auto")], []]
    : [ofMode("off"), ofMode("auto")];
  const parts = [
    open.length === 0 ? [] : `unsigned requests of ${namesText(open)} are accepted`,
    learning.length === 0
      ? []
      : `unsigned requests of ${namesText(learning)} are accepted until their address sends a signed one`,
  ].flat();
  return parts.length === 0 ? "no unsigned request is accepted" : parts.join("; ");
}

/** Which clients let a User-Name that is not in the directory begin a login. */
function unknownUsersText(config: Config): string {
  const entries = clientEntries(config);
  const rejects = entries.filter(rejectsUnknownUsers);
  const allows = entries.filter((entry) => !rejectsUnknownUsers(entry));
  return [
    rejects.length === 0 ? [] : `rejected from ${namesText(rejects.map(({ name }) => name))}`,
    allows.length === 0 ? [] : `allowed from ${namesText(allows.map(({ name }) => name))}`,
  ].flat().join("; ");
}

function namesText(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Each target with its backends, the one whose users log in marked. */
function targetsText({ targets, radius }: Config): string {
  const shown = targets.map(({ name, backends }) => {
    const kinds = backends.map(({ name, kind, mode }) =>
      `${name}: ${kind}${mode === "async" ? ", async" : ""}`
    );
    return `${name} (${kinds.join("; ")})${
      name === radius.directory && targets.length > 1 ? " for logins" : ""
    }`;
  });
  return namesText(shown);
}

function credentialsText({ scim: { credentials } }: Config): string {
  if (credentials.length === 0) return "none in the settings; those made by command count besides";
  return namesText(
    credentials.map(({ name, access, targets }) => `${name} (${access}: ${targets.join(", ")})`),
  );
}

/** What the settings amount to, one line each. */
export function summary(config: Config): string {
  const { http, radius, secondFactor, telephony } = config;
  const rows = [
    ["RADIUS", radius.listen.map(socketAddressText).join(", ")],
    ["clients", clientsText(config)],
    ["unsigned", unsignedText(config)],
    ["unknown", `users who are not in the directory: ${unknownUsersText(config)}`],
    [
      "HTTP",
      `${socketAddressText(http.listen)}${http.tls === null ? "" : " with TLS"}, known as ${http.publicUrl}`,
    ],
    [
      "services",
      `second factor ${secondFactor.url || "embedded"}, telephony ${telephony.url || "embedded outbox"}`,
    ],
    ["targets", targetsText(config)],
    ["SCIM", credentialsText(config)],
    ["data", config.server.dataDir],
  ];
  return rows.map(([name = "", value = ""]) => `  ${name.padEnd(9)} ${escapeControlCharacters(value)}\n`)
    .join("");
}

/** What to print where, and the exit code. */
export interface CommandOutcome {
  readonly out: string;
  readonly err: string;
  readonly exitCode: 0 | 1 | 2;
}

/** Runs the command on `args` without touching the process. */
export function checkConfig(args: readonly string[], sources: ConfigSources): CommandOutcome {
  if (args.includes("--help") || args.includes("-h")) return { out: USAGE, err: "", exitCode: 0 };
  if (args.length > 0) {
    return {
      out: "",
      err: `Cannot use "${escapeControlCharacters(args.join(" "))}".\n\n${USAGE}`,
      exitCode: 2,
    };
  }
  const outcome = loadConfig(sources);
  if (!outcome.ok) return { out: "", err: printFaults(outcome.faults), exitCode: 1 };
  const { config, warnings } = outcome;
  const head = config.file === null
    ? "There is no countersign.toml; every setting has its default, and that is sound"
    : `${basename(config.file)} is sound`;
  return {
    out: `${escapeControlCharacters(head)}\n${summary(config)}${printWarnings(warnings)}`,
    err: "",
    exitCode: 0,
  };
}

if (import.meta.main) {
  const { out, err, exitCode } = checkConfig(Deno.args, {
    env: Deno.env.get,
    readTextFile: Deno.readTextFileSync,
    fileMode: (path) => Deno.statSync(path).mode,
    cwd: Deno.cwd(),
    checkReplyAttribute: replyAttributeProblem,
  });
  const encoder = new TextEncoder();
  Deno.stdout.writeSync(encoder.encode(out));
  Deno.stderr.writeSync(encoder.encode(err));
  Deno.exitCode = exitCode;
}
