// The import directions are kept, checked with deno's own graph of the project.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  importProblem,
  isPinned,
  missingPaths,
  packageProblem,
  packagesIn,
  ROOMS,
  unpinned,
} from "./import_rules.ts";
import { type ImportEdge, isModule, readImports, readSources } from "./sources.ts";

const settings: { imports: Record<string, string>; lock: { frozen: boolean } } = JSON.parse(
  await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
);
const sources = await readSources();
/** What only tests use: pinned in these files, not in deno.json. */
const testPackages = sources.filter(({ path }) => path.startsWith("tests/packages/"))
  .flatMap(({ text }) => packagesIn(text));
const pinned = new Set([...Object.values(settings.imports), ...testPackages]);

Deno.test("imports go only where the rows allow, and packages are pinned", async () => {
  const modules = sources.map(({ path }) => path).filter(isModule);
  const edges = await readImports(modules);
  assert(edges.length > 100, "the graph was read");
  const problems = edges.flatMap((edge) => [importProblem(edge), packageProblem(edge, pinned)])
    .filter((problem) => problem !== null);
  assertEquals([...new Set(problems)], []);
});

Deno.test("every path in the rows of the import rules exists", () => {
  const modules = sources.map(({ path }) => path).filter(isModule);
  assertEquals(missingPaths(ROOMS, modules), []);
  const stale = [{ at: "radius/", code: ["radius/doing/mirror.ts"], types: ["platform/store.ts", "gone/"] }];
  assertEquals(missingPaths(stale, modules), ["radius/doing/mirror.ts", "gone/"]);
});

Deno.test("deno.json pins every package to one version, and the lock file is frozen", () => {
  assertEquals(unpinned(settings.imports), []);
  assert(testPackages.length > 3, "tests/packages was read");
  assertEquals(testPackages.filter((specifier) => !isPinned(specifier)), []);
  assertEquals(settings.lock.frozen, true);
});

const code = (from: string, target: string): ImportEdge => ({ from, target, types: false });
const types = (from: string, target: string): ImportEdge => ({ from, target, types: true });

const FORBIDDEN: readonly ImportEdge[] = [
  code("radius/server/server.ts", "scim/routes.ts"),
  types("scim/routes.ts", "radius/ports.ts"),
  code("radius/protocol/packet.ts", "radius/flow/flow.ts"),
  code("radius/flow/flow.ts", "radius/server/server.ts"),
  code("radius/flow/flow.ts", "platform/store.ts"),
  code("upstream/telephony.ts", "radius/ports.ts"),
  types("upstream/telephony.ts", "radius/server/server.ts"),
  code("console/web/live.ts", "console/api/users.ts"),
  code("console/web/live.ts", "platform/runtime.ts"),
  code("console/api/users.ts", "scim/resources.ts"),
  code("radius/server/server.ts", "platform/http/http_listener.ts"),
  code("main.ts", "tests/fakes/raw_http.ts"),
  code("tests/support/radius_packets.ts", "radius/protocol/md5.ts"),
  code("somewhere/new.ts", "platform/runtime.ts"),
  code("console/api/users.ts", "tests/packages/express.ts"),
  code("console/app.ts", "compose.ts"),
  code("platform/control_listener.ts", "compose.ts"),
  code("cli/pair.ts", "radius/factors/pairings.ts"),
  code("cli/refresh.ts", "scim/scim.ts"),
  code("cli/client.ts", "console/api/clients/client_routes.ts"),
  code("cli/pair.ts", "upstream/services.ts"),
];

const ALLOWED: readonly ImportEdge[] = [
  code("main.ts", "scim/routes.ts"),
  code("compose.ts", "scim/scim.ts"),
  code("cli/admin_connection.ts", "compose.ts"),
  code("cli/admin_connection.ts", "console/api/console_api.ts"),
  types("cli/unlock.ts", "console/api/users/user_types.ts"),
  code("radius/server/server.ts", "radius/protocol/packet.ts"),
  types("upstream/telephony.ts", "radius/ports.ts"),
  types("console/api/users.ts", "scim/resources.ts"),
  code("console/web/live.ts", "radius/protocol/steps.ts"),
  types("console/web/live.ts", "console/api/users.ts"),
  code("tests/radius/packet_test.ts", "radius/protocol/md5.ts"),
  code("tests/radius/packet_test.ts", "tests/support/lines.ts"),
];

Deno.test("importProblem() names each forbidden direction", () => {
  for (const edge of FORBIDDEN) assert(importProblem(edge) !== null, JSON.stringify(edge));
  assertStringIncludes(
    importProblem(code("radius/server/server.ts", "scim/routes.ts")) ?? "",
    "radius/server/server.ts imports code of scim/routes.ts",
  );
});

Deno.test("importProblem() lets the allowed directions pass", () => {
  for (const edge of ALLOWED) assertEquals(importProblem(edge), null);
});

Deno.test("packageProblem() and unpinned() find packages that are not pinned", () => {
  const pins = new Set(["npm:hono@4.13.19"]);
  assertEquals(packageProblem(code("main.ts", "npm:/hono@4.13.19/cookie"), pins), null);
  assertEquals(packageProblem(code("main.ts", "node:crypto"), pins), null);
  assert(packageProblem(code("main.ts", "npm:/hono@4.13.20"), pins) !== null);
  assert(packageProblem(code("main.ts", "https://example.com/mod.ts"), pins) !== null);
  assertEquals(unpinned({ a: "npm:hono@4.13.19", b: "npm:@x/y@1.0.0/z.js" }), []);
  assertEquals(unpinned({ a: "npm:hono@^4", b: "npm:hono", c: "jsr:@std/x@1.0.0" }).length, 3);
});
