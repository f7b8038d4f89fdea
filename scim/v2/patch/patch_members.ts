// Turns operations on `members` into ids to add and to remove (RFC 7644 §3.5.2). The members of a group are never read.

import { property } from "../../schema/attributes.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import type { JsonValue } from "../../schema/resource.ts";
import type { ScimFilter } from "../../filter/filter_tree.ts";
import { PatchRefusal } from "./patch_schema.ts";
import type { PatchOperation } from "./patch_operations.ts";

/** How the operations of one request on `members` are limited. */
export interface MemberLimits {
  /** Whether `remove` without a filter may remove every member. */
  readonly canRemoveAll: boolean;
  /** Ids in one request. Absent: 10,000. */
  readonly maxChanges?: number | undefined;
}

/** The changes of the members of a group. No id is in both lists. */
export interface MemberChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** All members after the change. `add` and `remove` are then empty. */
  readonly replace?: readonly string[];
}

const DEFAULT_MAX_CHANGES = 10_000;
const MAX_ID_CHARACTERS = 256;

/** Collects the operations on `members` in order. The last operation on an id wins. */
export class MemberCollector {
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
    const { op, path: { filter, sub }, value, only } = operation;
    if (sub !== null) {
      throw new PatchRefusal("mutability", `Add and remove whole members: "${sub.name}" is immutable.`);
    }
    if (op === "remove") return this.#removeIds(filter, only);
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

  #removeIds(filter: ScimFilter | null, only: readonly string[] | undefined): void {
    if (filter === null && only === undefined) {
      if (!this.#limits.canRemoveAll) {
        throw new PatchRefusal(
          "mutability",
          "List the members to remove. This connection cannot remove all at once.",
        );
      }
      return this.#replaceWith([]);
    }
    const selected = filter === null ? only ?? [] : filteredIds(filter);
    const ids = filter === null || only === undefined ? selected : selected.filter((id) => only.includes(id));
    for (const id of this.#counted(ids)) {
      if (this.#replace !== null) this.#replace.delete(id);
      else {
        this.#add.delete(id);
        this.#remove.add(id);
      }
    }
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
    const id = isJsonObject(entry) ? property(entry, "value") : undefined;
    if (typeof id !== "string" || id === "" || id.length > MAX_ID_CHARACTERS || !id.isWellFormed()) {
      throw new PatchRefusal(
        "invalidValue",
        'Send each member as an object with the id of a resource in "value".',
      );
    }
    return id;
  });
}

/** The ids of `value eq "a" or value eq "b"`. Other filters would have to read every member. */
function filteredIds(filter: ScimFilter): string[] {
  if (filter.kind === "or") return filter.filters.flatMap(filteredIds);
  const isId = filter.kind === "compare" && filter.operator === "eq" && filter.path.attribute === "value";
  if (isId && typeof filter.value === "string") return [filter.value];
  throw new PatchRefusal("invalidFilter", 'Select members by id: members[value eq "id"].');
}
