// Compares paths with patterns such as `/users/:id`.

/** The named segments of a path, decoded; `null` if the path does not have this pattern. */
export function matchParams(pattern: string, segments: readonly string[]): Record<string, string> | null {
  const parts = pattern.split("/");
  if (parts.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? "";
    if (!part.startsWith(":")) {
      if (part !== segment) return null;
    } else if (segment === "") return null;
    else params[part.slice(1)] = decodeSegment(segment);
  }
  return params;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (_notWellFormed) {
    return segment;
  }
}
