// Wires the RADIUS gateway.

import type { Config } from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import type { PreparedChange, PrepareRename } from "../platform/write_batch.ts";
import { createAccountingHandler } from "./accounting/accounting_handler.ts";
import {
  administerSessions,
  type Disconnects,
  openDisconnects,
  type SessionAdministration,
} from "./dynamic_authorization/disconnects.ts";
import { Counters, createEventBus, FoldedLog } from "./server/gateway_monitor.ts";
import { createNotMeReports, type NotMeReport, sweepEachSecond } from "./conversation/ended_logins.ts";
import { createLoginDryRun, type LoginDryRun } from "./conversation/login_dry_run.ts";
import { NullStatusCheck } from "./conversation/effects.ts";
import { menuOfLogin } from "./conversation/login_policy.ts";
import { RequestHandler } from "./conversation/receive.ts";
import type {
  GatewayMonitor,
  LoginDirectory,
  Passwords,
  PeerNodes,
  SecondFactorService,
  TelephonyService,
} from "./ports.ts";
import { AcceptAttributes } from "./factors/reply_attributes.ts";
import { ReplyAttributeRegistry, UserReplyRegistry } from "./factors/reply_attribute_registry.ts";
import { ClientFirstFactor } from "./factors/first_factor.ts";
import type { EnrolmentMarks, FactorMarks } from "./factors/own_factors.ts";
import type { Limits } from "./factors/limits.ts";
import {
  createGatewayRenames,
  createNamedAccess,
  type NamedAccess,
  type Offboarding,
  type OnPhoneRevoked,
} from "./factors/offboarding.ts";
import type { Pairings } from "./factors/pairings.ts";
import { FirstFactorHealth, FirstFactorServers } from "./factors/first_factor_servers.ts";
import type { BypassCodeStore } from "./factors/bypass_codes.ts";
import type { RecoveryCodeStore } from "./factors/recovery_codes.ts";
import type { HardwareTokens } from "./tokens/hardware_tokens.ts";
import { PolicyPreview } from "./policy/policy_preview.ts";
import type { PolicyRegistry } from "./policy/policy_registry.ts";
import type { RememberedDevices } from "./policy/remembered_devices.ts";
import { CatchUpQueue } from "./conversation/waiting_packets.ts";
import { type ClientDiscovery, createClientDiscovery } from "./server/client_discovery.ts";
import { ClientRegistry } from "./server/client_registry.ts";
import { type Client, type Clients, createClients } from "./server/clients.ts";
import { PacketCapture } from "./server/packet_capture.ts";
import { RadsecConnections } from "./server/radsec.ts";
import { type DatagramSocket, RadiusServer } from "./server/server.ts";
import { type SigningClients, UnsignedLimits } from "./server/unsigned_requests.ts";
import { loadState, type StoredState } from "./stored_state.ts";
import type { ShadowLearner } from "./shadow/shadow_learner.ts";
import type { Factor } from "./flow/context.ts";

interface RadiusDeps extends SettingSource {
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly directory: LoginDirectory;
  readonly peers: PeerNodes;
  /** Absent: `first_factor = "directory"` and `"ldap"` accept no password. */
  readonly passwords?: Passwords;
  readonly secondFactor: SecondFactorService;
  readonly telephony: TelephonyService;
  /** Opens a datagram socket on a free port: for the first factor at another RADIUS server, and for Disconnect-Requests. */
  readonly openSocket: (hostname: string) => DatagramSocket;
}

export interface Radius {
  readonly server: RadiusServer;
  /** The TLS connections of clients. */
  readonly radsec: RadsecConnections;
  readonly monitor: GatewayMonitor;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly hardwareTokens: HardwareTokens;
  /** Invitations of users, with their deadlines. */
  readonly enrolment: EnrolmentMarks;
  /** Who ever had a factor. */
  readonly factorMarks: FactorMarks;
  readonly bypassCodes: BypassCodeStore;
  readonly sessions: SessionAdministration;
  readonly signingClients: SigningClients;
  /** Clients of the settings and of the console. */
  readonly register: ClientRegistry;
  readonly clientDiscovery: ClientDiscovery;
  /** Reply attributes of groups, of the settings and of the console. */
  readonly replies: ReplyAttributeRegistry;
  readonly userReplies: UserReplyRegistry;
  /** The policies of logins, and the devices that they remember. */
  readonly policies: {
    readonly registry: PolicyRegistry;
    readonly remembered: RememberedDevices;
    readonly preview: PolicyPreview;
  };
  readonly access: NamedAccess;
  /** The RADIUS servers that check the first factor of clients. */
  readonly firstFactorServers: Pick<FirstFactorServers, "probe" | "status" | "test">;
  /** What shadow mode learnt, and the clients that are served. */
  readonly shadow: {
    readonly learner: ShadowLearner;
    readonly clients: () => readonly Pick<Client, "name" | "settings" | "hasNetwork">[];
    readonly isOfConsole: (client: string) => boolean;
  };
  /** Prepares the removal or deactivation of a user: from now on, logins do not find their pairings. The caller commits the mutations. */
  prepareOffboarding(canonicalName: string): PreparedChange;
  /** Prepares the rename of a user or group of the login target: factors, limits and policies follow. */
  readonly prepareRename: PrepareRename;
  /** Prepares the report that a login was not the user's. The caller commits the mutations. */
  prepareNotMeReport(canonicalName: string): NotMeReport;
  /** Listens for device pairings that end with their user. Returns a function that removes the listener. */
  onRevoked(notify: OnPhoneRevoked): () => void;
  readonly loginDryRun: LoginDryRun;
  /** Forgets that a user's password was right. Call it when the user's record changes. */
  forgetPassword(canonicalName: string): void;
  /** Loads what is stored for the users of another target. The returned function makes it the target whose users log in. */
  prepareDirectory(target: string): Promise<() => void>;
  /** Stops timers and sockets, except those of the server. */
  close(): void;
}

/** The attributes of Access-Accepts, with those of groups and users in the store. */
async function openReplies(
  { store, log, directory }: Pick<RadiusDeps, "store" | "log" | "directory">,
  settings: Config["radius"],
) {
  const acceptAttributes = new AcceptAttributes({
    ...{ settings, directory },
    onUnfit: (user, attribute, problem) =>
      log.warn("a value of the directory cannot be sent, and is left out", { user, attribute, problem }),
  });
  const replies = new ReplyAttributeRegistry({ store, settings, accept: acceptAttributes });
  const userReplies = new UserReplyRegistry({ store, settings, accept: acceptAttributes });
  await Promise.all([replies.load(), userReplies.load()]);
  return { acceptAttributes, replies, userReplies };
}

/** The clients of the settings and of the console. */
async function openClients(deps: RadiusDeps, signing: SigningClients) {
  const { config: { radius } } = deps;
  const configured = { settings: radius.clients, anyClient: radius.anyClient };
  const clients = createClients({ ...configured, anySecret: anySecretOf(deps) });
  const register = new ClientRegistry({ ...deps, ...configured, clients, signing });
  await register.load();
  return { clients, register };
}

/** Loads the stored state and wires the gateway. Nothing is served before `server.serve`. */
export async function createRadius(deps: RadiusDeps): Promise<Radius> {
  const { config: { radius }, store, clock, log, secondFactor, peers } = deps;
  const state = await loadState(deps);
  const { conversations, limits, signingClients, sessions, policies } = state;
  const { pairings, recoveryCodes, hardwareTokens, bypassCodes, enrolment, factorMarks } = state;
  const { stores } = state;
  const counters = new Counters();
  const packets = new PacketCapture({ clock });
  const target = () => stores.target;
  const monitor = createEventBus({ conversations, counters, packets, clock, log, target });
  state.onFollowed(monitor.followed);
  const { clients, register } = await openClients(deps, signingClients);
  const { servers, firstFactor } = createFirstFactor(deps, { clients, limits });
  const { acceptAttributes, replies, userReplies } = await openReplies(deps, radius);
  followSettings(deps, { clients, register, acceptAttributes });
  const { changed, followed } = monitor;
  const ending = { store, clock, log, target, conversations, counters, secondFactor, changed, peers };
  const { remembered } = policies;
  const offboarding = await stores.openOffboarding({
    ...{ ...ending, orderedId: state.orderedId },
    logins: radius,
  });
  const folded = new FoldedLog({ log, clock });
  const clientDiscovery = createClientDiscovery({ clock });
  const radsec = new RadsecConnections({ ...deps, clients, folded, counters, discovery: clientDiscovery });
  const disconnects = await openDisconnects({ ...deps, counters, sessions, clients, limits, radsec });
  const server = createServer(deps, {
    ...{ ...state, disconnects, counters, packets, monitor, clients, clientDiscovery, firstFactor },
    ...{ acceptAttributes, offboarding, folded, radsec, exchange: (one) => servers.exchange(one) },
  });
  const stopSweeping = sweepEachSecond({ ...ending, works: state.works, followed, sessions });
  const factors = { pairings, limits, recoveryCodes, hardwareTokens, bypassCodes, enrolment, factorMarks };
  const { sentPasscodes } = state;
  const dryRunDeps = { ...factorDeps(deps), ...factors, policies, sentPasscodes, store };
  return {
    ...{ server, radsec, monitor, ...factors, signingClients },
    sessions: administerSessions(sessions, disconnects),
    ...{ register, clientDiscovery, replies, userReplies },
    policies: {
      ...policies,
      preview: new PolicyPreview({ ...dryRunDeps, ...policies, clients: () => clients.all }),
    },
    access: createNamedAccess({
      ...{ ...factors, policies, replies, userReplies },
      replySources: Object.values(radius.replyFromDirectory),
    }),
    firstFactorServers: servers,
    shadow: {
      learner: state.shadowLearner,
      clients: () => clients.all,
      isOfConsole: (name) => register.find(name)?.from === "console",
    },
    loginDryRun: createLoginDryRun(dryRunDeps, () => clients.all),
    prepareNotMeReport: createNotMeReports({ ...ending, limits, remembered, bypassCodes, disconnects }),
    prepareOffboarding: (user) => offboarding.prepare(user),
    prepareRename: createGatewayRenames({ ...deps, ...state, target, remembered, offboarding, replies }),
    onRevoked: (notify) => stores.onRevoked(offboarding, notify),
    async prepareDirectory(name) {
      const change = await stores.prepare(name);
      return () => {
        change();
        firstFactor.forgetAll();
      };
    },
    forgetPassword: (user) => firstFactor.forget(user),
    close() {
      stopSweeping();
      state.usedSteps.stop();
      radsec.stop();
      state.shadowLearner.stop();
      disconnects.close();
      servers.close();
    },
  };
}

/** The first factor of each client, and the RADIUS servers that check it. */
function createFirstFactor(
  { openSocket, clock, random, log, vault, passwords }: RadiusDeps,
  { clients, limits }: { readonly clients: Clients; readonly limits: Limits },
) {
  const health = new FirstFactorHealth({ log, clock });
  const servers = new FirstFactorServers({
    serversOf: (name) => clients.all.find((one) => one.name === name)?.settings.firstFactorServer ?? null,
    all: () =>
      clients.all.flatMap(({ name, settings: { firstFactorServer: servers } }) =>
        servers === null ? [] : [{ client: name, servers }]
      ),
    ...{ open: openSocket, clock, random, log, health },
  });
  const firstFactor = new ClientFirstFactor({
    radius: servers,
    isLocked: (user) => limits.isLocked(user),
    ...{ passwords, vault, clock, health },
  });
  return { servers, firstFactor };
}

/** Dependencies of all code that reads or uses factors. */
function factorDeps({ config: { factors }, directory, clock, vault, secondFactor, passwords }: RadiusDeps) {
  const hasOpenInvitation = (user: string) => secondFactor.hasOpenInvitation?.(user) ?? false;
  return {
    ...{ settings: factors, enabled: followEnabled(factors), directory, passwords },
    ...{ clock, vault, hasOpenInvitation },
  };
}

interface ServerParts extends StoredState {
  readonly counters: Counters;
  readonly packets: PacketCapture;
  readonly monitor: ReturnType<typeof createEventBus>;
  readonly clients: ReturnType<typeof createClients>;
  readonly clientDiscovery: ClientDiscovery;
  readonly firstFactor: ClientFirstFactor;
  readonly acceptAttributes: AcceptAttributes;
  readonly offboarding: Offboarding;
  readonly disconnects: Disconnects;
  readonly exchange: FirstFactorServers["exchange"];
  readonly folded: FoldedLog;
  readonly radsec: RadsecConnections;
}

function createServer(
  deps: RadiusDeps,
  { monitor, sessions, signingClients, clientDiscovery, clients, disconnects, ...parts }: ServerParts,
): RadiusServer {
  const { config: { radius }, store, clock, random, log, secondFactor, telephony } = deps;
  const { counters, packets, folded } = parts;
  const factors = factorDeps(deps);
  const unsignedLimits = new UnsignedLimits(clock);
  const { emit, changed } = monitor;
  const accounting = createAccountingHandler({
    ...{ sessions, store, log, counters },
    reported: (user) => disconnects.endLate(user),
  });
  const handler = new RequestHandler({
    ...factors,
    ...parts,
    ...{ store, random, log, secondFactor, telephony, unsignedLimits, emit, changed },
    ...{ clients, learner: parts.shadowLearner },
    peers: deps.peers,
    helpText: () => deps.config.enrolment.helpText,
    menuOf: ({ policy }) => menuOfLogin({ ...factors, policies: parts.policies }, policy),
    target: () => parts.stores.target,
    logins: radius,
    nullStatusCheck: new NullStatusCheck({ clock, secondFactor }),
  });
  const server = new RadiusServer({
    ...{ clients, clock, log, counters, emit, packets, folded, signingClients, handler, accounting },
    unproven: unsignedLimits.unproven,
    discovery: clientDiscovery,
    storeAnsweredMs: store.lastAnswerMs,
    catchUp: store.isShared ? new CatchUpQueue({ store, clock, log }) : null,
  });
  parts.radsec.serve((stream, octets) => server.receiveFrom(stream, octets));
  return server;
}

interface SettingSource {
  readonly config: Pick<Config, "radius">;
  /** The secret for any client address, while no client and no `radius.secret` is configured. */
  readonly generatedSecret: string;
  /** Calls back after each change of `config`. Default: it does not change. */
  readonly onSettingsChange?: (listener: () => void) => void;
}

/** The shared secret for any client address. */
function anySecretOf({ config: { radius }, generatedSecret }: SettingSource): string {
  return radius.secret === "" ? generatedSecret : radius.secret;
}

interface SettingFollowers {
  readonly clients: Pick<Clients, "replaceAny">;
  readonly register: Pick<ClientRegistry, "refresh">;
  readonly acceptAttributes: Pick<AcceptAttributes, "replaceDefaults">;
}

/** Updates what was computed from settings. */
function followSettings(source: SettingSource, followers: SettingFollowers): void {
  const { config: { radius }, onSettingsChange } = source;
  const { clients, register, acceptAttributes } = followers;
  onSettingsChange?.(() => {
    clients.replaceAny(radius.anyClient, anySecretOf(source));
    // Clients of the console can use settings of any client.
    register.refresh(radius);
    acceptAttributes.replaceDefaults(radius.replyDefault);
  });
}

/** The factors that are offered now. The set is the same until the setting changes. */
function followEnabled(factors: Pick<Config["factors"], "enabled">): () => ReadonlySet<Factor> {
  let list = factors.enabled;
  let set: ReadonlySet<Factor> = new Set(list);
  return () => {
    if (list !== factors.enabled) {
      list = factors.enabled;
      set = new Set(list);
    }
    return set;
  };
}
