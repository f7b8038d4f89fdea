// Resources, lists and errors as JSON text (RFC 7643 §3, RFC 7644 §3.4.2, §3.12). Text is spliced from text that is at hand: a page of a hundred
// resources is neither parsed nor written out again.

import type { Mapping, Stored } from "./resource.ts";
import { ERROR_SCHEMA, LIST_SCHEMA } from "./attribute_table.ts";
import { CORE_SCHEMAS } from "./attributes.ts";
import { resourceIds } from "./mapping.ts";
import { isoTime } from "./timestamps.ts";

const RESOURCE_TYPES = { user: "User", group: "Group" } as const;

/** The weak entity tag of a version (RFC 7644 §3.14): `W/"…"`. */
export function etagOf(version: string): string {
  return `W/"${version}"`;
}

/**
 * One resource as the interface answers it.
 *
 * @param location the resource's own address, absolute.
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
    if (stored.groups.length > 0) parts.push(`"groups":[${stored.groups.map(renderReference).join(",")}]`);
  } else {
    parts.push(`"members":[${content.members.map(renderReference).join(",")}]`);
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

/** RFC 7644 §3.12: `status` is a text; nothing stands there that the RFC does not name. */
export function renderError(
  { status, scimType, detail }: { status: number; scimType?: string; detail: string },
): string {
  return JSON.stringify({
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail,
  });
}

/** The core schema, and the extensions that the resource has attributes of (RFC 7643 §3). */
export function schemasOf(stored: Stored, attributesText?: string): string[] {
  const core = CORE_SCHEMAS[stored.content.kind];
  // Parsed only where there may be one.
  if (attributesText !== undefined && !attributesText.includes('"urn:')) return [core];
  return [core, ...Object.keys(stored.content.attributes).filter((name) => name.startsWith("urn:"))];
}

/** The identifier of another resource: its name, which is its id. */
function renderReference(name: string): string {
  const text = quote(name);
  return `{"value":${text},"display":${text}}`;
}

function renderMeta(stored: Stored, location: string): string {
  return `{"resourceType":"${RESOURCE_TYPES[stored.content.kind]}","created":"${
    isoTime(stored.createdMs)
  }",` +
    `"lastModified":"${isoTime(stored.modifiedMs)}","location":${quote(location)},` +
    `"version":${quote(etagOf(stored.version))}}`;
}

/** The head of the resource has said it already. */
function withoutExternalId(stored: Stored, attributes: string): string {
  if (!attributes.includes('"externalId"')) return attributes;
  const { externalId: _, ...rest } = stored.content.attributes;
  return JSON.stringify(rest).slice(1, -1);
}

function quote(text: string): string {
  return JSON.stringify(text);
}
