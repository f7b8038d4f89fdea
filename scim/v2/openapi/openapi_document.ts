// /openapi.json: the description of the specified interface, and of /scim/v2 beside it. The parts share no path, and no component except
// the security scheme `basic`.

import { openApiDocument } from "../../http/openapi.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { V2_COMPONENT, V2_TAG, v2Components, v2Paths } from "./v2_openapi.ts";

const TAG: JsonObject = {
  name: V2_TAG,
  description:
    "The full protocol of RFC 7644, for identity providers. Any other method at a path is answered as the response " +
    `${V2_COMPONENT}MethodNotAllowed describes.`,
};

/** Both descriptions as one object. @param publicUrl where the server is, without a trailing slash. */
export function combinedOpenApi(publicUrl: string): JsonObject {
  const specified = openApiDocument(publicUrl);
  const components = objectAt(specified, "components");
  const added = Object.entries(v2Components()).map(([kind, some]): [string, JsonObject] => [
    kind,
    { ...objectAt(components, kind), ...some },
  ]);
  const { tags = [] } = specified;
  return {
    ...specified,
    tags: [...Array.isArray(tags) ? tags : [], TAG],
    paths: { ...objectAt(specified, "paths"), ...v2Paths() },
    components: { ...components, ...Object.fromEntries(added) },
  };
}

/** Both descriptions as JSON. */
export function combinedOpenApiText(publicUrl: string): string {
  return JSON.stringify(combinedOpenApi(publicUrl), null, 2);
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value: JsonValue | undefined = object[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as JsonObject : {};
}

/** Both descriptions as JSON in UTF-8. They are made once for each public URL, because anyone can ask for them. */
export function rememberOpenApi(http: { readonly publicUrl: string }): () => Uint8Array<ArrayBuffer> {
  let known = { publicUrl: "", octets: new Uint8Array() };
  return () => {
    const { publicUrl } = http;
    if (known.publicUrl !== publicUrl) {
      known = { publicUrl, octets: new TextEncoder().encode(combinedOpenApiText(publicUrl)) };
    }
    return known.octets;
  };
}
