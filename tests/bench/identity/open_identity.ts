// The SCIM side, opened in this process on a data directory, for measurements without HTTP.

import { VALUE_CHECKS } from "../../../cli/check_config.ts";
import { loadConfig } from "../../../platform/config/load.ts";
import { openDataDir } from "../../../platform/data_dir.ts";
import { createLog, wholeWrites } from "../../../platform/log.ts";
import { createPasswordHasher } from "../../../platform/password_hasher.ts";
import { NO_CHANGE } from "../../../platform/write_batch.ts";
import { createOrderedIds } from "../../../radius/conversation/conversation.ts";
import { createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { createScim, type Scim } from "../../../scim/scim.ts";

export interface OpenIdentity extends AsyncDisposable {
  readonly identity: Scim;
}

/** Opens everything like the program, without its listeners. It leaves nothing outside the directory. */
export async function openIdentity(
  dataDirPath: string,
  { toml = "" }: { toml?: string } = {},
): Promise<OpenIdentity> {
  const clock = systemClock;
  const random = createSystemRandom();
  const loaded = loadConfig({
    env: (name) => name === "COUNTERSIGN_CONFIG" ? "bench.toml" : undefined,
    readTextFile: () => toml,
    cwd: dataDirPath,
    ...VALUE_CHECKS,
  });
  if (!loaded.ok) throw new Error(`Cannot use the settings: ${JSON.stringify(loaded.faults)}`);
  const dataDir = await openDataDir(dataDirPath, { random, masterKeyHex: "" });
  const identity = await createScim({
    config: loaded.config,
    store: dataDir.store,
    vault: dataDir.vault,
    clock,
    random,
    log: createLog({ format: "text", level: "warn", clock, write: wholeWrites(Deno.stderr) }),
    fetch,
    createHasher: () => createPasswordHasher({ random }),
    orderedId: createOrderedIds(clock, random),
    prepareOffboarding: () => NO_CHANGE,
    prepareForgetDevices: () => NO_CHANGE,
    prepareGroupCleanup: () => NO_CHANGE,
    namedAccess: () => ({ namesGroups: () => false, isGroupNamed: () => false }),
    prepareRename: () => Promise.resolve(NO_CHANGE),
  });
  return {
    identity,
    async [Symbol.asyncDispose]() {
      await identity.close();
      await dataDir.close();
    },
  };
}
