// The desk without a server: a command takes the data directory for itself, does its operations, and lets it go.

import type { Config } from "../config.ts";
import { type DataDir, openDataDir } from "../host/data_dir.ts";
import { createDesk, type Desk } from "../host/desk.ts";
import type { DeskAnswer, DeskRequest } from "../host/desk_answer.ts";
import { createLog, type Log, wholeWrites } from "../log.ts";
import { createLearnt } from "../radius/doing/learnt.ts";
import { createLimits } from "../radius/doing/limits.ts";
import { createOrderedIds } from "../radius/doing/ordered_ids.ts";
import { createPairings } from "../radius/doing/pairings.ts";
import { createRecoveryCodes } from "../radius/doing/recovery_codes.ts";
import { createPasswordHasher, REQUEST_COST } from "../password_hasher.ts";
import { matchTotp, totpAt } from "../radius/pure/totp.ts";
import { type Clock, createSystemRandom, type Random, systemClock } from "../runtime.ts";
import { createBulk } from "../scim/bulk/bulk.ts";
import { recordDirectoryOf } from "../scim/directory/record_directory.ts";
import { createCredentials } from "../scim/http/credentials.ts";
import { createEmbeddedSecondFactor, type EmbeddedSecondFactor } from "../upstream/embedded/second_factor.ts";
import { createUserRecords, type FindUserRecord } from "../user_record.ts";
import { createStoreTargets } from "./store_targets.ts";

interface Ground {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A desk on the store itself. */
export interface StoreDesk {
  handle(request: DeskRequest): Promise<DeskAnswer>;
  /** Lets the data directory go. */
  close(): Promise<void>;
}

/**
 * Takes the data directory for this process.
 *
 * @param masterKeyHex see {@link openDataDir}.
 * @throws DataDirFault when another process holds the directory, or something in it cannot be used.
 */
export async function openStoreDesk(
  { config, masterKeyHex }: { config: Config; masterKeyHex: string },
): Promise<StoreDesk> {
  const random = createSystemRandom();
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex,
    auditKeptMs: config.console.auditKeptMs,
  });
  const log = createLog({
    format: config.server.logFormat,
    level: "warn",
    clock: systemClock,
    write: wholeWrites(Deno.stderr),
  });
  const close = async (): Promise<void> => {
    await log.flush();
    await dataDir.close();
  };
  try {
    const opened = await openOn({ config, dataDir, clock: systemClock, random, log });
    return {
      handle: (request) => opened.desk.handle(request),
      async close() {
        await opened.close().finally(close);
      },
    };
  } catch (fault) {
    await close();
    throw fault;
  }
}

async function openOn(ground: Ground): Promise<{ desk: Desk; close(): Promise<void> }> {
  const { config, dataDir: { store, vault }, clock, random, log } = ground;
  const pairings = createPairings({ store, vault, clock, random, target: config.radius.directory });
  const limits = createLimits({ store, clock, settings: config.factors });
  const learnt = createLearnt({ store, log, clock });
  await Promise.all([pairings.load(), limits.load(), learnt.load()]);
  const recoveryCodes = createRecoveryCodes({
    store,
    vault,
    clock,
    random,
    target: config.radius.directory,
  });
  await recoveryCodes.load();
  const orderedId = createOrderedIds(clock, random);
  // The targets are opened when a command asks for one, so the embedded service gets to them later than it is made.
  const findUserRecord = createUserRecords({
    store,
    target: config.radius.directory,
    directory: {
      read: async (canonical) => (await recordDirectory()).read(canonical),
      isDeleted: async (canonical) => (await recordDirectory()).isDeleted(canonical),
    },
  });
  const embedded = config.secondFactor.url === "" ? await openEmbedded(ground, findUserRecord) : null;
  const secondFactorDesk = embedded?.desk ?? null;
  const targets = createStoreTargets({
    ...ground,
    orderedId,
    pairings,
    recoveryCodes,
    unpair: secondFactorDesk === null ? null : (id) => secondFactorDesk.revokePairing(id),
  });
  const recordDirectory = async () => {
    const target = await targets.get(config.radius.directory);
    if (target === null) throw new Error(`Cannot find the target ${config.radius.directory}`);
    return recordDirectoryOf(target);
  };
  const desk = createDesk({
    config,
    credentials: createCredentials({
      ...ground,
      store,
      vault,
      hasher: createPasswordHasher({ random, cost: REQUEST_COST }),
      settings: config.scim.credentials,
    }),
    targets,
    bulk: createBulk({ clock, publicUrl: config.http.publicUrl }),
    pairings,
    limits,
    learnt,
    clients: () => config.radius.clients.map(({ name }) => name),
    secondFactorDesk,
    store,
    clock,
    orderedId,
    log,
  });
  return {
    desk,
    async close() {
      await targets.close();
      await embedded?.close();
    },
  };
}

async function openEmbedded(
  { config, dataDir: { store, vault }, clock, random, log }: Ground,
  findUserRecord: FindUserRecord,
): Promise<EmbeddedSecondFactor> {
  const embedded = createEmbeddedSecondFactor({
    store,
    vault,
    clock,
    random,
    totp: { at: totpAt, match: matchTotp },
    findUserRecord,
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
