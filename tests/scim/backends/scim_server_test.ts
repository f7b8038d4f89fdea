// The SCIM backend against a real server of another vendor.

import { startScimmy } from "../../support/scimmy_server.ts";
import { openScim, scimSettings } from "./scim_client.ts";
import { HOSTILE_NAMES, testBackend } from "./suite.ts";

/** Its filters do not know the escapes of JSON strings (RFC 7644 §3.4.2.2), and answer them with 400. */
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
