// The SCIM backend against a second Countersign behind a real HTTP server.

import { Hono } from "hono";
import { createPasswordHasher } from "../../../platform/password_hasher.ts";
import { loadConfig } from "../../../platform/config/load.ts";
import { openDataDir } from "../../../platform/data_dir.ts";
import { NO_CHANGE } from "../../../platform/write_batch.ts";
import { createOrderedIds } from "../../../radius/conversation/conversation.ts";
import { createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import type { ScimEnv } from "../../../scim/http/app.ts";
import { createScim, type Scim } from "../../../scim/scim.ts";
import { openScim, scimSettings } from "./scim_client.ts";
import { silentLog } from "./silent_log.ts";
import { testBackend } from "./suite.ts";

const PASSWORD = "the other one's password";
const SETTINGS = `
[targets.corp.backends.local]
kind = "store"
[[scim.credential]]
name = "writer"
password = "${PASSWORD}"
targets = ["corp"]
access = "write"
`;

async function openIdentity(folder: string): Promise<{ identity: Scim; close: () => Promise<void> }> {
  const loaded = loadConfig({
    env: (name) => name === "COUNTERSIGN_CONFIG" ? "other.toml" : undefined,
    readTextFile: () => SETTINGS,
    cwd: folder,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const random = createSystemRandom();
  const dataDir = await openDataDir(folder, { random, masterKeyHex: "" });
  const hasher = createPasswordHasher({ random });
  const identity = await createScim({
    config: loaded.config,
    store: dataDir.store,
    vault: dataDir.vault,
    clock: systemClock,
    random,
    log: silentLog(),
    fetch,
    createHasher: () => hasher,
    orderedId: createOrderedIds(systemClock, random),
    prepareOffboarding: () => NO_CHANGE,
    prepareForgetDevices: () => NO_CHANGE,
    prepareGroupCleanup: () => NO_CHANGE,
    namedAccess: () => ({ namesGroups: () => false, isGroupNamed: () => false }),
    prepareRename: () => Promise.resolve(NO_CHANGE),
  });
  return {
    identity,
    async close() {
      await identity.close();
      await dataDir.close();
    },
  };
}

testBackend("createScimBackend() on a second Countersign", {
  register: (name, body) => Deno.test(name, body),
  open: async () => {
    const folder = await Deno.makeTempDir({ prefix: "other-" });
    const { identity, close } = await openIdentity(folder);
    const [specified] = identity.apps;
    if (specified === undefined) throw new Error("There is no SCIM interface");
    const { prefix, routes, onError } = specified;
    const app = new Hono<ScimEnv>().onError(onError)
      .use(async (c, next) => {
        c.set("body", { allowLarge: () => undefined, read: () => c.req.raw.bytes() });
        await next();
      })
      .route(prefix, routes);
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      (request) => app.fetch(request, { remoteAddress: "127.0.0.1" }),
    );
    const url = `http://127.0.0.1:${server.addr.port}/idm/scim/corp`;
    const scim = openScim(scimSettings({ url, userName: "writer", password: PASSWORD }));
    return {
      backend: scim.backend,
      storesUnknownMembers: true,
      async dispose() {
        await scim.close();
        await server.shutdown();
        await close();
        await Deno.remove(folder, { recursive: true });
      },
    };
  },
});
