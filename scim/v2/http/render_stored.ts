// Renders stored resources as responses: ids of members and groups, meta, and the projection.

import type { TargetDirectory } from "../../ports.ts";
import { etagOf, isoTime } from "../../schema/render_resource.ts";
import { renderOnce } from "../../schema/renderings.ts";
import type { JsonObject, Stored } from "../../schema/resource.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_definition.ts";
import type { Projection } from "../schema/projection.ts";
import { renderContent } from "../schema/stored_content.ts";

export interface RenderContext {
  readonly type: ResourceTypeDefinition;
  /** The absolute URL of the target, without a slash at the end. */
  readonly baseUrl: string;
  readonly directory: Pick<TargetDirectory, "readIds">;
}

/** Reads the id of each group once, for a response with several users. */
export function readGroupsOnce({ directory, ...context }: RenderContext): RenderContext {
  const known = new Map<string, string | null>();
  return {
    ...context,
    directory: {
      async readIds(kind, names) {
        const unknown = names.filter((name) => !known.has(name));
        const ids = unknown.length === 0 ? [] : await directory.readIds(kind, unknown);
        for (const [at, name] of unknown.entries()) known.set(name, ids[at] ?? null);
        return names.map((name) => known.get(name) ?? null);
      },
    },
  };
}

/** The absolute URL of a resource. */
export function locationOf({ type, baseUrl }: Pick<RenderContext, "type" | "baseUrl">, id: string): string {
  return `${baseUrl}${type.endpoint}/${id}`;
}

interface RenderOptions {
  /** The attributes that the response can contain. Others are not read. */
  readonly includes?: (name: string) => boolean;
  /** The resource was read without members, so it has neither `members` nor a version. */
  readonly isHead?: boolean;
}

/** A stored resource in the spelling of RFC 7643, before the projection. */
export async function renderStored(
  stored: Stored,
  context: RenderContext,
  options: RenderOptions = {},
): Promise<JsonObject> {
  const { includes = () => true } = options;
  const groupIds = includes("groups") ? await groupIdsOf(stored, context) : [];
  return renderRead(stored, context, { ...options, includes, groupIds });
}

/** The JSON text of a response. */
export async function renderResponse(
  stored: Stored,
  context: RenderContext,
  projection: Projection,
  options: Pick<RenderOptions, "isHead"> = {},
): Promise<string> {
  const { includes, isPlain } = projection;
  if (!isPlain) {
    return JSON.stringify(projection.apply(await renderStored(stored, context, { ...options, includes })));
  }
  const { type, baseUrl } = context;
  const groupIds = await groupIdsOf(stored, context);
  return renderOnce(
    stored,
    { name: "v2", on: [type, baseUrl, options.isHead === true, ...groupIds] },
    () => JSON.stringify(renderRead(stored, context, { ...options, includes, groupIds })),
  );
}

/** The ids of a user's groups, in the order of the names. `null`: no group has the name. */
async function groupIdsOf(
  { groups }: Stored,
  { directory }: RenderContext,
): Promise<readonly (string | null)[]> {
  return groups.length === 0 ? [] : await directory.readIds("group", groups);
}

function renderRead(
  stored: Stored,
  context: RenderContext,
  { includes = () => true, isHead = false, groupIds }: RenderOptions & {
    readonly groupIds: readonly (string | null)[];
  },
): JsonObject {
  const { content, id, externalId } = stored;
  const parts = {
    id,
    ...(externalId === undefined ? {} : { externalId }),
    ...(stored.activeUnassigned === undefined ? {} : { activeUnassigned: true }),
    includes,
    ...(includes("meta") ? { meta: metaOf(stored, context, isHead) } : {}),
  };
  if (content.kind === "user") {
    return renderContent(content, context.type, { ...parts, groups: groupsOf(stored, context, groupIds) });
  }
  const members = includes("members") && !isHead ? membersOf(stored, context) : [];
  return renderContent(content, context.type, { ...parts, members });
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

function groupsOf(
  { groups }: Stored,
  { baseUrl }: RenderContext,
  ids: readonly (string | null)[],
): JsonObject[] {
  // A response without groups gets no ids.
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
