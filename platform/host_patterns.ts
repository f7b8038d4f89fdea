// Patterns of host names in settings: `push.example.com`, `*.push.example.com` for the names below it, and a port if it is not that
// of https.

const MAX_CHARACTERS = 253;
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** At least two labels. The last one has a letter, so that an IP address is not a name. */
const PATTERN = new RegExp(`^(?:\\*\\.)?(?:${LABEL}\\.)+(?=[0-9-]*[a-z])${LABEL}(?::[1-9][0-9]{0,4})?$`);

/** Whether a text is a pattern in canonical spelling (lower case). */
export function isHostPattern(text: string): boolean {
  const port = Number(/:(\d+)$/.exec(text)?.[1] ?? "443");
  return text.length <= MAX_CHARACTERS && PATTERN.test(text) && port <= 65_535;
}

/**
 * Whether one of the patterns has this host.
 *
 * @param host `URL.host`: in lower case, with its port unless that is the one of the scheme.
 */
export function matchesHost(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith("*.")
      ? host.endsWith(pattern.slice(1)) && host.length >= pattern.length
      : host === pattern
  );
}
