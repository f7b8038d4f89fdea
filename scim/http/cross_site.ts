// Refuses requests that a page of another site made a browser send. Browsers repeat HTTP Basic credentials, so without
// this check such a page could create users.

import { ScimRefusal } from "./refusals.ts";

/** Content types that an HTML form can send. curl -d and fetch() send them too, so only browsers are refused. */
const FORM_TYPES = new Set(["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]);

/**
 * @param deps.publicUrl the address that browsers use; a proxy may have changed the scheme of the request's own.
 * @returns a check that throws the refusal `cross_site` or `media_type`.
 */
export function createCrossSiteCheck({ publicUrl }: { publicUrl: string }): (request: Request) => void {
  const publicOrigin = new URL(publicUrl).origin;
  return (request) => {
    const site = request.headers.get("sec-fetch-site");
    if (site === "cross-site" || site === "same-site") throw new ScimRefusal("cross_site");
    const origin = request.headers.get("origin");
    if (origin !== null && origin !== publicOrigin && origin !== new URL(request.url).origin) {
      throw new ScimRefusal("cross_site");
    }
    if (request.body === null || !isBrowser(request)) return;
    const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (FORM_TYPES.has(type)) throw new ScimRefusal("media_type");
  };
}

/** Every browser names Mozilla; current ones also send Origin or Sec-Fetch-Site with a form. */
function isBrowser({ headers }: Request): boolean {
  return headers.has("origin") || headers.has("sec-fetch-site") ||
    headers.get("user-agent")?.startsWith("Mozilla/") === true;
}
