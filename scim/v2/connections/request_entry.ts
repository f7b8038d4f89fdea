// One entry of the request log, and its redaction: an entry has names of attributes, and no values but the name of the resource.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { ResourceKind } from "../../schema/resource.ts";
import type { RequestOutcome } from "./connection_settings.ts";

/** A request of a connection. {@link redactEntry} bounds and redacts it. */
export interface RequestLogEntry {
  readonly atMs: number;
  /** The name of the connection. */
  readonly connection: string;
  readonly source: string;
  readonly method: string;
  /** `users.create` */
  readonly operation: string;
  readonly resource: {
    readonly kind: ResourceKind;
    readonly id: string | null;
    readonly name: string | null;
  } | null;
  readonly status: number;
  readonly scimType: string | null;
  /** Why it was refused, or what a dry run would have done. */
  readonly detail: string | null;
  /** Names of attributes. */
  readonly attributes: readonly string[];
  readonly durationMs: number;
  readonly dryRun: boolean;
  readonly userAgent: string;
}

/** An entry of the log as it is read. */
export interface LoggedRequest extends RequestLogEntry {
  /** Unique within the connection. */
  readonly id: string;
}

/** All conditions must hold; `""` and `undefined`: any. */
export interface RequestFilter {
  readonly outcome?: RequestOutcome | undefined;
  /** A part of the name or id of the resource, of the source, or of the reason; without case. */
  readonly text?: string | undefined;
  readonly operation?: string | undefined;
  /** The first and the last time. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

const MAX_CHARACTERS = {
  source: 64,
  method: 16,
  operation: 64,
  id: 128,
  name: 256,
  scimType: 32,
  detail: 400,
  userAgent: 200,
  attribute: 128,
} as const;
const MAX_ATTRIBUTES = 40;
/** For the numbers and lengths of an entry in the format of V8. */
const OVERHEAD_OCTETS = 128;
/** An attribute path without a filter: `urn:…:User:name.givenName`, `$ref`. A filter contains a value. */
const ATTRIBUTE = /^[A-Za-z$][A-Za-z0-9._:$-]*$/;
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
/** A quoted value in a sentence. The end of one may be cut off. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?$)|'(?:[^'\\]|\\.)*'/g;
export const REDACTED = '"…"';

/** Cuts texts, removes control characters, and replaces values that the detail quotes. */
export function redactEntry(entry: RequestLogEntry): RequestLogEntry {
  const { resource } = entry;
  const attributes = attributeNames(entry.attributes);
  return {
    atMs: entry.atMs,
    connection: entry.connection,
    source: cut(entry.source, "source"),
    method: cut(entry.method, "method"),
    operation: cut(entry.operation, "operation"),
    resource: resource === null ? null : {
      kind: resource.kind,
      id: resource.id === null ? null : cut(resource.id, "id"),
      name: resource.name === null ? null : cut(resource.name, "name"),
    },
    status: entry.status,
    scimType: entry.scimType === null ? null : cut(entry.scimType, "scimType"),
    detail: entry.detail === null ? null : redactDetail(entry.detail, [resource?.name ?? "", ...attributes]),
    attributes,
    durationMs: Math.round(entry.durationMs),
    dryRun: entry.dryRun,
    userAgent: cut(entry.userAgent, "userAgent"),
  };
}

/** @param allowed values that a detail may quote. */
function redactDetail(detail: string, allowed: readonly string[]): string {
  // An unclosed quotation mark would hide a value that was cut off, so the text is cut last.
  const redacted = detail.slice(0, 4 * MAX_CHARACTERS.detail)
    .replace(
      QUOTED,
      (quoted) => allowed.some((one) => quoted === `"${one}"` || quoted === `'${one}'`) ? quoted : REDACTED,
    );
  return cut(redacted, "detail");
}

function attributeNames(names: readonly string[]): string[] {
  const sound = names.slice(0, 10 * MAX_ATTRIBUTES).map((name) => name.slice(0, MAX_CHARACTERS.attribute));
  return [...new Set(sound.filter((name) => ATTRIBUTE.test(name)))].slice(0, MAX_ATTRIBUTES);
}

function cut(text: string, field: keyof typeof MAX_CHARACTERS): string {
  const max = MAX_CHARACTERS[field];
  return text.slice(0, 4 * max).replace(UNSAFE, " ").trim().slice(0, max).toWellFormed();
}

function outcomeOf(status: number): RequestOutcome {
  if (status < 400) return "done";
  return status < 500 ? "refused" : "failed";
}

export function matchesRequest(
  entry: RequestLogEntry,
  { outcome, text, operation, fromMs = 0, toMs = Infinity }: RequestFilter,
): boolean {
  if (entry.atMs < fromMs || entry.atMs > toMs) return false;
  if (outcome !== undefined && outcomeOf(entry.status) !== outcome) return false;
  if (operation !== undefined && operation !== "" && entry.operation !== operation) return false;
  if (text === undefined || text === "") return true;
  const wanted = canonicalName(text);
  const { resource, source, detail } = entry;
  return [resource?.name, resource?.id, source, detail]
    .some((one) => typeof one === "string" && canonicalName(one).includes(wanted));
}

/** The octets of an entry in the store, at most. A string with a character outside Latin-1 has two octets for each unit. */
export function entryOctets(entry: RequestLogEntry): number {
  const text = JSON.stringify(entry);
  return (/[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length) + OVERHEAD_OCTETS;
}
