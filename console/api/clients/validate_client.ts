// Validates the settings of a RADIUS client that the console receives, and tests its first factor.

import type * as v from "valibot";
import { type SocketAddress, socketAddressText } from "../../../platform/addresses.ts";
import type { AuditValues } from "../../../platform/audit.ts";
import {
  type ClientContent,
  clientSetting,
  CONSOLE_SETTINGS,
  type ConsoleSetting,
  CONTENT_SETTINGS,
  isOfTransport,
  isSettingUsed,
  type SecretSetting,
  settingOf,
  transportOf,
  usesTls,
} from "../../../platform/client_settings.ts";
import { canonicalFingerprint, canonicalSan } from "../../../platform/certificate_names.ts";
import {
  isAppendSeparator,
  isDomainOrRealm,
  isListedUserName,
} from "../../../radius/protocol/login_input.ts";
import { isReplySource } from "../../../radius/protocol/relayed_attributes.ts";
import type { FIRST_FACTOR_TEST, FirstFactorAnswer, NEW_CLIENT } from "./client_types.ts";
import type { Connect } from "../deps.ts";
import { badField, Refusal } from "../errors.ts";

type Given = Omit<v.InferOutput<typeof NEW_CLIENT>, "secret">;

/** LDAP backends of the login target, which can check passwords. */
export function ldapBackends({ config }: Pick<Connect, "config">): readonly string[] {
  const directory = config.targets.find(({ name }) => name === config.radius.directory);
  return directory?.backends.filter(({ kind }) => kind === "ldap").map(({ name }) => name) ?? [];
}

/** @throws Refusal `bad_field`, `no_server_secret`, `unknown_backend`. */
export function toClientContent(
  connect: Connect,
  given: Given,
): ValidClient {
  const { disconnectSecret, ...rest } = given;
  const { content, serverSecret } = toContent(connect, rest);
  return {
    content,
    secrets: { serverSecret, disconnectSecret: rest.disconnectPort === 0 ? undefined : disconnectSecret },
  };
}

/** Checked settings of a client, and its new secrets. */
interface ValidClient {
  readonly content: ClientContent;
  readonly secrets: {
    readonly serverSecret: string | undefined;
    readonly disconnectSecret: string | undefined;
  };
}

function toContent(
  connect: Connect,
  given: Omit<Given, "disconnectSecret">,
): { content: ClientContent; serverSecret: string | undefined } {
  const { firstFactor, firstFactorServer: server } = given;
  const resolved = firstFactor === "settings" ? connect.config.radius.anyClient.firstFactor : firstFactor;
  // Then nothing could answer its requests.
  if (given.mode === "shadow" && resolved !== "radius") {
    throw badField("mode", "Shadow mode needs a first-factor server: choose the first factor RADIUS.");
  }
  const firstFactorBackend = firstFactor === "ldap" ? given.firstFactorBackend : "";
  if (firstFactor === "ldap" && !ldapBackends(connect).includes(firstFactorBackend)) {
    throw new Refusal("unknown_backend");
  }
  const known = { address: rangesOf(connect, given.address), ...certificateOf(connect, given) };
  // A client of UDP is known by its addresses only.
  if (known.address.length === 0 && !usesTls(known)) refuseValue("address", "");
  refuseBadNameParts(given);
  if (firstFactor !== "radius") {
    const content = { ...given, ...known, firstFactorBackend, firstFactorServer: null };
    return { content, serverSecret: undefined };
  }
  if (server === null) refuseValue("firstFactorServer.address", "");
  const firstFactorServer = {
    address: serverAddressesOf(connect, server.address),
    timeoutMs: server.timeoutMs,
    messageAuthenticator: server.messageAuthenticator,
  };
  return {
    content: { ...given, ...known, firstFactorBackend, firstFactorServer },
    serverSecret: server.secret,
  };
}

/** @throws Refusal `certificate_taken`: another client is known by the same certificate. */
function certificateOf(
  { register }: Connect,
  given: Pick<Given, "name" | "tlsSan" | "tlsFingerprint">,
): Pick<ClientContent, "tlsSan" | "tlsFingerprint"> {
  const valueOf = (name: "tlsSan" | "tlsFingerprint", canonical: (text: string) => string | null) =>
    given[name] === "" ? "" : canonical(given[name]) ?? refuseValue(name, given[name]);
  const own = {
    tlsSan: valueOf("tlsSan", canonicalSan),
    tlsFingerprint: valueOf("tlsFingerprint", canonicalFingerprint),
  };
  const isTaken = usesTls(own) &&
    register.list().some((other) =>
      other.name !== given.name && other.tlsSan === own.tlsSan && other.tlsFingerprint === own.tlsFingerprint
    );
  if (isTaken) throw new Refusal("certificate_taken");
  return own;
}

function rangesOf({ canonicalRange }: Connect, given: readonly string[]): string[] {
  const ranges = given.map((text) => canonicalRange(text) ?? refuseValue("address", text));
  return [...new Set(ranges)];
}

/** @throws Refusal `bad_field`, whose English message has the value and an example. */
function refuseValue(name: ConsoleSetting, text: string): never {
  const { format = "" } = clientSetting(name);
  throw badField(name, `${JSON.stringify(text.slice(0, 100))}: ${RULES[format]}`);
}

const AFFIX =
  "Not a domain or a realm. Enter it without backslash, @ and spaces, such as CORP or corp.example.";
/** What the formats accept. */
const RULES: Readonly<Record<string, string>> = {
  domains: AFFIX,
  fingerprint: "Not a SHA-256 fingerprint. Enter its 64 hexadecimal digits, with or without colons.",
  peers: "Enter each server as host:port, such as 192.0.2.20:1812 or [2001:db8::1]:1812.",
  ranges: "Not an IP address or a range such as 192.0.2.0/24.",
  realms: AFFIX,
  reply_names: "Enter all, none, or names of RADIUS attributes, such as Class, Filter-Id or 26.9.1.",
  san:
    "Not a subjectAltName. Enter a host name such as nas.example.org, an IP address, or a text that begins with URI: or email:.",
  separator: "A separator is one punctuation mark. A hyphen, a letter, a digit or a space is not allowed.",
  users: "Not a user name for this list. Enter it without spaces and commas, such as probe.",
};
const FITS: Readonly<Record<string, (text: string, all: readonly string[]) => boolean>> = {
  domains: isDomainOrRealm,
  realms: isDomainOrRealm,
  reply_names: isReplySource,
  separator: isAppendSeparator,
  users: isListedUserName,
};

function refuseBadNameParts(given: object): void {
  for (const name of CONTENT_SETTINGS) {
    const fits = FITS[clientSetting(name).format ?? ""];
    if (fits === undefined) continue;
    const value = settingOf(given, name) as string | readonly string[];
    const values = typeof value === "string" ? [value] : value;
    const wrong = values.find((text) => !fits(text, values));
    if (wrong !== undefined) refuseValue(name, wrong);
  }
}

function serverAddressesOf({ serverAddress }: Connect, given: string | readonly string[]): SocketAddress[] {
  return [...new Set([given].flat())].map((text) => {
    const address = serverAddress(text);
    return address === null || address.port === 0 ? refuseValue("firstFactorServer.address", text) : address;
  });
}

/** Tests a first factor. A stored secret is sent only to its server. */
export async function probeFirstFactor(
  connect: Connect,
  test: v.InferOutput<typeof FIRST_FACTOR_TEST>,
): Promise<FirstFactorAnswer> {
  if ("backend" in test) {
    const outcome = await connect.probe(connect.config.radius.directory, test.backend);
    if (outcome === null) throw new Refusal("unknown_backend");
    return { answers: outcome.ok, detail: outcome.ok ? "" : outcome.fault.detail };
  }
  const server = "client" in test
    ? connect.register.firstFactorServer(test.client)
    : { ...test, address: serverAddressesOf(connect, test.address) };
  if (server === null) throw new Refusal("no_server_secret");
  const silent = await connect.firstFactorServers.probe(server);
  return { answers: silent.length === 0, detail: silent.join(", ") };
}

/** Replaces a secret in the audit log. */
export const CHANGED = "changed";

/** The values of a client for the audit log, without secrets. */
export function clientAuditValues(
  content: Omit<ClientContent, "name">,
  { serverSecret, disconnectSecret }: Partial<ValidClient["secrets"]> = {},
): AuditValues {
  const isNew = {
    "firstFactorServer.secret": serverSecret !== undefined,
    disconnectSecret: disconnectSecret !== undefined,
  };
  const values: Record<string, unknown> = {};
  for (const name of CONSOLE_SETTINGS) {
    const { console: { auditName = name, initial } = {}, ...row } = clientSetting(name);
    const value = row.type === "secret"
      ? (isNew[name as SecretSetting & ConsoleSetting] ? CHANGED : undefined)
      : settingOf(content, name);
    if (value === undefined || !isOfTransport(name, transportOf(content))) continue;
    if (!isSettingUsed(name, (of) => settingOf(content, of))) continue;
    values[auditName] = value === initial && row.type === "number" ? "settings" : auditValue(row, value);
  }
  return values;
}

function auditValue(row: object, value: unknown): unknown {
  if ("unit" in row) return `${Number(value) / 1000} s`;
  return "format" in row && row.format === "peers"
    ? (value as readonly SocketAddress[]).map(socketAddressText).join(", ")
    : value;
}
