// Where the page of a user is.

/** The page of a user. */
export function userHref(name: string, target = ""): string {
  return `/users/${encodeURIComponent(name)}${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`;
}
