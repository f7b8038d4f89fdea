// PATCH of one resource as a pure function (RFC 7644 §3.5.2): all operations, or none. Operations on `members` become ids to add and to remove. The members
// of a group are read only for a filter that is not about their ids.

import { canonicalJson, isJsonArray, property } from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { filterPaths, type ScimFilter } from "../../filter/filter.ts";
import {
  applyOperation,
  checkAttribute,
  holderOf,
  type PatchOperation,
  withPart,
} from "./patch_operations.ts";
import { readOperations, type ShapeRule } from "./patch_request.ts";
import { entryNode, type PatchProblem, PatchRefusal, type PatchSchema } from "./patch_path.ts";
import { TOLERATED_SHAPES } from "./patch_shapes.ts";
import { matchesEntryFilter } from "../../filter/filter_match.ts";
import { isMemberId, memberIdOf, NO_MEMBER_ID } from "../schema/stored_content.ts";
import type { AttributeDefinition } from "../../schema/attribute_table.ts";

export interface PatchOptions {
  readonly schema: PatchSchema;
  /** For a group: operations on `members` are collected, because the resource does not have its members. */
  readonly members?: MemberLimits | undefined;
  /** Absent: every row of {@link TOLERATED_SHAPES}. */
  readonly shapes?: readonly ShapeRule[] | undefined;
}

export type PatchOutcome =
  | {
    readonly ok: true;
    /** With the exact spelling of the schemas. A new `password` is in it, too. */
    readonly resource: JsonObject;
    /** Whether the resource differs from the given one. If not, its version stays. */
    readonly isChanged: boolean;
    /** `null`: no member changes. */
    readonly members: MemberChanges | null;
  }
  | { readonly ok: false; readonly problem: PatchProblem };

/** Entries that the operations of one request may compare, so that a request ends soon. */
const MAX_WORK = 150_000;
const WORK_PER_OPERATION = 20;

/**
 * Applies the body of a PATCH request to a resource. Never throws on input, and never changes the given resource.
 *
 * @param resource with the exact spelling of the schemas; a group without `members`, if the options have `members`.
 */
export function applyPatch(resource: JsonObject, body: JsonValue, options: PatchOptions): PatchOutcome {
  try {
    return runOperations(resource, body, options);
  } catch (fault) {
    if (fault instanceof PatchRefusal) return { ok: false, problem: fault.problem };
    throw fault;
  }
}

function runOperations(resource: JsonObject, body: JsonValue, options: PatchOptions): PatchOutcome {
  const { schema, members, shapes = Object.values(TOLERATED_SHAPES) } = options;
  const operations = readOperations(body, schema, shapes);
  const collector = members === undefined ? null : new MemberCollector(members);
  let changed = resource;
  let work = 0;
  for (const operation of operations) {
    if (collector !== null && isAboutMembers(operation)) {
      collector.apply(operation);
      continue;
    }
    work += WORK_PER_OPERATION + comparisonCount(changed, operation);
    if (work > MAX_WORK) throw new PatchRefusal("tooMany", "Send fewer operations in one request.");
    changed = applyOperation(changed, operation);
  }
  changed = withSchemas(changed, operations, property(resource, "schemas"));
  checkChanges(changed, operations, collector !== null);
  const isChanged = canonicalJson(changed) !== canonicalJson(resource);
  return {
    ok: true,
    resource: isChanged ? changed : resource,
    isChanged,
    members: collector?.changes() ?? null,
  };
}

function isAboutMembers({ path: { section, attribute } }: PatchOperation): boolean {
  return section.isCore && attribute?.name === "members";
}

function comparisonCount(resource: JsonObject, { path }: PatchOperation): number {
  const { section, attribute, filter } = path;
  const value = attribute === null ? undefined : property(holderOf(resource, section), attribute.name);
  return (isJsonArray(value) ? value.length : 0) * (1 + (filter === null ? 0 : filterPaths(filter).length));
}

/** RFC 7643 §3: `schemas` lists the extensions that the resource has, whatever an operation set. `given`: before the PATCH. */
function withSchemas(
  resource: JsonObject,
  operations: readonly PatchOperation[],
  given: JsonValue | undefined,
): JsonObject {
  let schemas = isJsonArray(given) ? given : [];
  for (const section of new Set(operations.map(({ path }) => path.section))) {
    if (section.isCore) continue;
    const isThere = Object.hasOwn(resource, section.id);
    if (isThere && !schemas.includes(section.id)) schemas = [...schemas, section.id];
    if (!isThere) schemas = schemas.filter((urn) => urn !== section.id);
  }
  return schemas === property(resource, "schemas") || schemas.length === 0
    ? resource
    : withPart(resource, "schemas", schemas) ?? resource;
}

function checkChanges(
  resource: JsonObject,
  operations: readonly PatchOperation[],
  skipsMembers: boolean,
): void {
  const places = new Map(
    operations.map((operation) => [
      `${operation.path.section.id}:${operation.path.attribute?.name ?? ""}`,
      operation,
    ]),
  );
  for (const operation of places.values()) {
    const { section, attribute } = operation.path;
    if (attribute === null || (skipsMembers && isAboutMembers(operation))) continue;
    checkAttribute(property(holderOf(resource, section), attribute.name), attribute);
  }
}

/** How the operations of one request on `members` are limited. */
export interface MemberLimits {
  /** Whether `remove` without a filter may remove every member. */
  readonly canRemoveAll: boolean;
  /** Ids in one request. Absent: 10,000. */
  readonly maxChanges?: number | undefined;
  /** The members as a response has them. Absent: they were not read. */
  readonly present?: (() => readonly JsonObject[]) | undefined;
}

/** Thrown for a filter that needs {@link MemberLimits.present}. */
export class MembersNeeded extends Error {
  override readonly name = "MembersNeeded";
}

/** The changes of the members of a group. No id is in both lists. */
export interface MemberChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** All members after the change. `add` and `remove` are then empty. */
  readonly replace?: readonly string[];
}

const DEFAULT_MAX_CHANGES = 10_000;

/** Collects the operations on `members` in order. The last operation on an id wins. */
class MemberCollector {
  readonly #limits: MemberLimits;
  readonly #add = new Set<string>();
  readonly #remove = new Set<string>();
  #replace: Set<string> | null = null;
  #count = 0;

  constructor(limits: MemberLimits) {
    this.#limits = limits;
  }

  /** @throws PatchRefusal */
  apply(operation: PatchOperation): void {
    const { op, path: { filter, sub }, value } = operation;
    if (sub !== null) {
      throw new PatchRefusal("mutability", `Add and remove whole members: "${sub.name}" is immutable.`);
    }
    if (op === "remove") return this.#removeIds(operation);
    if (filter !== null) {
      throw new PatchRefusal("invalidPath", 'Use the path "members" to add or replace members.');
    }
    const ids = this.#counted(idsOf(value));
    if (op === "replace") return this.#replaceWith(ids);
    for (const id of ids) {
      this.#remove.delete(id);
      (this.#replace ?? this.#add).add(id);
    }
  }

  /** `null`: nothing changes. */
  changes(): MemberChanges | null {
    if (this.#replace !== null) return { add: [], remove: [], replace: [...this.#replace] };
    if (this.#add.size === 0 && this.#remove.size === 0) return null;
    return { add: [...this.#add], remove: [...this.#remove] };
  }

  #removeIds({ path: { filter, attribute }, only }: PatchOperation): void {
    if (filter === null && only === undefined) {
      if (!this.#limits.canRemoveAll) {
        throw new PatchRefusal(
          "mutability",
          "List the members to remove. This connection cannot remove all at once.",
        );
      }
      return this.#replaceWith([]);
    }
    const selected = filter === null
      ? only ?? []
      : filteredIds(filter) ?? (attribute === null ? [] : this.#matchingIds(filter, attribute));
    const ids = filter === null || only === undefined ? selected : selected.filter((id) => only.includes(id));
    for (const id of this.#counted(ids)) {
      if (this.#replace !== null) this.#replace.delete(id);
      else {
        this.#add.delete(id);
        this.#remove.add(id);
      }
    }
  }

  /** Of the members that the group has after the operations so far. */
  #matchingIds(filter: ScimFilter, node: AttributeDefinition): string[] {
    const { present } = this.#limits;
    if (present === undefined) throw new MembersNeeded();
    const known = new Map(present().map((member) => [property(member, "value"), member]));
    const ids = this.#replace ?? new Set([...known.keys(), ...this.#add].filter(isMemberId));
    const find = (name: string) => entryNode(node, name);
    return [...ids].filter((id) =>
      !this.#remove.has(id) && matchesEntryFilter(filter, known.get(id) ?? { value: id, type: "User" }, find)
    );
  }

  #replaceWith(ids: readonly string[]): void {
    // From here on, `#add` and `#remove` mean nothing.
    this.#replace = new Set(ids);
  }

  #counted(ids: readonly string[]): readonly string[] {
    const max = this.#limits.maxChanges ?? DEFAULT_MAX_CHANGES;
    this.#count += ids.length;
    if (this.#count > max) {
      throw new PatchRefusal("tooMany", `Change at most ${max} members in one request.`);
    }
    return ids;
  }
}

function idsOf(value: JsonValue | undefined): string[] {
  if (value === null) return [];
  if (!isJsonArray(value)) throw new PatchRefusal("invalidValue", 'Send "members" as a list.');
  return value.map((entry) => {
    const id = memberIdOf(entry);
    if (id === null) throw new PatchRefusal("invalidValue", NO_MEMBER_ID);
    return id;
  });
}

/** The ids of `value eq "a" or value eq "b"`. `null`: another filter, which needs the members themselves. */
function filteredIds(filter: ScimFilter): string[] | null {
  if (filter.kind === "or") {
    const ids = filter.filters.map(filteredIds);
    return ids.some((one) => one === null) ? null : ids.flatMap((one) => one ?? []);
  }
  const isId = filter.kind === "compare" && filter.operator === "eq" && filter.path.attribute === "value";
  return isId && typeof filter.value === "string" ? [filter.value] : null;
}
