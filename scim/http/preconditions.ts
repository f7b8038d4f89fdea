// Conditional requests (RFC 9110 §13, RFC 7644 §3.14): entity tags as they are sent, and whether a condition holds. Tags are compared weakly,
// because those of SCIM are weak and are meant for If-Match all the same.

/** A header's condition: any version at all, or one of these. */
export type Condition = "any" | readonly string[];

/** Tags that one header may name. */
const MAX_TAGS = 100;
const TAG = /(?:W\/)?"([^"]*)"/g;

/** The opaque parts of the tags that If-Match or If-None-Match names; `null` when there is no such header. */
export function readCondition(header: string | null): Condition | null {
  if (header === null) return null;
  if (header.trim() === "*") return "any";
  const tags: string[] = [];
  for (const [, opaque = ""] of header.matchAll(TAG)) {
    if (tags.length >= MAX_TAGS) break;
    tags.push(opaque);
  }
  return tags;
}

/** Whether a version that is there is among those that the condition names. */
export function names(condition: Condition, version: string): boolean {
  return condition === "any" || condition.includes(version);
}

/** The opaque part of an entity tag such as `W/"x"`. */
export function opaqueOf(etag: string): string {
  return etag.replace(/^W\//, "").replaceAll('"', "");
}
