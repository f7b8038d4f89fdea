// A SCIM backend for the tests, with the same connections as in the program.

import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { createScimBackend } from "../../../scim/backends/scim/scim_backend.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { openHttpClient } from "../../../platform/fetch_with_deadline.ts";
import { silentLog } from "./silent_log.ts";

const mapping = createMapping({ user: {}, group: {} });

export function scimSettings(more: Partial<ScimBackendSettings> = {}): ScimBackendSettings {
  return {
    kind: "scim",
    name: "saas",
    mode: "async",
    url: "http://127.0.0.1:9",
    token: "",
    userName: "",
    password: "",
    connections: 4,
    // A busy machine answers many requests slowly; tests of the deadline set their own.
    timeoutMs: 300_000,
    ...more,
  };
}

export function openScim(
  settings: ScimBackendSettings,
  log = silentLog(),
): { backend: Backend; close: () => Promise<void> } {
  const http = openHttpClient();
  const backend = createScimBackend({
    settings,
    mapping,
    fetch: (input, init) => http.fetch(String(input), init ?? {}),
    clock: systemClock,
    log,
  });
  return {
    backend,
    async close() {
      await backend.close();
      http.close();
    },
  };
}
