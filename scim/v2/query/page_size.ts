// Reads the resources of a page until the page is large enough. A page may have fewer resources than the client asked for (RFC 7644 §3.4.2.4), and the
// members of its groups can be millions.

import type { Listed, ResourceIndexes } from "../../index_port.ts";
import type { ResourceKind, Stored } from "../../schema/resource.ts";
import type { CursorPlace } from "./query_cursor.ts";
import type { QueryPage } from "./query_page.ts";

/** About the octets of a page as JSON. A single resource can have more. */
const MAX_PAGE_OCTETS = 8_000_000;
const MEMBER_OCTETS = 200;
/** Read together: few large groups, or many small resources. */
const CHUNK = { user: 100, group: 5 } as const;

interface FittingPage {
  readonly resources: readonly Stored[];
  readonly next: CursorPlace | null;
  readonly previous: CursorPlace | null;
}

/** @param options.isBackwards the page ends before a place, so that its last resources are kept. */
export async function readFittingPage(
  indexes: Pick<ResourceIndexes, "readMany">,
  { listed, next, previous }: Pick<QueryPage, "listed" | "next" | "previous">,
  { kind, isBackwards, maxOctets = MAX_PAGE_OCTETS }: {
    kind: ResourceKind;
    isBackwards: boolean;
    maxOctets?: number | undefined;
  },
): Promise<FittingPage> {
  const waiting = isBackwards ? listed.toReversed() : listed;
  const resources: Stored[] = [];
  let octets = 0;
  let at = 0;
  while (at < waiting.length && octets < maxOctets) {
    const chunk = waiting.slice(at, at + CHUNK[kind]);
    const read = await indexes.readMany(kind, isBackwards ? chunk.toReversed() : chunk);
    if (isBackwards) resources.unshift(...read);
    else resources.push(...read);
    octets += read.reduce((sum, stored) => sum + octetsOf(stored), 0);
    at += chunk.length;
  }
  const last: Listed | undefined = at < waiting.length ? waiting[at - 1] : undefined;
  if (last === undefined) return { resources, next, previous };
  return isBackwards
    ? { resources, next, previous: { key: last.key, side: "before" } }
    : { resources, next: { key: last.key, side: "after" }, previous };
}

function octetsOf({ content, attributesText }: Stored): number {
  const members = content.kind === "group" ? content.members.length : 0;
  return (attributesText?.length ?? 0) + members * MEMBER_OCTETS;
}
