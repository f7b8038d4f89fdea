// Renders resources, lists and errors as JSON (RFC 7643 §3, RFC 7644 §3.4.2, §3.12). Attributes are inserted as stored
// text, so a list is neither parsed nor serialised again.

import { DAY_MS } from "../../platform/durations.ts";
import type { JsonObject, Mapping, Stored } from "./resource.ts";
import { ERROR_SCHEMA, LIST_SCHEMA } from "./attribute_table.ts";
import { CORE_SCHEMAS } from "./attributes.ts";
import { resourceIds } from "./mapping.ts";

const RESOURCE_TYPES = { user: "User", group: "Group" } as const;

/** The weak entity tag of a version (RFC 7644 §3.14): `W/"…"`. */
export function etagOf(version: string): string {
  return `W/"${version}"`;
}

/**
 * One resource as a response of the interface.
 *
 * @param location the absolute URL of the resource.
 * @returns JSON text, without line breaks.
 */
export function renderResource(
  stored: Stored,
  { location, mapping }: { location: string; mapping: Mapping },
): string {
  const { content } = stored;
  const attributes = (stored.attributesText ?? JSON.stringify(content.attributes)).slice(1, -1);
  const { id, externalId } = resourceIds(content, mapping);
  const parts = [
    `{"schemas":${JSON.stringify(schemasOf(stored, attributes))}`,
    `"id":${quote(id)}`,
    `"externalId":${quote(externalId)}`,
    content.kind === "user" ? `"userName":${quote(content.name)}` : `"displayName":${quote(content.name)}`,
  ];
  const rest = withoutExternalId(stored, attributes);
  if (rest !== "") parts.push(rest);
  if (content.kind === "user") {
    parts.push(`"active":${content.active}`);
    if (stored.groups.length > 0) parts.push(`"groups":${renderReferences(stored.groups)}`);
  } else {
    parts.push(`"members":${renderReferences(content.members)}`);
  }
  parts.push(`"meta":${renderMeta(stored, location)}}`);
  return parts.join(",");
}

/** @param texts one JSON text for each resource of the page. `startIndex` counts from 1. */
export function renderList(
  texts: readonly string[],
  { total, startIndex }: { total: number; startIndex: number },
): string {
  return `{"schemas":["${LIST_SCHEMA}"],"totalResults":${total},"startIndex":${startIndex},` +
    `"itemsPerPage":${texts.length},"Resources":[${texts.join(",")}]}`;
}

/** One page of the full interface, with index or cursor pagination (RFC 9865 §2). */
type ListResponsePage =
  & {
    /** Resources that match, on all pages. */
    readonly total: number;
    /** One JSON text for each resource of the page. */
    readonly texts: readonly string[];
  }
  & (
    | {
      /** From 1. */
      readonly startIndex: number;
    }
    | {
      /** Absent: the page is the last one. */
      readonly nextCursor?: string | undefined;
      /** Absent: the page is the first one, or the server does not go back. */
      readonly previousCursor?: string | undefined;
    }
  );

/** @returns JSON text. `Resources` is present on an empty page, too: clients read it without a check. */
export function renderListResponse({ total, texts, ...place }: ListResponsePage): string {
  const counts = { totalResults: total, itemsPerPage: texts.length };
  const head = JSON.stringify({ schemas: [LIST_SCHEMA], ...counts, ...place });
  return `${head.slice(0, -1)},"Resources":[${texts.join(",")}]}`;
}

/** RFC 7644 §3.12: `status` is a string. The body contains only members that the RFC names. */
export function errorBody(
  { status, scimType, detail }: { status: number; scimType?: string | undefined; detail: string },
): JsonObject {
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail,
  };
}

/** The core schema, and the extensions that the resource has attributes of (RFC 7643 §3). */
export function schemasOf(stored: Stored, attributesText?: string): string[] {
  const core = CORE_SCHEMAS[stored.content.kind];
  // Parses the attributes only if there may be an extension.
  if (attributesText !== undefined && !attributesText.includes('"urn:')) return [core];
  return [core, ...Object.keys(stored.content.attributes).filter((name) => name.startsWith("urn:"))];
}

/** The identifiers of other resources: their names, which are their ids. */
function renderReferences(names: readonly string[]): string {
  return JSON.stringify(names.map((name) => ({ value: name, display: name })));
}

function renderMeta(stored: Stored, location: string): string {
  return `{"resourceType":"${RESOURCE_TYPES[stored.content.kind]}","created":"${
    isoTime(stored.createdMs)
  }",` +
    `"lastModified":"${isoTime(stored.modifiedMs)}","location":${quote(location)},` +
    `"version":${quote(etagOf(stored.version))}}`;
}

/** Removes externalId, which the head of the resource already contains. */
function withoutExternalId(stored: Stored, attributes: string): string {
  if (!attributes.includes('"externalId"')) return attributes;
  const { externalId: _, ...rest } = stored.content.attributes;
  return JSON.stringify(rest).slice(1, -1);
}

/** JSON has such a text unchanged. Nearly every name is like this, and a group has tens of thousands. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

function quote(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Numbers with two and with three digits. */
const PAIRS = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));
const TRIPLES = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, "0"));

/** The resources of one page often have the same day. */
let lastDay = NaN;
let lastDate = "";

/**
 * The same text as `Date.toISOString`, at a tenth of its cost.
 *
 * @param ms whole milliseconds since the epoch.
 * @throws RangeError if a Date cannot have this value.
 */
export function isoTime(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  if (day !== lastDay) {
    lastDate = new Date(day * DAY_MS).toISOString().slice(0, -"00:00:00.000Z".length);
    lastDay = day;
  }
  const rest = ms - day * DAY_MS;
  const hours = PAIRS[Math.floor(rest / 3_600_000)];
  const minutes = PAIRS[Math.floor(rest / 60_000) % 60];
  const seconds = PAIRS[Math.floor(rest / 1000) % 60];
  return `${lastDate}${hours}:${minutes}:${seconds}.${TRIPLES[Math.floor(rest) % 1000]}Z`;
}
