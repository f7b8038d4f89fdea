// The JSON of a resource against which a filter is matched: only the attributes that the filter or the order names.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { FilterPath } from "../../filter/filter.ts";
import type { TargetDirectory } from "../../ports.ts";
import type { JsonObject, ResourceKind, Stored } from "../../schema/resource.ts";
import { etagOf, isoTime } from "../../schema/render_resource.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_definition.ts";
import { renderContent } from "../schema/stored_content.ts";

interface QueryViewDeps {
  readonly directory: Pick<TargetDirectory, "read">;
  readonly types: Readonly<Record<ResourceKind, ResourceTypeDefinition>>;
  /** The URL of the interface, without a slash at the end. */
  readonly baseUrl: string;
}

/** Makes views with the attributes of `paths`. */
export class QueryViews {
  readonly #deps: QueryViewDeps;
  readonly #names: ReadonlySet<string>;
  /** By the name of the group. */
  readonly #groupIds = new Map<string, Promise<string | null>>();

  constructor(deps: QueryViewDeps, paths: readonly FilterPath[]) {
    this.#deps = deps;
    this.#names = new Set(paths.map(({ schema, attribute }) => schema ?? attribute));
  }

  async of(stored: Stored): Promise<JsonObject> {
    const { content, externalId } = stored;
    return renderContent(content, this.#deps.types[content.kind], {
      id: stored.id,
      ...(externalId === undefined ? {} : { externalId }),
      ...(this.#names.has("meta") ? { meta: this.#meta(stored) } : {}),
      ...(this.#names.has("groups") ? { groups: await this.#groupsOf(stored) } : {}),
      ...(this.#names.has("members") ? { members: this.#membersOf(stored) } : {}),
      // The values of an extension decide whether `schemas` lists it.
      includes: (name) => this.#names.has(name) || (this.#names.has("schemas") && name.startsWith("urn:")),
    });
  }

  #meta({ id, content, createdMs, modifiedMs, version }: Stored): JsonObject {
    return {
      resourceType: this.#deps.types[content.kind].name,
      created: isoTime(createdMs),
      lastModified: isoTime(modifiedMs),
      location: this.#location(content.kind, id),
      version: etagOf(version),
    };
  }

  async #groupsOf({ groups }: Stored): Promise<JsonObject[]> {
    const ids = await Promise.all(groups.map((name) => this.#groupId(name)));
    return groups.flatMap((name, at) => {
      const id = ids[at] ?? null;
      if (id === null) return [];
      return [{ value: id, $ref: this.#location("group", id), display: name, type: "direct" }];
    });
  }

  #membersOf({ content, memberIds = [] }: Stored): JsonObject[] {
    if (content.kind === "user") return [];
    return content.members.flatMap((name, at) => {
      const id = memberIds[at] ?? null;
      return id === null
        ? []
        : [{ value: id, $ref: this.#location("user", id), type: "User", display: name }];
    });
  }

  #groupId(name: string): Promise<string | null> {
    let reading = this.#groupIds.get(name);
    if (reading === undefined) {
      reading = this.#deps.directory.read("group", canonicalName(name)).then((group) => group?.id ?? null);
      this.#groupIds.set(name, reading);
    }
    return reading;
  }

  #location(kind: ResourceKind, id: string): string {
    return `${this.#deps.baseUrl}${this.#deps.types[kind].endpoint}/${id}`;
  }
}
