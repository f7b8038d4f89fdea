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
  isSettingUsed,
  type SecretSetting,
  settingOf,
} from "../../../platform/client_values.ts";
import {
  isAppendSeparator,
  isDomainOrRealm,
  isListedUserName,
} from "../../../radius/protocol/login_input.ts";
import type { FIRST_FACTOR_TEST, FirstFactorAnswer, NEW_CLIENT } from "./client_types.ts";
import type { Connect } from "../deps.ts";
import { ERROR_CODES } from "../error_codes.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";

type Given = Omit<v.InferOutput<typeof NEW_CLIENT>, "secret">;

/** LDAP backends of the login target, which can check passwords. */
export function ldapBackends({ config }: Pick<Connect, "config">): readonly string[] {
  const directory = config.targets.find(({ name }) => name === config.radius.directory);
  return directory?.backends.filter(({ kind }) => kind === "ldap").map(({ name }) => name) ?? [];
}

/** @throws Refusal `bad_address`, `bad_affix`, `bad_listed_user`, `bad_separator`, `bad_server`, `no_server_secret`, `unknown_backend`. */
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
export interface ValidClient {
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
  const firstFactorBackend = firstFactor === "ldap" ? given.firstFactorBackend : "";
  if (firstFactor === "ldap" && !ldapBackends(connect).includes(firstFactorBackend)) {
    throw new Refusal("unknown_backend");
  }
  const address = rangesOf(connect, given.address);
  refuseBadNameParts(given);
  if (firstFactor !== "radius") {
    const content = { ...given, address, firstFactorBackend, firstFactorServer: null };
    return { content, serverSecret: undefined };
  }
  if (server === null) throw new Refusal("bad_server");
  const firstFactorServer = {
    address: serverAddressOf(connect, server.address),
    timeoutMs: server.timeoutMs,
    messageAuthenticator: server.messageAuthenticator,
  };
  return {
    content: { ...given, address, firstFactorBackend, firstFactorServer },
    serverSecret: server.secret,
  };
}

function rangesOf({ canonicalRange }: Connect, given: readonly string[]): string[] {
  const ranges = given.map((text) => {
    const range = canonicalRange(text);
    if (range === null) {
      throw new DetailedRefusal("bad_address", { message: `"${text}": ${ERROR_CODES.bad_address.message}` });
    }
    return range;
  });
  return [...new Set(ranges)];
}

function refuseBadNameParts(given: object): void {
  for (const name of CONTENT_SETTINGS) {
    const { type } = clientSetting(name);
    const value = settingOf(given, name);
    if (type === "separator" && !isAppendSeparator(value as string)) throw new Refusal("bad_separator");
    const list = LISTS[type];
    if (list !== undefined) refuseBadEntry(value as readonly string[], list);
  }
}

const AFFIXES = { code: "bad_affix", fits: isDomainOrRealm } as const;
/** By the type of a setting. */
const LISTS: Readonly<Record<string, NameList>> = {
  domains: AFFIXES,
  realms: AFFIXES,
  users: { code: "bad_listed_user", fits: isListedUserName },
};

interface NameList {
  readonly code: "bad_affix" | "bad_listed_user";
  readonly fits: (text: string) => boolean;
}

function refuseBadEntry(texts: readonly string[], { code, fits }: NameList): void {
  const wrong = texts.find((text) => !fits(text));
  if (wrong === undefined) return;
  const shown = JSON.stringify(wrong.slice(0, 100));
  throw new DetailedRefusal(code, { message: `${shown}: ${ERROR_CODES[code].message}` });
}

function serverAddressOf({ serverAddress }: Connect, text: string) {
  const address = serverAddress(text);
  if (address === null || address.port === 0) throw new Refusal("bad_server");
  return address;
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
    : { ...test, address: serverAddressOf(connect, test.address) };
  if (server === null) throw new Refusal("no_server_secret");
  return { answers: await connect.probeFirstFactor(server) !== "unavailable", detail: "" };
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
    const { type, console: { auditName = name } = {} } = clientSetting(name);
    const value = type === "secret"
      ? (isNew[name as SecretSetting & ConsoleSetting] ? CHANGED : undefined)
      : settingOf(content, name);
    if (value === undefined || !isSettingUsed(name, (of) => settingOf(content, of))) continue;
    values[auditName] = auditValue(type, value);
  }
  return values;
}

function auditValue(type: string, value: unknown): unknown {
  if (type === "milliseconds") return `${Number(value) / 1000} s`;
  return type === "peer" ? socketAddressText(value as SocketAddress) : value;
}
