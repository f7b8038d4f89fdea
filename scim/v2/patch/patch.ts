// PATCH of one resource as a pure function (RFC 7644 §3.5.2): all operations, or none.

import { property } from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { filterPaths } from "../../filter/filter_tree.ts";
import { isJsonArray } from "../../schema/json_limits.ts";
import { canonicalJson } from "../../schema/value_rules.ts";
import { type MemberChanges, MemberCollector, type MemberLimits } from "./patch_members.ts";
import { applyOperation, holderOf, type PatchOperation } from "./patch_operations.ts";
import { readOperations, type ShapeRule } from "./patch_request.ts";
import { type PatchProblem, PatchRefusal, type PatchSchema } from "./patch_schema.ts";
import { TOLERATED_SHAPES } from "./patch_shapes.ts";
import { checkAttribute, withPart } from "./patch_values.ts";

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
