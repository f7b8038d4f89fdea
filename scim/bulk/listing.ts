// Everything of one kind, as lines of JSON, in steps of a bounded size: what an export writes.

import { resourceLocation } from "../facts/routes.ts";
import type { Target } from "../ports.ts";
import type { GroupContent, ResourceKind, Stored } from "../resource.ts";
import { renderResource } from "../pure/render.ts";

export interface Listing {
  /** The next lines, each one resource as the interface answers it; none at the end. Asked one at a time. */
  next(): Promise<string[]>;
  /** Lets go of what is being read. */
  close(): Promise<void>;
}

/** A group beyond this goes on in further lines, which bring members alone. */
const MOST_MEMBERS = 1000;
/** A step ends after the line that reaches it. */
const STEP_CHARACTERS = 40_000;

/** @param options.publicUrl what the resources' addresses begin with. */
export function openListing(
  target: Target,
  kind: ResourceKind,
  { publicUrl }: { publicUrl: string },
): Listing {
  const lines = linesOf(target, kind, publicUrl);
  return {
    async next() {
      const step: string[] = [];
      for (let characters = 0; characters < STEP_CHARACTERS;) {
        const { done, value } = await lines.next();
        if (done === true) break;
        step.push(value);
        characters += value.length;
      }
      return step;
    },
    async close() {
      await lines.return();
    },
  };
}

async function* linesOf(
  target: Target,
  kind: ResourceKind,
  publicUrl: string,
): AsyncGenerator<string, void, void> {
  for await (const stored of target.directory.all(kind)) {
    const { name } = stored.content;
    const location = resourceLocation({ publicUrl, target: target.name }, { kind, name });
    for (const part of partsOf(stored)) yield renderResource(part, { location, mapping: target.mapping });
  }
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
