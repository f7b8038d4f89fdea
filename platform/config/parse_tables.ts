// Reads the parts of the file that are more than rows: the tables that repeat, the attributes of replies, and the
// files that hold the certificate and its key.

import { resolve } from "node:path";
import type { Config, ReplyAttributes } from "./config.ts";
import type { Admin, General } from "./build_config.ts";
import { isTable, joinKey, sortTable, type Table } from "./parse_toml.ts";
import { type Reading, readRows, shown } from "./parse_settings.ts";
import { readFailure, resolveReferences } from "./secret_refs.ts";
import { ADMIN_ROWS } from "./settings.ts";
import { CLIENT_ROWS } from "./client_rows.ts";
import type { Rows, ValuesOf } from "./setting_row.ts";

/** The key of a table in a list, counted from 0: `radius.client[0].`. */
export const entryPrefix = (list: string, at: number) => `${list}[${at}].`;

const MAX_ENTRIES = 10_000;

/** Reads each table of a list by its rows. */
export function readEach<R extends Rows>(
  rows: R,
  list: string,
  tables: readonly Table[],
  reading: Reading,
): ValuesOf<R>[] {
  if (tables.length > MAX_ENTRIES) {
    reading.faults.push({
      key: list,
      problem: `there are ${tables.length}; at most ${MAX_ENTRIES} are allowed`,
    });
    return [];
  }
  const shape = {
    keys: new Set(Object.keys(rows)),
    lists: new Set<string>(),
    maps: new Set<string>(),
  };
  return tables.map((table, at) => {
    const prefix = entryPrefix(list, at);
    const { values } = sortTable(table, { shape, prefix, faults: reading.faults });
    return readRows(rows, reading, { found: values, keyPrefix: prefix });
  });
}

export function readClients(tables: readonly Table[], reading: Reading): ValuesOf<Rows>[] {
  return readEach(CLIENT_ROWS, "radius.client", tables, reading);
}

export function readAdmins(tables: readonly Table[], reading: Reading): Admin[] {
  return readEach(ADMIN_ROWS, "console.admin", tables, reading);
}

/** RFC 2865 §5: a value has at most 253 octets; an integer has 32 bits. */
const MAX_REPLY_OCTETS = 253;

function replyProblem(name: string, raw: unknown): string | null {
  if (name === "" || name.length > 128) return "an attribute's name has 1 to 128 characters";
  if (typeof raw === "string") {
    const octets = new TextEncoder().encode(raw).length;
    return octets > 0 && octets <= MAX_REPLY_OCTETS
      ? null
      : `its value has ${octets} octets; it must have 1 to ${MAX_REPLY_OCTETS}`;
  }
  const isInteger = typeof raw === "number" && Number.isInteger(raw) && raw >= 0 && raw <= 0xffff_ffff;
  return isInteger
    ? null
    : `${shown(raw)} is not allowed; it must be a text or a whole number from 0 to 4294967295`;
}

/** A table of reply attributes, each checked by the sources' `checkReplyAttribute` as well. */
function readReplies(table: Table, path: string, reading: Reading): ReplyAttributes {
  const { sources, faults } = reading;
  const replies: [string, string | number][] = [];
  for (const [name, given] of Object.entries(table)) {
    const key = `${path}.${JSON.stringify(name)}`;
    const resolved = resolveReferences(given, sources);
    const raw = resolved.ok ? resolved.raw : null;
    const problem = resolved.ok ? replyProblem(name, raw) : resolved.problem;
    if (problem === null && (typeof raw === "string" || typeof raw === "number")) {
      const unfit = sources.checkReplyAttribute?.(name, raw) ?? null;
      if (unfit === null) replies.push([name, raw]);
      else {faults.push({
          key,
          problem: resolved.ok && resolved.borrowed ? "its value does not fit it" : unfit,
        });}
    } else faults.push({ key, problem: problem ?? "it must be a text or a number" });
  }
  return Object.fromEntries(replies);
}

/** The attributes of every Access-Accept. */
export function readReplyDefault(table: Table, reading: Reading): ReplyAttributes {
  return readReplies(table, "radius.reply.default", reading);
}

const MAX_REPLY_GROUPS = 1000;
const MAX_GROUP_CHARACTERS = 256;

/** The attributes that members of a group get, by the group's name, in the order of the file. */
export function readReplyGroups(table: Table, reading: Reading): Config["radius"]["replyGroups"] {
  const { faults } = reading;
  const path = "radius.reply.group";
  const entries = Object.entries(table);
  if (entries.length > MAX_REPLY_GROUPS) {
    faults.push({
      key: path,
      problem: `there are ${entries.length}; at most ${MAX_REPLY_GROUPS} are allowed`,
    });
    return [];
  }
  return entries.flatMap(([group, attributes]) => {
    const key = joinKey(path, group);
    if (group === "" || group.length > MAX_GROUP_CHARACTERS) {
      faults.push({ key, problem: `a group's name has 1 to ${MAX_GROUP_CHARACTERS} characters` });
    } else if (!isTable(attributes)) faults.push({ key, problem: `it must be a table: [${key}]` });
    else return [{ group, attributes: readReplies(attributes, key, reading) }];
    return [];
  });
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

/** The text of a PEM file with certificates, read now; "" and a fault when it is none. */
export function readCertificates(key: string, path: string, reading: Reading): string {
  return readPem({ ...CERTIFICATE, key }, path, reading);
}

function readPem({ key, holds, begins }: PemFile, path: string, { sources, faults }: Reading): string {
  let pem: string;
  try {
    pem = sources.readTextFile(resolve(sources.cwd, path));
  } catch (failure) {
    faults.push({ key, problem: `the file ${shown(path)} ${readFailure(failure)}; it must hold ${holds}` });
    return "";
  }
  if (!begins.test(pem)) faults.push({ key, problem: `the file ${shown(path)} does not hold ${holds}` });
  return pem;
}

/** Certificate and key, when both are given; one alone is a fault. */
export function readTls(general: General, reading: Reading): Config["http"]["tls"] {
  const { "http.tls_cert": cert, "http.tls_key": key } = general;
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
