// Where an operation of a bulk request can refer to another one with "bulkId:" (RFC 7644 §3.7.2): in its path, and in attributes that hold
// the id of a resource. In other attributes, such a text is a value.

import { isJsonArray, isJsonObject } from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { definitionAt, readAttributePath } from "../query/filter_access.ts";
import {
  type AttributeDefinition,
  findSub,
  type ResourceTypeDefinition,
  subDefinitions,
} from "../../schema/attribute_table.ts";
import type { TargetSchemas } from "../schema/target_schemas.ts";

export const BULK_METHODS = ["POST", "PUT", "PATCH", "DELETE"] as const;

/** One operation of a bulk request. */
export interface BulkRequestOperation {
  /** The place in the request, from 0. */
  readonly index: number;
  readonly method: typeof BULK_METHODS[number];
  readonly path: string;
  readonly bulkId: string | null;
  /** The ETag that the resource must have. */
  readonly version: string | null;
  /** `null` for DELETE. */
  readonly data: JsonObject | null;
}

const REFERENCE = "bulkId:";
const RESOURCES: ReadonlySet<string> = new Set(["User", "Group"]);
/** The attribute, the filter in brackets, and the sub-attribute of a path. */
const PATCH_PATH = /^([^[]*)(\[.*\])?([^\]]*)$/s;
/** A comparison of an id in a filter. */
const COMPARED_ID = /((?:^|[\s([])(?:value|\$ref)\s+[a-z]{2}\s+)("bulkId:(?:[^"\\]|\\.)*")/gi;

/** The text for a reference. `undefined`: the value that has it is left out. */
type Replace = (bulkId: string) => string | undefined;

/** An operation with its references replaced. */
export function replaceReferences(
  operation: BulkRequestOperation,
  { types }: TargetSchemas,
  replace: Replace,
): BulkRequestOperation {
  const { method, data } = operation;
  const [, endpoint = ""] = operation.path.split("/");
  const path = operation.path.split("/").map((segment) => replaceText(segment, replace) ?? "").join("/");
  const type = Object.values(types).find((one) =>
    one.endpoint.toLowerCase() === `/${endpoint.toLowerCase()}`
  );
  if (data === null || type === undefined) return { ...operation, path };
  const references = new ReferenceReader(type, replace);
  return {
    ...operation,
    path,
    data: method === "PATCH" ? references.patch(data) : references.resource(data),
  };
}

/** The bulkIds that an operation refers to. */
export function referencesOf(operation: BulkRequestOperation, schemas: TargetSchemas): ReadonlySet<string> {
  const found = new Set<string>();
  replaceReferences(operation, schemas, (bulkId) => {
    found.add(bulkId);
    return REFERENCE + bulkId;
  });
  return found;
}

function replaceText(text: string, replace: Replace): string | undefined {
  return text.startsWith(REFERENCE) ? replace(text.slice(REFERENCE.length)) : text;
}

class ReferenceReader {
  readonly #type: ResourceTypeDefinition;
  readonly #replace: Replace;

  constructor(type: ResourceTypeDefinition, replace: Replace) {
    this.#type = type;
    this.#replace = replace;
  }

  /** The attributes of a resource. */
  resource(body: JsonObject): JsonObject {
    return mapObject(body, (name, value) => this.#attribute(name, value));
  }

  patch(body: JsonObject): JsonObject {
    return mapObject(
      body,
      (name, value) =>
        name.toLowerCase() === "operations" && isJsonArray(value)
          ? value.map((one) => isJsonObject(one) ? this.#operation(one) : one)
          : value,
    );
  }

  #operation(operation: JsonObject): JsonObject {
    const found = Object.entries(operation).find(([name]) => name.toLowerCase() === "path")?.[1];
    const path = typeof found === "string" ? found : "";
    const [, head = "", filter = "", tail = ""] = PATCH_PATH.exec(path) ?? [path, path];
    return mapObject(operation, (name, value) => {
      if (name.toLowerCase() === "path" && value === path) return head + this.#filter(head, filter) + tail;
      if (name.toLowerCase() !== "value") return value;
      if (path !== "") return this.#attribute(head + tail, value) ?? null;
      return isJsonObject(value) ? this.resource(value) : value;
    });
  }

  #filter(attribute: string, filter: string): string {
    const path = readAttributePath(this.#type, attribute);
    if (filter === "" || path === undefined || !holdsIds(definitionAt(this.#type, path))) return filter;
    return filter.replaceAll(COMPARED_ID, (whole, comparison: string, quoted: string) => {
      const text = textIn(quoted);
      return text === null ? whole : comparison + JSON.stringify(replaceText(text, this.#replace) ?? "");
    });
  }

  /** The value of an attribute or an extension. @param name may have a URN in front, and a sub-attribute. */
  #attribute(name: string, value: JsonValue): JsonValue | undefined {
    const path = readAttributePath(this.#type, name);
    if (path === undefined) return value;
    const definition = definitionAt(this.#type, path);
    if (definition === undefined) {
      return isJsonObject(value)
        ? mapObject(value, (inner, part) => this.#attribute(`${path.attribute}:${inner}`, part))
        : value;
    }
    const parent = path.sub === null ? undefined : definitionAt(this.#type, { ...path, sub: null });
    return this.#value(value, definition, parent);
  }

  #value(
    value: JsonValue,
    definition: AttributeDefinition,
    parent?: AttributeDefinition,
  ): JsonValue | undefined {
    if (isJsonArray(value)) {
      const values = value.map((one) => this.#value(one, definition, parent));
      return isSameList(values, value) ? value : values.filter((one) => one !== undefined);
    }
    if (typeof value === "string") {
      const isId = holdsIds(definition) || isReference(definition) ||
        (definition.name === "value" && holdsIds(parent));
      return isId ? replaceText(value, this.#replace) : value;
    }
    if (!isJsonObject(value)) return value;
    const changed = mapObject(value, (name, part) => {
      const sub = findSub(definition, name);
      return sub === undefined ? part : this.#value(part, sub, definition);
    });
    // Without its id, the rest of the value describes nothing.
    return Object.keys(changed).length < Object.keys(value).length ? undefined : changed;
  }
}

function isSameList(some: readonly (JsonValue | undefined)[], others: readonly JsonValue[]): boolean {
  return some.every((one, at) => one === others[at]);
}

const holding = new WeakMap<AttributeDefinition, boolean>();

/** An attribute such as `members` or `manager`: `value` is the id of the resource that `$ref` names. */
function holdsIds(definition: AttributeDefinition | undefined): boolean {
  if (definition === undefined) return false;
  let known = holding.get(definition);
  if (known === undefined) {
    known = subDefinitions(definition).some((sub) => sub.name === "$ref" && isReference(sub));
    holding.set(definition, known);
  }
  return known;
}

function isReference({ type, referenceTypes = [] }: AttributeDefinition): boolean {
  return type === "reference" && referenceTypes.some((name) => RESOURCES.has(name));
}

function textIn(quoted: string): string | null {
  try {
    return String(JSON.parse(quoted));
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}

/** The object itself if nothing changes: most requests have few references. */
function mapObject(
  object: JsonObject,
  change: (name: string, value: JsonValue) => JsonValue | undefined,
): JsonObject {
  const entries = Object.entries(object);
  const values = entries.map(([name, value]) => change(name, value));
  if (values.every((value, at) => value === entries[at]?.[1])) return object;
  const changed = entries.map(([name], at) => [name, values[at]] as const);
  return Object.fromEntries(changed.filter(([, value]) => value !== undefined)) as JsonObject;
}
