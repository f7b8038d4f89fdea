// The interfaces that clients, browsers and settings files rely on: routes, settings and the
// flow. The snapshots are updated as snapshot.ts describes.

import { CONSOLE_API_PATH, createConsoleApi } from "../../console/api/console_api.ts";
import { createDeviceApi } from "../../console/api/devices/device_api.ts";
import { createAccountApi } from "../../console/api/account/account_api.ts";
import { configurationPage } from "../../docs/configuration_page.ts";
import { FLOW } from "../../radius/flow/flow.ts";
import { SCIM_PREFIX, SCIM_ROUTES } from "../../scim/http/routes.ts";
import { assertSnapshot } from "./snapshot.ts";

const lines = (all: readonly string[]) => `${all.join("\n")}\n`;

interface Routes {
  readonly routes: readonly { readonly method: string; readonly path: string }[];
}

/** Method and path of every handler; middleware answers no route. */
function routesOf(prefix: string, { routes }: Routes): string[] {
  const own = routes.filter(({ method }) => method !== "ALL");
  return [...new Set(own.map(({ method, path }) => `${method} ${prefix}${path}`))].sort();
}

Deno.test("the console's API, the device API and the account API have the same routes", async () => {
  // Routes do not run when they are registered, so that they need no dependency.
  const consoleApi = createConsoleApi({} as Parameters<typeof createConsoleApi>[0]);
  const deviceApi = createDeviceApi({} as Parameters<typeof createDeviceApi>[0]);
  const meApi = createAccountApi({} as Parameters<typeof createAccountApi>[0]);
  await assertSnapshot(
    "api_routes.txt",
    lines([
      ...routesOf(CONSOLE_API_PATH, consoleApi),
      ...routesOf("/device/api", deviceApi),
      ...routesOf("/me/api", meApi),
    ]),
  );
});

Deno.test("SCIM has the same routes, query parameters and permissions", async () => {
  const rows = SCIM_ROUTES.map(({ method, path, query, supported, access }) =>
    `${method} ${SCIM_PREFIX}/<target>${path} ${supported ? access : "not supported"} ${query.join(",")}`
      .trimEnd()
  );
  await assertSnapshot("scim_routes.txt", lines(rows));
});

Deno.test("the settings have the same keys and defaults", async () => {
  // The description of a setting may change. A comment begins after a value, never inside one.
  const page = configurationPage();
  const toml = [...page.matchAll(/^```toml\n(.*?)^```$/gms)].flatMap(([, code = ""]) => code.split("\n"));
  const settings = toml.filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.replace(/\s+# .*$/, "").trimEnd());
  await assertSnapshot("settings.txt", lines(settings));
});

Deno.test("the flow table has the same rows", async () => {
  const rows = FLOW.map(({ name, from, when, then, prompt, to }) =>
    `${from} / ${name}: ${when.join(" and ")} -> ${then.join(", ") || "nothing"}; ${
      prompt ?? "no message"
    }; ${to}`
  );
  await assertSnapshot("flow.txt", lines(rows));
});
