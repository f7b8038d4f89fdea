// What an audit record is about, as a link: from a record to the thing's page.

/** Where a thing of each kind has its page; a kind that is not here has none. */
const PAGES: Readonly<Record<string, (name: string) => string>> = {
  user: (name) => `/users/${encodeURIComponent(name)}`,
  group: (name) => `/groups/${encodeURIComponent(name)}`,
  client: (name) => `/clients/${encodeURIComponent(name)}`,
  target: (name) => `/targets/${encodeURIComponent(name)}`,
  administrator: () => "/access",
  token: () => "/access#tokens",
  credential: () => "/credentials",
  /** A credential as one who does something. */
  scim: () => "/credentials",
};

/** The page of `user:ada`; `null` for what has none. */
export function objectHref(object: string): string | null {
  const colon = object.indexOf(":");
  const [kind, name] = [object.slice(0, Math.max(0, colon)), object.slice(colon + 1)];
  if (name === "" || !Object.hasOwn(PAGES, kind)) return null;
  return PAGES[kind]?.(name) ?? null;
}
