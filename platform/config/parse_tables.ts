// Parses repeated tables, reply attributes, and the files of the certificate and its key.

import { resolve } from "node:path";
import {
  type Config,
  GROUP_COMBINATIONS,
  type ReplyAttributes,
  type ReplyGroup,
  type ReplyValue,
} from "./config.ts";
import {
  isTable,
  joinKey,
  type ParseContext,
  parseTable,
  quoteValue,
  readFailure,
  resolveReferences,
  sortTable,
  type TomlTable,
} from "./parse_settings.ts";
import { type Problem, problemOf } from "../setting_problems.ts";
import { KV_TOKEN_VARIABLE } from "../open_kv.ts";
import { isCertificatePem, isExtensionsJson } from "./setting_values.ts";
import { rowsByKey, type SettingTable, type TableValues } from "./setting_rows.ts";
import type { SETTINGS } from "./settings.ts";

type GeneralValues = TableValues<typeof SETTINGS>;

/** The key of a table in a list, counted from 0: `radius.client[0].`. */
export const entryPrefix = (list: string, at: number) => `${list}[${at}].`;

const MAX_ENTRIES = 10_000;

/** Parses each table of a list by its rows. */
export function parseTableList<T extends SettingTable>(
  table: T,
  list: string,
  tables: readonly TomlTable[],
  reading: ParseContext,
): TableValues<T>[] {
  if (tables.length > MAX_ENTRIES) {
    reading.faults.push({ key: list, ...problemOf("too_many", { count: tables.length, max: MAX_ENTRIES }) });
    return [];
  }
  const shape = {
    keys: new Set(Object.keys(rowsByKey(table))),
    lists: new Set<string>(),
    maps: new Set<string>(),
  };
  return tables.map((given, at) => {
    const prefix = entryPrefix(list, at);
    const { values } = sortTable(given, { shape, prefix, faults: reading.faults });
    return parseTable(table, reading, { found: values, keyPrefix: prefix });
  });
}

/** RFC 2865 §5: a value has at most 253 octets; an integer has 32 bits. */
const MAX_REPLY_OCTETS = 253;

function replyProblem(name: string, raw: unknown): Problem | null {
  if (Array.isArray(raw)) {
    if (raw.length === 0 || raw.some((one) => Array.isArray(one))) return problemOf("must_be_text_or_number");
    return raw.map((one) => replyProblem(name, one)).find((problem) => problem !== null) ?? null;
  }
  if (name === "" || name.length > 128) return problemOf("reply_name");
  if (typeof raw === "string") {
    const octets = new TextEncoder().encode(raw).length;
    return octets > 0 && octets <= MAX_REPLY_OCTETS
      ? null
      : problemOf("reply_octets", { count: octets, max: MAX_REPLY_OCTETS });
  }
  const isInteger = typeof raw === "number" && Number.isInteger(raw) && raw >= 0 && raw <= 0xffff_ffff;
  return isInteger ? null : problemOf("reply_not_number", { value: quoteValue(raw) });
}

function isReplyValue(raw: unknown): raw is ReplyValue {
  return typeof raw === "string" || typeof raw === "number" || Array.isArray(raw);
}

function parseReplyAttributes(table: TomlTable, path: string, reading: ParseContext): ReplyAttributes {
  const { sources, faults } = reading;
  const replies: [string, ReplyValue][] = [];
  for (const [name, given] of Object.entries(table)) {
    const key = `${path}.${JSON.stringify(name)}`;
    const resolved = resolveReferences(given, sources);
    const raw = resolved.ok ? resolved.raw : null;
    const problem = resolved.ok ? replyProblem(name, raw) : { problem: resolved.problem };
    if (problem === null && isReplyValue(raw)) {
      const unfit = sources.checkReplyAttribute?.(name, raw) ?? null;
      if (unfit === null) replies.push([name, raw]);
      else if (resolved.ok && resolved.isReference) {
        faults.push({ key, problem: "its value does not fit it" });
      } else faults.push({ key, ...problemOf("reply_unfit", { reason: unfit }) });
    } else faults.push({ key, ...problem ?? problemOf("must_be_text_or_number") });
  }
  return Object.fromEntries(replies);
}

export function parseReplyDefault(table: TomlTable, reading: ParseContext): ReplyAttributes {
  return parseReplyAttributes(table, "radius.reply.default", reading);
}

const MAX_REPLY_TABLES = 1000;
const MAX_NAME_CHARACTERS = 256;

/** The attributes for members of a group, by the group's name, in the order of the file. */
export function parseReplyGroups(table: TomlTable, reading: ParseContext): Config["radius"]["replyGroups"] {
  return namedTables(table, "radius.reply.group", reading)
    .map(({ name, attributes, key }) => parseReplyGroup(name, attributes, { key, reading }));
}

/** The attributes of single users, by name. */
export function parseReplyUsers(table: TomlTable, reading: ParseContext): Config["radius"]["replyUsers"] {
  return namedTables(table, "radius.reply.user", reading)
    .map(({ name, attributes, key }) => ({
      user: name,
      attributes: parseReplyAttributes(attributes, key, reading),
    }));
}

function namedTables(table: TomlTable, path: string, { faults }: ParseContext) {
  const entries = Object.entries(table);
  if (entries.length > MAX_REPLY_TABLES) {
    faults.push({ key: path, ...problemOf("too_many", { count: entries.length, max: MAX_REPLY_TABLES }) });
    return [];
  }
  return entries.flatMap(([name, attributes]) => {
    const key = joinKey(path, name);
    if (name === "" || name.length > MAX_NAME_CHARACTERS) {
      faults.push({ key, problem: `a name has 1 to ${MAX_NAME_CHARACTERS} characters` });
    } else if (!isTable(attributes)) faults.push({ key, ...problemOf("must_be_table", { table: key }) });
    else return [{ name, attributes, key }];
    return [];
  });
}

/** `"Framed-IP-Address" = "framedIp"`: the reply attribute, and the front-end attribute of the directory that has its values. */
export function parseReplySources(
  table: TomlTable,
  { sources, faults }: ParseContext,
): Config["radius"]["replyFromDirectory"] {
  const path = "radius.reply.from_directory";
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, source]) => {
      const key = `${path}.${JSON.stringify(name)}`;
      // The values come later. "1" fits every form, or is refused for its form and not for its name.
      const unfit = sources.checkReplyAttribute?.(name, "1") ?? null;
      const isUnknown = unfit !== null && /not in the dictionary|cannot be configured/.test(unfit);
      if (isUnknown) faults.push({ key, ...problemOf("reply_unfit", { reason: unfit ?? "" }) });
      else if (typeof source === "string" && source !== "") return [[name, source]];
      else faults.push({ key, problem: "must be the name of a front-end attribute" });
      return [];
    }),
  );
}

/** `groups` beside the attributes says what a user with several groups receives. */
function parseReplyGroup(
  group: string,
  { groups, ...attributes }: TomlTable,
  { key, reading }: { key: string; reading: ParseContext },
): ReplyGroup {
  const parsed = { group, attributes: parseReplyAttributes(attributes, key, reading) };
  if (groups === undefined) return parsed;
  const known = GROUP_COMBINATIONS.find((one) => one === groups);
  if (known !== undefined) return { ...parsed, groups: known };
  reading.faults.push({
    key: `${key}.groups`,
    problem: `must be "first" or "all", not ${quoteValue(groups)}`,
  });
  return parsed;
}

interface PemFile {
  readonly key: string;
  readonly holds: string;
  readonly begins: RegExp;
}

const CERTIFICATE: PemFile = {
  key: "http.tls_cert",
  holds: "a certificate in PEM",
  begins: /-----BEGIN CERTIFICATE-----/,
};
const PRIVATE_KEY: PemFile = {
  key: "http.tls_key",
  holds: "an unencrypted private key in PEM",
  begins: /-----BEGIN (RSA |EC )?PRIVATE KEY-----/,
};

/** The text of a PEM file with certificates, by its path or as it is; "" and a fault if it is not one. */
export function readCertificates(key: string, path: string, reading: ParseContext): string {
  if (isCertificatePem(path)) return path;
  return readPem({ ...CERTIFICATE, key }, path, reading);
}

/** The JSON of schema extensions, by the path of its file or as it is; "" and a fault if they cannot be used. */
export function readExtensions(key: string, setting: string, { sources, faults }: ParseContext): string {
  const refuse = (problem: Problem): string => {
    faults.push({ key, ...problem });
    return "";
  };
  let json = setting;
  if (!isExtensionsJson(setting)) {
    try {
      json = sources.readTextFile(resolve(sources.cwd, setting));
    } catch (failure) {
      return refuse({
        problem: `the file ${quoteValue(setting)} ${
          readFailure(failure)
        }; it must hold schema extensions in JSON`,
      });
    }
  }
  const reason = sources.checkExtensions?.(json) ?? null;
  return reason === null ? json : refuse(problemOf("extensions_unfit", { reason }));
}

function readPem({ key, holds, begins }: PemFile, path: string, { sources, faults }: ParseContext): string {
  let pem: string;
  try {
    pem = sources.readTextFile(resolve(sources.cwd, path));
  } catch (failure) {
    faults.push({
      key,
      problem: `the file ${quoteValue(path)} ${readFailure(failure)}; it must hold ${holds}`,
    });
    return "";
  }
  if (!begins.test(pem)) faults.push({ key, problem: `the file ${quoteValue(path)} does not hold ${holds}` });
  return pem;
}

/** A KV Connect endpoint needs an access token, which the runtime reads from the environment. */
export function checkStoreToken({ store }: GeneralValues, { sources, faults }: ParseContext): void {
  if (store.kv === "" || (sources.env(KV_TOKEN_VARIABLE) ?? "") !== "") return;
  faults.push({
    key: "store.kv",
    problem:
      `the environment variable ${KV_TOKEN_VARIABLE} is not set; it must hold the access token of the KV Connect server`,
  });
}

/** The files of RADIUS over TLS. The listener reads them again later, so the settings have only their paths. */
export function checkRadiusTls({ radius: { tls } }: GeneralValues, reading: ParseContext): void {
  const files = [
    { ...CERTIFICATE, key: "radius.tls_cert", path: tls.cert },
    { ...PRIVATE_KEY, key: "radius.tls_key", path: tls.key },
    { ...CERTIFICATE, key: "radius.tls_ca", path: tls.ca },
  ];
  for (const { path, ...file } of files) {
    if (path !== "") readPem(file, path, reading);
    else if (tls.listen.length > 0 && !reading.faults.some((fault) => fault.key === file.key)) {
      reading.faults.push({ key: file.key, ...problemOf("needed_by", { other: "radius.tls_listen" }) });
    }
  }
}

/** Certificate and key. One without the other is a fault. */
export function readTls({ http }: GeneralValues, reading: ParseContext): Config["http"]["tls"] {
  const { tlsCert: cert, tlsKey: key } = http;
  if (cert === "" && key === "") return null;
  if (cert === "" || key === "") {
    const [missing, given] = cert === "" ? [CERTIFICATE, PRIVATE_KEY] : [PRIVATE_KEY, CERTIFICATE];
    if (!reading.faults.some((fault) => fault.key === missing.key)) {
      reading.faults.push({
        key: missing.key,
        problem: `it is empty; ${given.key} is given, and needs both`,
      });
    }
    return null;
  }
  return { certPem: readPem(CERTIFICATE, cert, reading), keyPem: readPem(PRIVATE_KEY, key, reading) };
}
