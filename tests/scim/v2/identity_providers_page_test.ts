// docs/identity-providers.md: its example is valid, and the table of indexed attributes agrees with the queries.

import { assert, assertEquals } from "@std/assert";
import { EXTENSION_EXAMPLE } from "../../../docs/identity_providers_text.ts";
import { identityProvidersPage } from "../../../docs/identity_providers_page.ts";
import { V2_ROUTES } from "../../../scim/v2/http/operation.ts";
import { parseExtensions } from "../../../scim/v2/schema/custom_extension.ts";

Deno.test("the example of a custom extension can be used as it is", () => {
  const read = parseExtensions(EXTENSION_EXAMPLE);
  if (!read.ok) throw new Error(read.problem);
  assertEquals(read.extensions.length, EXTENSION_EXAMPLE.length);
});

Deno.test("identityProvidersPage() has each operation, and the steps of the console", () => {
  const page = identityProvidersPage();
  for (const { method, path } of V2_ROUTES) assert(page.includes(`| \`${method}\` | \`${path}\` |`), path);
  for (const step of ["SCIM connector base URL", "Tenant URL", "Provision on demand"]) {
    assert(page.includes(step), step);
  }
  assertEquals(page.includes("undefined"), false);
});
