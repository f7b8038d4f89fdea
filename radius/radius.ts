// The RADIUS gateway, put together from its parts over the ports that it is given.

import type { Config } from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import type { PreparedChange } from "../platform/write_batch.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { createAccountingHandler } from "./accounting/accounting_handler.ts";
import { type SessionList, SessionTable } from "./accounting/session_table.ts";
import { createAcceptAttributes } from "./factors/accept_attributes.ts";
import { type ClientRegister, createClientRegister } from "./server/client_registry.ts";
import type { FirstFactorServer } from "../platform/client_values.ts";
import { createClients } from "./server/clients.ts";
import { createConversations } from "./conversation/conversation_store.ts";
import { createCounters } from "./server/counters.ts";
import { createDisownings, type Disowning } from "./conversation/report_not_me.ts";
import { createEar, type Ear } from "./server/client_discovery.ts";
import { createRadiusFirstFactor } from "./factors/radius_auth_client.ts";
import { createFirstFactors } from "./factors/first_factor.ts";
import { sweepEachSecond } from "./conversation/expiry_sweep.ts";
import { createFoldedLog } from "./server/folded_log.ts";
import { createGateway } from "./conversation/request_handler.ts";
import { LIMIT_ALARMS } from "./factors/hourly_limits.ts";
import { createLearnt, type Learnt } from "./server/signing_clients.ts";
import { createLeavings, type OnRevoked } from "./factors/offboarding.ts";
import { createLimits, type Limits } from "./factors/limits.ts";
import { createLoginTrials, type LoginTrials } from "./conversation/login_dry_run.ts";
import { createNullAsks } from "./conversation/null_status_check.ts";
import { createOrderedIds } from "./conversation/sortable_ids.ts";
import { createPacketLog } from "./server/packet_capture.ts";
import { createPairings, type Pairings } from "./factors/pairings.ts";
import { createRecoveryCodes, type RecoveryCodes } from "./factors/recovery_codes.ts";
import type {
  Directory,
  FirstFactorVerdict,
  GatewayWatch,
  Passwords,
  SecondFactorService,
  TelephonyService,
} from "./ports.ts";
import { createReplyRegister, type ReplyRegister } from "./factors/reply_attribute_registry.ts";
import { createRadiusServer, type DatagramSocket, type RadiusServer } from "./server/server.ts";
import { createSharedTuples } from "./conversation/shared_tuples.ts";
import { createStateTokens } from "./conversation/state_tokens.ts";
import { createUnsignedLimits } from "./server/unsigned_limits.ts";
import { createBoard } from "./conversation/event_bus.ts";

export interface RadiusDeps {
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly directory: Directory;
  /** Absent: `first_factor = "directory"` and `"ldap"` accept no password. */
  readonly passwords?: Passwords;
  readonly secondFactor: SecondFactorService;
  readonly telephony: TelephonyService;
  /** The secret for any client address, while no client is configured. */
  readonly anySecret: string;
  /** Opens a datagram socket on a free port, for the first factor at another RADIUS server. */
  readonly openSocket: (hostname: string) => DatagramSocket;
}

export interface Radius {
  readonly server: RadiusServer;
  readonly watch: GatewayWatch;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly recoveryCodes: RecoveryCodes;
  /** Accounting sessions: who is connected. */
  readonly sessions: SessionList;
  readonly learnt: Learnt;
  /** Clients of the settings and of the console. */
  readonly register: ClientRegister;
  readonly ear: Ear;
  /** Reply attributes of groups, of the settings and of the console. */
  readonly replies: ReplyRegister;
  /** Whether another RADIUS server answers, and with this secret. */
  askFirstFactor(server: FirstFactorServer): Promise<FirstFactorVerdict>;
  /**
   * What a user who is deleted or deactivated leaves behind here, to be taken away in the commit of the leaving. At once: their pairings are out of
   * reach and nothing more is recorded for them. Then `done()` or `undo()`.
   */
  prepareLeaving(canonicalName: string): PreparedChange;
  /** What follows when a user says that a login was not theirs, to be committed with the record of it. */
  prepareDisowning(canonicalName: string): Disowning;
  /** Told of each device pairing that a leaver had. Returns what stops it. */
  onRevoked(notify: OnRevoked): () => void;
  /** Plays what a login would meet, without sending, counting or recording anything. */
  readonly trials: LoginTrials;
  /** Forgets that a user's password was right; to be called when the user's record changed. */
  forgetPassword(canonicalName: string): void;
  /** Stops timers and side sockets; the server is stopped by its own. */
  close(): void;
}

/** Conversations in memory, in progress and lately ended together. */
const MAX_CONVERSATIONS = 100_000;

/** Reads what the store has and makes the gateway; nothing is served before `server.serve`. */
export async function createRadius(deps: RadiusDeps): Promise<Radius> {
  const { config, store, vault, clock, random, log } = deps;
  const { radius, factors } = config;
  const counters = createCounters();
  const tokenOf = createStateTokens(vault);
  const conversations = createConversations({ store, clock, most: MAX_CONVERSATIONS, tokenOf });
  const sharedTuples = createSharedTuples({ store, clock, log, vault });
  const folded = createFoldedLog({ log, clock });
  const unsignedLimits = createUnsignedLimits(clock);
  const pairings = createPairings({ store, vault, clock, random, target: radius.directory });
  const limits = createLimits({
    store,
    clock,
    settings: factors,
    onAlarm: (alarm) => log.warn(LIMIT_ALARMS[alarm.kind], { ...alarm }),
  });
  const recoveryCodes = createRecoveryCodes({ store, vault, clock, random, target: radius.directory });
  const learnt = createLearnt({ store, log, clock });
  const orderedId = createOrderedIds(clock, random);
  const sessions = new SessionTable({ store, nowMs: clock.nowMs, orderedId });
  const [loaded, loadedSessions] = await Promise.all([
    conversations.load(),
    sessions.load(),
    sharedTuples.load(),
    pairings.load(),
    limits.load(),
    learnt.load(),
    recoveryCodes.load(),
  ]);
  if (loaded.unreadable > 0) {
    log.warn("records of conversations could not be read and were left out", { records: loaded.unreadable });
  }
  if (loadedSessions.unreadable > 0) {
    log.warn("accounting sessions could not be read and were left out", {
      records: loadedSessions.unreadable,
    });
  }
  if (loaded.alive > 0) log.info("conversations of an earlier run go on", { conversations: loaded.alive });

  const packets = createPacketLog({ clock });
  const board = createBoard({
    ...{ conversations, counters, packets, clock, log },
    target: radius.directory,
  });
  const clients = createClients({
    settings: radius.clients,
    anyClient: radius.anyClient,
    anySecret: deps.anySecret,
  });
  const register = createClientRegister({
    store,
    vault,
    clock,
    log,
    clients,
    settings: radius.clients,
    anyClient: radius.anyClient,
    signing: learnt,
  });
  await register.load();
  const ear = createEar({ clock });
  const firstFactorServer = createRadiusFirstFactor({
    serverOf: (name) => clients.all.find((client) => client.name === name)?.policy.firstFactorServer ?? null,
    open: deps.openSocket,
    clock,
    random,
    log,
  });
  const firstFactor = createFirstFactors({
    radius: firstFactorServer,
    passwords: deps.passwords,
    isLocked: limits.isLocked,
    vault,
    clock,
    log,
  });
  const acceptAttributes = createAcceptAttributes({ settings: radius, directory: deps.directory });
  const replies = createReplyRegister({ store, settings: radius, accept: acceptAttributes });
  await replies.load();
  const leavings = createLeavings({
    store,
    clock,
    log,
    target: radius.directory,
    pairings,
    recoveryCodes,
    conversations,
    counters,
    secondFactor: deps.secondFactor,
    orderedId,
    changed: board.changed,
    conversationTtlMs: radius.conversationTtlMs,
  });

  const server = createRadiusServer({
    clients,
    clock,
    log,
    counters,
    emit: board.emit,
    packets,
    folded,
    unproven: unsignedLimits.unproven,
    ear,
    storeAnsweredMs: store.lastAnswerMs,
    learnt,
    createAccounting: (send, release) =>
      createAccountingHandler({ sessions, store, log, counters, send, release }),
    createGateway: (send, release) =>
      createGateway({
        stateForm: radius.state,
        conversationTtlMs: radius.conversationTtlMs,
        loginJoinWindowMs: radius.loginJoinWindowMs,
        settings: factors,
        enabled: new Set(factors.enabled),
        acceptAttributes,
        leavings,
        directory: deps.directory,
        target: radius.directory,
        secondFactor: deps.secondFactor,
        nullAsks: createNullAsks({ clock, secondFactor: deps.secondFactor }),
        telephony: deps.telephony,
        firstFactor,
        pairings,
        limits,
        recoveryCodes,
        conversations,
        sharedTuples,
        unsignedLimits,
        tokenOf,
        folded,
        counters,
        store,
        vault,
        clock,
        random,
        log,
        orderedId,
        emit: board.emit,
        packets,
        changed: board.changed,
        send,
        release,
      }),
  });

  const stopSweeping = sweepEachSecond({
    sessions,
    conversations,
    store,
    clock,
    log,
    counters,
    target: radius.directory,
    secondFactor: deps.secondFactor,
    changed: board.changed,
  });

  return {
    server,
    watch: board,
    pairings,
    limits,
    recoveryCodes,
    sessions,
    learnt,
    register,
    ear,
    replies,
    askFirstFactor: firstFactorServer.probe,
    trials: createLoginTrials({
      settings: factors,
      enabled: new Set(factors.enabled),
      directory: deps.directory,
      pairings,
      limits,
      recoveryCodes,
      clock,
      vault,
    }, () => clients.all),
    prepareDisowning: createDisownings({
      store,
      log,
      target: radius.directory,
      limits,
      conversations,
      secondFactor: deps.secondFactor,
      changed: board.changed,
    }),
    prepareLeaving: leavings.prepare,
    onRevoked: leavings.onRevoked,
    forgetPassword: firstFactor.forget,
    close() {
      stopSweeping();
      firstFactorServer.close();
    },
  };
}
