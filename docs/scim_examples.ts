// The requests and answers that docs/scim.md shows; the answers are written by the code that answers.

import { DEFAULT_GROUP_MAPPING, DEFAULT_USER_MAPPING } from "../scim/schema/mapping.ts";
import { resourceLocation, type RouteRow, SCIM_PREFIX } from "../scim/http/routes.ts";
import { HANDLER_FACTS } from "./scim_operations.ts";
import type { ResourceKind, Stored } from "../scim/schema/resource.ts";
import { renderList, renderResource } from "../scim/schema/render_resource.ts";

const PUBLIC_URL = "http://127.0.0.1:8080";
const TARGET = "default";
const AT_MS = Date.UTC(2026, 0, 2, 9, 30);

const COMMON = {
  id: "019b7d9f-2c40-8000-8000-000000000000",
  backends: {},
  createdMs: AT_MS,
  modifiedMs: AT_MS,
  version: "4f1d",
};
const STORED: Readonly<Record<ResourceKind, Stored>> = {
  user: {
    ...COMMON,
    content: {
      kind: "user",
      name: "ann",
      active: true,
      attributes: {
        name: { familyName: "Lee", givenName: "Ann" },
        emails: [{ value: "ann@example.org", type: "work", primary: true }],
        phoneNumbers: [{ value: "+14155550123" }],
      },
    },
    groups: ["vpn"],
  },
  group: {
    ...COMMON,
    content: { kind: "group", name: "vpn", attributes: {}, members: ["ann"] },
    groups: [],
  },
};

const BODIES: Readonly<Record<ResourceKind, string>> = {
  user: `{
  "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
  "userName": "ann",
  "name": { "givenName": "Ann", "familyName": "Lee" },
  "emails": [{ "value": "ann@example.org", "type": "work", "primary": true }],
  "phoneNumbers": [{ "value": "+14155550123" }]
}`,
  group: `{
  "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
  "displayName": "vpn",
  "members": [{ "display": "ann" }]
}`,
};

const REASONS: Readonly<Record<number, string>> = { 200: "OK", 201: "Created", 204: "No Content" };

/** The resource that the examples are about. */
export function exampleStored(kind: ResourceKind): Stored {
  return STORED[kind];
}

/** A line for a shell. */
export function exampleRequest(row: RouteRow, { content }: Stored): string {
  const path = row.path.replace(/<\w+>/, content.name);
  const query = row.handler === "list" ? "?page=1" : "";
  const method = row.method === "GET" ? "" : ` -X ${row.method}`;
  const line = `curl -u provisioner${method} '${PUBLIC_URL}${SCIM_PREFIX}/${TARGET}${path}${query}'`;
  return HANDLER_FACTS[row.handler].body
    ? `${line} --data-binary @- <<'JSON'\n${BODIES[content.kind]}\nJSON`
    : line;
}

/** What is answered. */
export function exampleAnswer(
  row: RouteRow,
  stored: Stored,
): { status: string; location: string | null; body: string | null } {
  const { success } = HANDLER_FACTS[row.handler];
  const { kind, name } = stored.content;
  const location = resourceLocation({ publicUrl: PUBLIC_URL, target: TARGET }, { kind, name });
  const mapping = { user: DEFAULT_USER_MAPPING, group: DEFAULT_GROUP_MAPPING };
  const resource = renderResource(stored, { location, mapping });
  const text = row.handler === "list" ? renderList([resource], { total: 1, startIndex: 1 }) : resource;
  return {
    status: `${success} ${REASONS[success ?? 0] ?? ""}`,
    location: success === 201 ? location : null,
    body: success === 204 ? null : JSON.stringify(JSON.parse(text), null, 2),
  };
}
