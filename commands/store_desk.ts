// The desk without a server: a command takes the data directory for itself, does its operation, and lets it go.

import type { Config } from "../config.ts";
import { type DataDir, openDataDir } from "../host/data_dir.ts";
import { createDesk } from "../host/desk.ts";
import type { DeskAnswer, DeskRequest } from "../host/desk_answer.ts";
import { createLog, type Log, wholeWrites } from "../log.ts";
import { createLearnt } from "../radius/doing/learnt.ts";
import { createLimits } from "../radius/doing/limits.ts";
import { createOrderedIds } from "../radius/doing/ordered_ids.ts";
import { createPairings } from "../radius/doing/pairings.ts";
import { createPasswordHasher, REQUEST_COST_LOG2 } from "../password_hasher.ts";
import { matchTotp, totpAt } from "../radius/pure/totp.ts";
import { type Clock, createSystemRandom, type Random, systemClock } from "../runtime.ts";
import { createCredentials } from "../scim/http/credentials.ts";
import { createEmbeddedSecondFactor, type EmbeddedSecondFactor } from "../upstream/embedded/second_factor.ts";

interface Ground {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Does one operation on the store itself.
 *
 * @param masterKeyHex see {@link openDataDir}.
 * @throws DataDirFault when another process holds the directory, or something in it cannot be used.
 */
export async function callStoreDesk(
  request: DeskRequest,
  { config, masterKeyHex }: { config: Config; masterKeyHex: string },
): Promise<DeskAnswer> {
  const random = createSystemRandom();
  const dataDir = await openDataDir(config.server.dataDir, { random, masterKeyHex });
  const log = createLog({
    format: config.server.logFormat,
    level: "warn",
    clock: systemClock,
    write: wholeWrites(Deno.stderr),
  });
  try {
    return await handle(request, { config, dataDir, clock: systemClock, random, log });
  } finally {
    await log.flush();
    await dataDir.close();
  }
}

async function handle(request: DeskRequest, ground: Ground): Promise<DeskAnswer> {
  const { config, dataDir: { store, vault }, clock, random, log } = ground;
  const pairings = createPairings({ store, vault, clock, random, target: config.radius.directory });
  const limits = createLimits({ store, clock, settings: config.factors });
  const learnt = createLearnt({ store, log });
  await Promise.all([pairings.load(), limits.load(), learnt.load()]);
  const embedded = config.secondFactor.url === "" ? await openEmbedded(ground) : null;
  try {
    const orderedId = createOrderedIds(clock, random);
    const desk = createDesk({
      config,
      credentials: createCredentials({
        ...ground,
        store,
        vault,
        hasher: createPasswordHasher({ random, costLog2: REQUEST_COST_LOG2 }),
        settings: config.scim.credentials,
        orderedId,
      }),
      targets: { names: config.targets.map(({ name }) => name) },
      pairings,
      limits,
      learnt,
      clients: config.radius.clients.map(({ name }) => name),
      secondFactorDesk: embedded?.desk ?? null,
      store,
      clock,
      orderedId,
      log,
    });
    return await desk.handle(request);
  } finally {
    await embedded?.close();
  }
}

async function openEmbedded(
  { config, dataDir: { store, vault }, clock, random, log }: Ground,
): Promise<EmbeddedSecondFactor> {
  const embedded = createEmbeddedSecondFactor({
    store,
    vault,
    clock,
    random,
    totp: { at: totpAt, match: matchTotp },
    settings: {
      requesterName: config.factors.requesterName,
      numberMatching: config.factors.device.numberMatching,
      requestTtlMs: config.radius.conversationTtlMs,
    },
    onBug: (fault) => log.error("the embedded second-factor service failed", { fault: String(fault) }),
  });
  await embedded.load();
  return embedded;
}
