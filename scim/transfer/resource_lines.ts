// Resources as lines of JSON: what an export writes, and an import reads.

import { resourceLocation } from "../http/routes.ts";
import type { Target } from "../ports.ts";
import type { GroupContent, Stored } from "../schema/resource.ts";
import { renderResource } from "../schema/render_resource.ts";

/** A group beyond this goes on in further lines, so that no line is too long for an import. */
const MOST_MEMBERS = 1000;

/**
 * A resource as the interface answers it. The further lines of a large group bring members alone.
 *
 * @param options.publicUrl what the addresses of resources begin with.
 */
export function* resourceLines(
  { name: target, mapping }: Pick<Target, "name" | "mapping">,
  stored: Stored,
  { publicUrl }: { publicUrl: string },
): Generator<string> {
  const { kind, name } = stored.content;
  const location = resourceLocation({ publicUrl, target }, { kind, name });
  for (const part of partsOf(stored)) yield renderResource(part, { location, mapping });
}

function* partsOf(stored: Stored): Generator<Stored> {
  const { content, attributesText: _, ...rest } = stored;
  if (content.kind === "user" || content.members.length <= MOST_MEMBERS) {
    yield stored;
    return;
  }
  for (let from = 0; from < content.members.length; from += MOST_MEMBERS) {
    const part: GroupContent = {
      ...content,
      attributes: from === 0 ? content.attributes : {},
      members: content.members.slice(from, from + MOST_MEMBERS),
    };
    yield { ...rest, content: part };
  }
}
