// The attribute table, made ready to be asked: names without case (RFC 7643 §2.1), in the document's spelling or the RFC's.

import type { ResourceKind } from "./resource.ts";
import {
  type AttributeRow,
  type AttributeType,
  GROUP_ATTRIBUTES,
  GROUP_SCHEMA,
  USER_ATTRIBUTES,
  USER_SCHEMA,
} from "./attribute_table.ts";

/** One attribute of the table. */
export interface KnownAttribute {
  /** As it is stored and shown. */
  readonly name: string;
  readonly type: AttributeType;
  readonly multi: boolean;
  readonly caseExact: boolean;
  readonly plain: string | null;
  readonly mutability: "readWrite" | "readOnly" | "writeOnly";
  /** Empty unless the type is complex. */
  readonly sub: AttributeSet;
}

/** By the name in small letters, in either spelling. */
export type AttributeSet = ReadonlyMap<string, KnownAttribute>;

export const CORE_SCHEMAS: Readonly<Record<ResourceKind, string>> = {
  user: USER_SCHEMA,
  group: GROUP_SCHEMA,
};

export const ATTRIBUTES: Readonly<Record<ResourceKind, AttributeSet>> = {
  user: compile(USER_ATTRIBUTES),
  group: compile(GROUP_ATTRIBUTES),
};

/** The attribute of that name in either spelling, without case. */
export function findAttribute(set: AttributeSet, name: string): KnownAttribute | undefined {
  // Most names come spelled as they are stored in small letters already, or are short; long ones are no attribute.
  return name.length > 100 ? undefined : set.get(name.toLowerCase());
}

/** The name without the core schema's URN in front of it (RFC 7644 §3.10). */
export function withoutCoreSchema(kind: ResourceKind, name: string): string {
  const schema = CORE_SCHEMAS[kind];
  const head = name.slice(0, schema.length + 1).toLowerCase();
  return head === `${schema.toLowerCase()}:` ? name.slice(schema.length + 1) : name;
}

function compile(rows: Readonly<Record<string, AttributeRow>>): AttributeSet {
  const set = new Map<string, KnownAttribute>();
  for (const [name, row] of Object.entries(rows)) {
    const known: KnownAttribute = {
      name,
      type: row.type,
      multi: row.multi ?? false,
      caseExact: row.caseExact ?? false,
      plain: row.plain ?? null,
      mutability: row.mutability ?? "readWrite",
      sub: compile(row.sub ?? {}),
    };
    set.set(name.toLowerCase(), known);
    if (row.rfcName !== undefined) set.set(row.rfcName.toLowerCase(), known);
  }
  return set;
}
