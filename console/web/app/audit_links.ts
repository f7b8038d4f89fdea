// The pages of the objects that audit records name.

/** The page of an audited object, by its kind. Other kinds have no page. */
const OBJECT_PAGES: Readonly<Record<string, (name: string) => string>> = {
  user: (name) => `/users/${encodeURIComponent(name)}`,
  group: (name) => `/groups/${encodeURIComponent(name)}`,
  client: (name) => `/clients/${encodeURIComponent(name)}`,
  target: (name) => `/targets/${encodeURIComponent(name)}`,
  administrator: () => "/access",
  token: () => "/access#tokens",
  credential: () => "/credentials",
  connection: (name) => `/connections/${encodeURIComponent(name)}`,
  /** A credential as the actor. */
  scim: () => "/credentials",
};

/** The address of the page of `user:ada`; `null` if there is none. */
export function auditObjectHref(object: string): string | null {
  const colon = object.indexOf(":");
  const [kind, name] = [object.slice(0, Math.max(0, colon)), object.slice(colon + 1)];
  if (name === "" || !Object.hasOwn(OBJECT_PAGES, kind)) return null;
  return OBJECT_PAGES[kind]?.(name) ?? null;
}
