// The value index compared with the resources: all values, computed from what a read returns.

import { assertEquals } from "@std/assert";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { compareText, LAST_CHARACTER } from "../../../scim/directory/keys.ts";
import type { IndexedAttribute, Listing, TargetDirectory } from "../../../scim/ports.ts";
import type { ResourceKind, Stored } from "../../../scim/schema/resource.ts";

const ATTRIBUTES: Readonly<Record<ResourceKind, readonly IndexedAttribute[]>> = {
  user: ["externalId", "emails.value", "displayName", "active", "meta.created", "meta.lastModified"],
  group: ["externalId", "meta.created", "meta.lastModified"],
};
const ALL = { from: "", to: LAST_CHARACTER };
const ABSENT = "\u{10fffe}";

/** The values in lower case where filters ignore it; the first one counts in an order. */
function valuesOf({ content, externalId, createdMs, modifiedMs }: Stored, by: IndexedAttribute): string[] {
  const attributes = content.attributes as {
    emails?: { value: string; primary?: boolean }[];
    displayName?: string;
  };
  switch (by) {
    case "externalId":
      return externalId === undefined ? [] : [externalId];
    case "active":
      return [String(content.kind === "user" && content.active)];
    case "displayName":
      return attributes.displayName === undefined ? [] : [canonicalName(attributes.displayName)];
    case "meta.created":
      return [new Date(createdMs).toISOString().toLowerCase()];
    case "meta.lastModified":
      return [new Date(modifiedMs).toISOString().toLowerCase()];
    case "emails.value": {
      const emails = attributes.emails ?? [];
      const first = emails.find(({ primary }) => primary === true) ?? emails[0];
      const values = [...first === undefined ? [] : [first], ...emails].map(({ value }) =>
        canonicalName(value)
      );
      return [...new Set(values)];
    }
  }
}

/** Compares each attribute in both orders. */
export async function assertIndexed(directory: TargetDirectory): Promise<void> {
  for (const kind of ["user", "group"] as const) {
    const stored = await Array.fromAsync(directory.all(kind));
    for (const by of ATTRIBUTES[kind]) {
      const keys = stored.map((one) => {
        const name = canonicalName(one.content.name);
        return valuesOf(one, by).map((value) => `${value}\0${name}`);
      });
      const absent = stored.filter((one) => valuesOf(one, by).length === 0)
        .map(({ content }) => `${ABSENT}\0${canonicalName(content.name)}`);
      await assertListing(directory, kind, { by, ranges: [ALL], counted: "every" }, [
        ...keys.flat(),
        ...absent,
      ]);
      const first = keys.flatMap(([key]) => key === undefined ? [] : [key]);
      await assertListing(directory, kind, { by, ranges: [ALL], counted: "first" }, [...first, ...absent]);
    }
  }
}

async function assertListing(
  { indexes }: TargetDirectory,
  kind: ResourceKind,
  listing: Listing,
  expected: readonly string[],
): Promise<void> {
  const sorted = expected.toSorted(compareText);
  const at = `${kind} ${listing.by} ${listing.counted}`;
  assertEquals([at, await indexes.count(kind, listing)], [at, sorted.length]);
  const all = await indexes.list(kind, listing, { offset: 0, limit: 10_000 });
  assertEquals([at, ...all.map(({ key }) => key)], [at, ...sorted]);
  const last = await indexes.list(kind, listing, { offset: 1, limit: 3, isReverse: true });
  assertEquals([at, ...last.map(({ key }) => key)], [at, ...sorted.toReversed().slice(1, 4)]);
}
