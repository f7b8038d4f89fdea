// Renders stored resources as responses: ids of members and groups, meta, and the projection.

import type { FilterPath } from "../../filter/filter.ts";
import type { TargetDirectory, UserRenderer } from "../../ports.ts";
import { isJsonArray } from "../../schema/attributes.ts";
import { etagOf, isoTime } from "../../schema/render_resource.ts";
import type { JsonObject, Stored } from "../../schema/resource.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_table.ts";
import type { Projection } from "./projection.ts";
import { renderContent } from "./stored_content.ts";

export interface RenderContext {
  readonly type: ResourceTypeDefinition;
  /** The absolute URL of the target, without a slash at the end. */
  readonly baseUrl: string;
  readonly directory: Pick<TargetDirectory, "readIds">;
}

/** Reads the id of each group once, for a response with several users, which are rendered at the same time. */
export function readGroupsOnce({ directory, ...context }: RenderContext): RenderContext {
  const known = new Map<string, Promise<string | null>>();
  return {
    ...context,
    directory: {
      async readIds(kind, names) {
        const unknown = names.filter((name) => !known.has(name));
        if (unknown.length > 0) {
          const reading = directory.readIds(kind, unknown);
          for (const [at, name] of unknown.entries()) known.set(name, reading.then((ids) => ids[at] ?? null));
        }
        return await Promise.all(names.map((name) => known.get(name) ?? null));
      },
    },
  };
}

/** The absolute URL of a resource. */
export function locationOf({ type, baseUrl }: Pick<RenderContext, "type" | "baseUrl">, id: string): string {
  return `${baseUrl}${type.endpoint}/${id}`;
}

/**
 * A stored resource in the spelling of RFC 7643, before the projection.
 *
 * @param options.isHead the resource was read without members, so it has neither `members` nor a version.
 * @param options.includes the attributes that the response can contain. Others are not read.
 */
export async function renderStored(
  stored: Stored,
  context: RenderContext,
  { includes = () => true, isHead = false }: { includes?: (name: string) => boolean; isHead?: boolean } = {},
): Promise<JsonObject> {
  const { content, id, externalId } = stored;
  const parts = {
    id,
    ...(externalId === undefined ? {} : { externalId }),
    ...(stored.activeUnassigned === undefined ? {} : { activeUnassigned: true }),
    includes,
    ...(includes("meta") ? { meta: metaOf(stored, context, isHead) } : {}),
  };
  if (content.kind === "user") {
    const groups = includes("groups") ? await groupsOf(stored, context) : [];
    return renderContent(content, context.type, { ...parts, groups });
  }
  const members = includes("members") && !isHead ? membersOf(stored, context) : [];
  return renderContent(content, context.type, { ...parts, members });
}

/** Renders only what a filter or an order compares: the attributes of `paths`. */
export function comparedViews(
  context: RenderContext,
  paths: readonly FilterPath[],
): (stored: Stored) => Promise<JsonObject> {
  const names = new Set(paths.map(({ schema, attribute }) => schema ?? attribute));
  // The values of an extension decide whether `schemas` lists it.
  const includes = (name: string) => names.has(name) || (names.has("schemas") && name.startsWith("urn:"));
  const once = readGroupsOnce(context);
  // Without `active` in responses, a user is compared by it all the same.
  return ({ activeUnassigned: _, ...stored }) => renderStored(stored, once, { includes });
}

/** The JSON text of a response. */
export async function renderResponse(
  stored: Stored,
  context: RenderContext,
  projection: Projection,
  options: { isHead?: boolean } = {},
): Promise<string> {
  const project = async (one: Stored) => {
    const rendered = await renderStored(one, context, { ...options, includes: projection.includes });
    return projection.isPlain ? rendered : projection.apply(rendered);
  };
  const { content, memberIds = [] } = stored;
  const first = memberIds.findIndex((id) => id !== null);
  if (content.kind === "user" || first < 0) return JSON.stringify(await project(stored));
  // What the response has of one member, it has of each.
  const projected = await project({
    ...stored,
    content: { ...content, members: content.members.slice(first, first + 1) },
    memberIds: memberIds.slice(first, first + 1),
  });
  const { members } = projected;
  if (!isJsonArray(members)) return JSON.stringify(projected);
  if (Object.keys(members[0] ?? {}).join() !== "value,$ref,type") {
    return JSON.stringify(await project(stored));
  }
  let text = "";
  for (const [name, value] of Object.entries(projected)) {
    text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:`;
    text += name === "members" ? membersText(memberIds, context) : JSON.stringify(value);
  }
  return `${text}}`;
}

/** The members in most responses. Objects of 10,000 members take longer than the write. */
function membersText(ids: readonly (string | null)[], { baseUrl }: Pick<RenderContext, "baseUrl">): string {
  const middle = `","$ref":${JSON.stringify(`${baseUrl}/Users/`).slice(0, -1)}`;
  let text = "";
  for (const id of ids) if (id !== null) text += `,{"value":"${id}${middle}${id}","type":"User"}`;
  return `[${text.slice(1)}]`;
}

/** Renders users with all attributes. @param projection a plain one */
export function userRenderer(context: RenderContext, projection: Projection): UserRenderer {
  return {
    interfaceName: "v2",
    on: [context.type, context.baseUrl],
    render: (stored) => renderResponse(stored, context, projection),
  };
}

function metaOf(stored: Stored, context: RenderContext, isHead: boolean): JsonObject {
  return {
    resourceType: context.type.name,
    created: isoTime(stored.createdMs),
    lastModified: isoTime(stored.modifiedMs),
    location: locationOf(context, stored.id),
    ...(isHead ? {} : { version: etagOf(stored.version) }),
  };
}

async function groupsOf(
  { groups }: Stored,
  { directory, baseUrl }: RenderContext,
): Promise<JsonObject[]> {
  if (groups.length === 0) return [];
  const ids = await directory.readIds("group", groups);
  return groups.flatMap((display, at): JsonObject[] => {
    const value = ids[at] ?? null;
    return value === null ? [] : [{ value, $ref: `${baseUrl}/Groups/${value}`, display, type: "direct" }];
  });
}

/** A member without a user has no id, so the response does not contain it. */
export function membersOf(
  { content, memberIds = [] }: Stored,
  { baseUrl }: Pick<RenderContext, "baseUrl">,
): JsonObject[] {
  if (content.kind === "user") return [];
  return content.members.flatMap((display, at): JsonObject[] => {
    const value = memberIds[at] ?? null;
    return value === null ? [] : [{ value, $ref: `${baseUrl}/Users/${value}`, display, type: "User" }];
  });
}
