// The SCIM backend against a real foreign server.

import type { ScimBackendSettings } from "../../../config.ts";
import { createSystemRandom, systemClock } from "../../../runtime.ts";
import { createScimBackend } from "../../../scim/backends/scim_server.ts";
import type { Backend } from "../../../scim/ports.ts";
import { createMapping } from "../../../scim/pure/mapping.ts";
import { startScimmy } from "../../ground/scimmy_server.ts";
import { openHttpClient } from "../../../upstream/http_client.ts";
import { silentLog } from "./silent_log.ts";
import { HOSTILE_NAMES, testBackend } from "./suite.ts";

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
    timeoutMs: 5000,
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
    random: createSystemRandom(),
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

/** Its filters do not know the escapes of JSON strings (RFC 7644 §3.4.2.2), and say so with 400. */
const MISREAD_BY_SCIMMY = new Set(HOSTILE_NAMES.filter((name) => name.includes('"') || name.includes("\\")));

testBackend("createScimBackend() on SCIMMY", {
  register: (name, body) => Deno.test(name, body),
  open: async () => {
    const server = await startScimmy();
    const { backend, close } = openScim(scimSettings({ url: server.url, token: server.token }));
    return {
      backend,
      caseExact: true,
      mayRefuse: MISREAD_BY_SCIMMY,
      async dispose() {
        await close();
        await server.close();
      },
    };
  },
});
