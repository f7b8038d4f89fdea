// Wires the RADIUS gateway.

import type { FirstFactorServer } from "../platform/client_values.ts";
import type { Config } from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import type { PreparedChange } from "../platform/write_batch.ts";
import { createAccountingHandler } from "./accounting/accounting_handler.ts";
import { type AccountingSessionList, SessionTable } from "./accounting/session_table.ts";
import { ConversationStore } from "./conversation/conversation_store.ts";
import { createEventBus } from "./conversation/event_bus.ts";
import { sweepEachSecond } from "./conversation/expiry_sweep.ts";
import { createLoginDryRun, type LoginDryRun } from "./conversation/login_dry_run.ts";
import { NullStatusCheck } from "./conversation/rejections.ts";
import { createNotMeReports, type NotMeReport } from "./conversation/report_not_me.ts";
import { RequestHandler } from "./conversation/request_handler.ts";
import { type Conversation, createOrderedIds, createStateTokens } from "./conversation/conversation.ts";
import { followConversations } from "./conversation/follow_conversations.ts";
import type { PeerNodes } from "./conversation/peers.ts";
import { placeOfTuple } from "./conversation/tuple.ts";
import { SharedTuples } from "./conversation/shared_tuples.ts";
import { AcceptAttributes, ReplyAttributeRegistry } from "./factors/reply_attributes.ts";
import { PolicyFirstFactor } from "./factors/first_factor.ts";
import { LIMIT_ALARMS } from "./factors/hourly_limits.ts";
import { Limits } from "./factors/limits.ts";
import { Offboarding, type OnPhoneRevoked } from "./factors/offboarding.ts";
import { Pairings } from "./factors/pairings.ts";
import { RadiusAuthClient } from "./factors/radius_auth_client.ts";
import { RecoveryCodeStore } from "./factors/recovery_codes.ts";
import type {
  FirstFactorVerdict,
  GatewayMonitor,
  LoginDirectory,
  Passwords,
  SecondFactorService,
  TelephonyService,
} from "./ports.ts";
import { CatchUpQueue } from "./server/catch_up_queue.ts";
import { type ClientDiscovery, createClientDiscovery } from "./server/client_discovery.ts";
import { ClientRegistry } from "./server/client_registry.ts";
import { createClients } from "./server/clients.ts";
import { Counters } from "./server/counters.ts";
import { FoldedLog } from "./server/folded_log.ts";
import { PacketCapture } from "./server/packet_capture.ts";
import { type DatagramSocket, RadiusServer } from "./server/server.ts";
import { SigningClients } from "./server/signing_clients.ts";
import { UnsignedLimits } from "./server/unsigned_requests.ts";

export interface RadiusDeps {
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly directory: LoginDirectory;
  /** The other nodes. */
  readonly peers: PeerNodes;
  /** Absent: `first_factor = "directory"` and `"ldap"` accept no password. */
  readonly passwords?: Passwords;
  readonly secondFactor: SecondFactorService;
  readonly telephony: TelephonyService;
  /** The secret for any client address while no client is configured. */
  readonly anySecret: string;
  /** Opens a datagram socket on a free port, for the first factor at another RADIUS server. */
  readonly openSocket: (hostname: string) => DatagramSocket;
}

export interface Radius {
  readonly server: RadiusServer;
  readonly monitor: GatewayMonitor;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly recoveryCodes: RecoveryCodeStore;
  /** Accounting sessions. */
  readonly sessions: AccountingSessionList;
  readonly signingClients: SigningClients;
  /** Clients of the settings and of the console. */
  readonly register: ClientRegistry;
  readonly clientDiscovery: ClientDiscovery;
  /** Reply attributes of groups, of the settings and of the console. */
  readonly replies: ReplyAttributeRegistry;
  /** Tests whether another RADIUS server answers, and with this secret. */
  probeFirstFactor(server: FirstFactorServer): Promise<FirstFactorVerdict>;
  /** Prepares the removal or deactivation of a user: from now on, logins do not find their pairings. The caller commits the mutations. */
  prepareOffboarding(canonicalName: string): PreparedChange;
  /** Prepares the report that a login was not the user's. The caller commits the mutations. */
  prepareNotMeReport(canonicalName: string): NotMeReport;
  /** Listens for device pairings that end with their user. Returns a function that removes the listener. */
  onRevoked(notify: OnPhoneRevoked): () => void;
  readonly loginDryRun: LoginDryRun;
  /** Forgets that a user's password was right. Call it when the user's record changes. */
  forgetPassword(canonicalName: string): void;
  /** Stops timers and sockets, except those of the server. */
  close(): void;
}

/** Conversations in memory, alive and ended together. */
const MAX_CONVERSATIONS = 100_000;

/** Loads the stored state and wires the gateway. Nothing is served before `server.serve`. */
export async function createRadius(deps: RadiusDeps): Promise<Radius> {
  const { config: { radius }, store, clock, log, secondFactor } = deps;
  const state = await loadState(deps);
  const { conversations, pairings, limits, recoveryCodes, signingClients, sessions } = state;
  const counters = new Counters();
  const packets = new PacketCapture({ clock });
  const target = radius.directory;
  const { peers } = deps;
  const monitor = createEventBus({ conversations, counters, packets, clock, log, target });
  state.onFollowed(monitor.followed);
  const clients = createClients({
    settings: radius.clients,
    anyClient: radius.anyClient,
    anySecret: deps.anySecret,
  });
  const register = new ClientRegistry({
    ...{ store, vault: deps.vault, clock, log, clients, signing: signingClients },
    settings: radius.clients,
    anyClient: radius.anyClient,
  });
  await register.load();
  const authClient = new RadiusAuthClient({
    serverOf: (name) => clients.all.find((client) => client.name === name)?.policy.firstFactorServer ?? null,
    open: deps.openSocket,
    ...{ clock, random: deps.random, log },
  });
  const firstFactor = new PolicyFirstFactor({
    radius: authClient,
    passwords: deps.passwords,
    isLocked: (user) => limits.isLocked(user),
    ...{ vault: deps.vault, clock, log },
  });
  const acceptAttributes = new AcceptAttributes({ settings: radius, directory: deps.directory });
  const replies = new ReplyAttributeRegistry({ store, settings: radius, accept: acceptAttributes });
  await replies.load();
  const { changed, followed } = monitor;
  const ending = { store, clock, log, target, conversations, counters, secondFactor, changed, peers };
  const offboarding = new Offboarding({
    ...ending,
    ...{ pairings, recoveryCodes, orderedId: state.orderedId },
    conversationTtlMs: radius.conversationTtlMs,
  });
  await offboarding.load();
  const clientDiscovery = createClientDiscovery({ clock });
  const server = createServer(deps, {
    ...state,
    ...{ counters, packets, monitor, clients, clientDiscovery, firstFactor, acceptAttributes, offboarding },
  });
  const stopSweeping = sweepEachSecond({ ...ending, followed, sessions });
  const dryRunDeps = { ...factorDeps(deps), pairings, limits, recoveryCodes };
  return {
    ...{
      server,
      monitor,
      pairings,
      limits,
      recoveryCodes,
      sessions,
      signingClients,
      register,
      clientDiscovery,
      replies,
    },
    probeFirstFactor: (server) => authClient.probe(server),
    loginDryRun: createLoginDryRun(dryRunDeps, () => clients.all),
    prepareNotMeReport: createNotMeReports({ ...ending, limits }),
    prepareOffboarding: (user) => offboarding.prepare(user),
    onRevoked: (notify) => offboarding.onRevoked(notify),
    forgetPassword: (user) => firstFactor.forget(user),
    close() {
      stopSweeping();
      authClient.close();
    },
  };
}

/** Tells the known tuples of a login at another node. */
function noteTuple(
  sharedTuples: SharedTuples,
  { hasToken, tuple, user, outcome, signed, moments }: Conversation,
  isNew: boolean,
): void {
  if (hasToken) return;
  const place = placeOfTuple(tuple, user);
  // Without a signature, a packet without a password proves nothing: the menu was its answer, or it was rejected.
  const proven = signed || (outcome !== "rejected" && moments[0]?.row !== "empty_password");
  if (isNew) sharedTuples.distinguishes({ place, user, busy: false, proven });
  if (outcome !== null) sharedTuples.concluded(place, user);
}

type StoredState = Awaited<ReturnType<typeof loadState>>;

/** Loads everything that logins read from memory. */
async function loadState({ config, store, vault, clock, random, log, peers }: RadiusDeps) {
  const target = config.radius.directory;
  const tokenOf = createStateTokens(vault);
  const orderedId = createOrderedIds(clock, random);
  const hashSeed = random.bytes(4).reduce((seed, octet) => (seed << 8) | octet, 0);
  const conversations = new ConversationStore({
    ...{ store, clock, tokenOf, node: peers.node },
    clockOffsetMs: (node) => peers.clockOffsetMs(node),
    maxConversations: MAX_CONVERSATIONS,
    hashSeed,
  });
  const sharedTuples = new SharedTuples({ store, clock, log, vault, hashSeed });
  const listeners: ((conversation: Conversation) => void)[] = [];
  followConversations({
    ...{ store, conversations, peers },
    onFollowed(conversation, { isNew }) {
      noteTuple(sharedTuples, conversation, isNew);
      for (const listener of listeners) listener(conversation);
    },
  });
  const pairings = new Pairings({ store, vault, clock, random, target });
  const limits = new Limits({
    store,
    clock,
    settings: config.factors,
    onAlarm: (alarm) => log.warn(LIMIT_ALARMS[alarm.kind], { ...alarm }),
  });
  const recoveryCodes = new RecoveryCodeStore({ store, vault, clock, random, target });
  const signingClients = new SigningClients({ store, log, clock });
  const sessions = new SessionTable({ store, nowMs: clock.nowMs, orderedId });
  const [loaded, loadedSessions] = await Promise.all([
    conversations.load(),
    sessions.load(),
    sharedTuples.load(),
    pairings.load(),
    limits.load(),
    signingClients.load(),
    recoveryCodes.load(),
  ]);
  if (loaded.unreadable > 0) {
    log.warn("records of conversations could not be read and were skipped", { records: loaded.unreadable });
  }
  if (loadedSessions.unreadable > 0) {
    log.warn("accounting sessions could not be read and were skipped", {
      records: loadedSessions.unreadable,
    });
  }
  if (loaded.alive > 0) log.info("conversations of an earlier run continue", { conversations: loaded.alive });
  return {
    ...{ tokenOf, orderedId, conversations, sharedTuples, pairings, limits, recoveryCodes, signingClients },
    ...{ sessions, hashSeed },
    /** Adds a listener for conversations that other nodes changed. */
    onFollowed: (listener: (conversation: Conversation) => void) => void listeners.push(listener),
  };
}

/** Dependencies of all code that reads or uses factors. */
function factorDeps({ config: { factors }, directory, clock, vault }: RadiusDeps) {
  return { settings: factors, enabled: new Set(factors.enabled), directory, clock, vault };
}

interface ServerParts extends StoredState {
  readonly counters: Counters;
  readonly packets: PacketCapture;
  readonly monitor: ReturnType<typeof createEventBus>;
  readonly clients: ReturnType<typeof createClients>;
  readonly clientDiscovery: ClientDiscovery;
  readonly firstFactor: PolicyFirstFactor;
  readonly acceptAttributes: AcceptAttributes;
  readonly offboarding: Offboarding;
}

function createServer(
  deps: RadiusDeps,
  { monitor, sessions, signingClients, clientDiscovery, clients, ...parts }: ServerParts,
): RadiusServer {
  const { config: { radius }, store, clock, random, log, secondFactor, telephony } = deps;
  const { counters, packets } = parts;
  const folded = new FoldedLog({ log, clock });
  const unsignedLimits = new UnsignedLimits(clock);
  const { emit, changed } = monitor;
  return new RadiusServer({
    ...{ clients, clock, log, counters, emit, packets, folded, signingClients },
    unproven: unsignedLimits.unproven,
    discovery: clientDiscovery,
    storeAnsweredMs: store.lastAnswerMs,
    catchUp: store.isShared ? new CatchUpQueue({ store, clock, log }) : null,
    createAccounting: (callbacks) =>
      createAccountingHandler({ sessions, store, log, counters, ...callbacks }),
    createRequestHandler: (callbacks) =>
      new RequestHandler({
        ...factorDeps(deps),
        ...parts,
        ...callbacks,
        ...{ store, random, log, secondFactor, telephony, folded, unsignedLimits, emit, changed },
        peers: deps.peers,
        target: radius.directory,
        stateForm: radius.state,
        conversationTtlMs: radius.conversationTtlMs,
        loginJoinWindowMs: radius.loginJoinWindowMs,
        nullStatusCheck: new NullStatusCheck({ clock, secondFactor }),
      }),
  });
}
