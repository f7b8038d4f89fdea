// Reads the body of a PATCH request (RFC 7644 §3.5.2) as operations with parsed paths.

import { isJsonArray, isJsonObject, propertyWithoutCase } from "../../schema/attributes.ts";
import type { JsonValue } from "../../schema/resource.ts";
import { isMessage } from "../schema/read_body.ts";
import {
  findExtension,
  parsePatchPath,
  type PatchPath,
  PatchRefusal,
  type PatchSchema,
} from "./patch_path.ts";
import { type PatchOperation, sentTwice } from "./patch_operations.ts";
import { type AttributeDefinition, findDefinition, findSub } from "../../schema/attribute_table.ts";

/** One operation as the client sent it. A tolerated shape replaces it with operations that follow the RFC. */
export interface SentOperation {
  readonly op: JsonValue | undefined;
  readonly path: string | null;
  readonly value: JsonValue | undefined;
  readonly only?: readonly string[] | undefined;
  readonly creates?: boolean | undefined;
}

/** What a tolerated shape can look up. */
export interface ShapeContext {
  readonly schema: PatchSchema;
  /** The parsed path. `null`: it is not valid. */
  readonly find: (path: string) => PatchPath | null;
}

/** How a tolerated shape becomes a request of the RFC. A shape has one of the functions. */
export interface ShapeRule {
  /** Replaces the list of operations. */
  readonly body?: (operations: readonly JsonValue[]) => readonly JsonValue[];
  /** Replaces an operation. */
  readonly operation?: (operation: SentOperation, context: ShapeContext) => readonly SentOperation[];
  /** Replaces a value, or a part of one. `isList`: the schema has a list at that place. */
  readonly value?: (value: JsonValue, node: AttributeDefinition, isList: boolean) => JsonValue;
}

export const PATCH_MESSAGE = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
/** Operations of one PATCH. */
export const MAX_PATCH_OPERATIONS = 1000;
/** After the objects without a path became one operation for each attribute. */
const MAX_PARTS = 20_000;
const OPERATION_NAMES = ["add", "replace", "remove"] as const;

/**
 * Reads a body. The rules of tolerated shapes are applied in order, first those of operations.
 *
 * @throws PatchRefusal
 */
export function readOperations(
  body: JsonValue,
  schema: PatchSchema,
  rules: readonly ShapeRule[],
): PatchOperation[] {
  const paths = new Map<string, PatchPath | PatchRefusal>();
  const parse = (text: string): PatchPath => {
    const known = paths.get(text) ?? parseQuietly(text, schema);
    paths.set(text, known);
    if (known instanceof PatchRefusal) throw known;
    return known;
  };
  const context: ShapeContext = {
    schema,
    find: (text) => {
      const known = paths.get(text) ?? parseQuietly(text, schema);
      paths.set(text, known);
      return known instanceof PatchRefusal ? null : known;
    },
  };
  let operations: readonly SentOperation[] = sentOperations(body, rules);
  for (const { operation } of rules) {
    if (operation !== undefined) operations = operations.flatMap((one) => limited(operation(one, context)));
  }
  const parts = limited(operations.flatMap((one) => splitObject(one, schema)));
  return parts.map((one) => {
    const op = OPERATION_NAMES.find((name) => name === one.op);
    if (op === undefined) {
      throw new PatchRefusal("invalidSyntax", 'Send "add", "replace" or "remove" in "op".');
    }
    const path = parse(one.path ?? "");
    return { op, path, value: valueOf(one, path, rules), only: one.only, creates: one.creates };
  });
}

function limited(operations: readonly SentOperation[]): readonly SentOperation[] {
  if (operations.length > MAX_PARTS) {
    throw new PatchRefusal("tooMany", "Send fewer attributes in one request.");
  }
  return operations;
}

function parseQuietly(text: string, schema: PatchSchema): PatchPath | PatchRefusal {
  try {
    return parsePatchPath(text, schema);
  } catch (fault) {
    if (fault instanceof PatchRefusal) return fault;
    throw fault;
  }
}

function sentOperations(body: JsonValue, rules: readonly ShapeRule[]): SentOperation[] {
  if (!isJsonObject(body)) throw new PatchRefusal("invalidSyntax", "Send a JSON object.");
  if (!isMessage(propertyWithoutCase(body, "schemas", sentTwice), PATCH_MESSAGE)) {
    throw new PatchRefusal("invalidSyntax", `Send "${PATCH_MESSAGE}" in "schemas".`);
  }
  const given = propertyWithoutCase(body, "Operations", sentTwice);
  const operations = isJsonArray(given)
    ? rules.reduce<readonly JsonValue[]>((list, rule) => rule.body?.(list) ?? list, given)
    : [];
  if (operations.length === 0) {
    throw new PatchRefusal("invalidSyntax", 'Send a list with at least one operation in "Operations".');
  }
  if (operations.length > MAX_PATCH_OPERATIONS) {
    throw new PatchRefusal("tooMany", `Send at most ${MAX_PATCH_OPERATIONS} operations in one request.`);
  }
  return operations.map(readSent);
}

function readSent(operation: JsonValue): SentOperation {
  if (!isJsonObject(operation)) throw new PatchRefusal("invalidSyntax", "Send each operation as an object.");
  const read = (name: string) => propertyWithoutCase(operation, name, sentTwice);
  const path = read("path") ?? null;
  if (path !== null && typeof path !== "string") {
    throw new PatchRefusal("invalidPath", 'Send "path" as a string.');
  }
  const [op, value] = [read("op"), read("value")];
  // An empty path names nothing, like an absent one.
  return { op, path: path === "" ? null : path, value };
}

/** RFC 7644 §3.5.2.1: without a path, or with the path of an extension, the value has a set of attributes. */
function splitObject(operation: SentOperation, schema: PatchSchema): SentOperation[] {
  const { op, path, value } = operation;
  const extension = path === null ? undefined : findExtension(schema, path);
  if (path !== null && (extension === undefined || op === "remove")) return [operation];
  if (op === "remove") {
    throw new PatchRefusal("noTarget", 'Send a "path" that names what to remove.');
  }
  // RFC 7643 §2.5: null means that the extension has no attributes.
  if (extension !== undefined && value === null) {
    return op === "replace" ? [{ op: "remove", path: extension.id, value: undefined }] : [];
  }
  if (!isJsonObject(value)) {
    const what = extension === undefined ? "attributes" : `the attributes of "${extension.id}"`;
    throw new PatchRefusal("invalidValue", `Send an object with ${what}, or send a path.`);
  }
  const nodes = extension?.attributes ?? schema.core.attributes;
  const seen = new Set<string>();
  return Object.entries(value).flatMap(([name, part]) => {
    const known = findDefinition(nodes, name)?.name ?? name.toLowerCase();
    if (seen.size === seen.add(known).size) throw sentTwice(known);
    if (extension !== undefined) {
      checkName(extension.attributes, name);
      return [{ op, path: `${extension.id}:${name}`, value: part }];
    }
    const inner = findExtension(schema, name);
    if (inner === undefined) checkName(schema.core.attributes, name);
    return inner === undefined
      ? [{ op, path: name, value: part }]
      : splitObject({ op, path: inner.id, value: part }, schema);
  });
}

function checkName(nodes: readonly AttributeDefinition[], name: string): void {
  if (findDefinition(nodes, name) === undefined) {
    throw new PatchRefusal("invalidPath", "Use the names of attributes that /Schemas lists.");
  }
}

function valueOf(
  { op, value }: SentOperation,
  { attribute, filter, sub }: PatchPath,
  rules: readonly ShapeRule[],
): JsonValue | undefined {
  if (op === "remove") {
    // RFC 7644 §3.5.2.2 has no value. To ignore the value of a whole list would remove more than the client meant.
    const isWholeList = attribute?.multiValued === true && filter === null;
    // Of a list of members, null can also mean that there are none to remove.
    const isMeant = value === undefined || (value === null && attribute?.name !== "members");
    if (!isWholeList || isMeant) return undefined;
    throw new PatchRefusal("invalidValue", "Select what to remove in the path, without a value.");
  }
  if (value === undefined) throw new PatchRefusal("invalidValue", 'Send a "value".');
  const node = sub ?? attribute;
  if (node === null) return value;
  const isList = node.multiValued && (sub !== null || filter === null);
  return rules.reduce<JsonValue>(
    (shaped, rule) => rule.value === undefined ? shaped : reshape(shaped, { node, isList, rule: rule.value }),
    value,
  );
}

/** Applies a rule to a value and to its parts. */
function reshape(
  value: JsonValue,
  { node, isList, rule }: {
    readonly node: AttributeDefinition;
    readonly isList: boolean;
    readonly rule: NonNullable<ShapeRule["value"]>;
  },
): JsonValue {
  const shaped = rule(value, node, isList);
  if (isList) {
    return isJsonArray(shaped) ? shaped.map((one) => reshape(one, { node, isList: false, rule })) : shaped;
  }
  if (node.type !== "complex" || !isJsonObject(shaped)) return shaped;
  return Object.fromEntries(
    Object.entries(shaped).map(([name, part]) => {
      const sub = findSub(node, name);
      return [name, sub === undefined ? part : reshape(part, { node: sub, isList: sub.multiValued, rule })];
    }),
  );
}
