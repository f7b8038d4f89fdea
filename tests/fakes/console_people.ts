// A console with a directory whose backends are in memory, and with the real pairings and limits.

import type { Config, TargetSettings } from "../../platform/config/config.ts";
import type { Dist } from "../../console/assets.ts";
import type { People } from "../../console/api/deps.ts";
import { createLog, type Log } from "../../platform/log.ts";
import { createPasswordHasher } from "../../platform/password_hasher.ts";
import { NO_CHANGE } from "../../platform/write_batch.ts";
import { AcceptAttributes } from "../../radius/factors/reply_attributes.ts";
import { ReplyAttributeRegistry, UserReplyRegistry } from "../../radius/factors/reply_attribute_registry.ts";
import { createClients } from "../../radius/server/clients.ts";
import { LastSignIns } from "../../radius/factors/last_sign_ins.ts";
import { Limits } from "../../radius/factors/limits.ts";
import { createLoginDryRun } from "../../radius/conversation/login_dry_run.ts";
import { createOrderedIds } from "../../radius/conversation/conversation.ts";
import { ConversationStore } from "../../radius/conversation/conversation_store.ts";
import { createNotMeReports } from "../../radius/conversation/ended_logins.ts";
import { createNamedAccess } from "../../radius/factors/offboarding.ts";
import { PolicyPreview } from "../../radius/policy/policy_preview.ts";
import { EnrolmentMarks, FactorMarks, recordIdIn } from "../../radius/factors/own_factors.ts";
import { SentPasscodes } from "../../radius/factors/sent_passcodes.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { HardwareTokens } from "../../radius/tokens/hardware_tokens.ts";
import { BypassCodeStore } from "../../radius/factors/bypass_codes.ts";
import { RecoveryCodeStore } from "../../radius/factors/recovery_codes.ts";
import { type Clock, createSystemRandom, type Random, systemClock } from "../../platform/runtime.ts";
import { createTransfer } from "../../scim/transfer/import_export.ts";
import { createDirectory, recordDirectoryOf } from "../../scim/directory/directory.ts";
import type { Target } from "../../scim/ports.ts";
import { parseResource } from "../../scim/schema/parse_resource.ts";
import { createTargets } from "../../scim/provisioning/target_set.ts";
import { createUserRecordFinder, departureMutation } from "../../platform/user_record.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault, type Vault } from "../../platform/vault.ts";
import { configOf, settingsFileOf } from "../platform/config/samples.ts";
import { LiveSettings } from "../../platform/config/live_settings.ts";
import type { HttpAppDeps } from "../../console/app.ts";
import { directoryCalls, SCIM_ACTOR } from "./directory_calls.ts";
import { backendSettingsOf } from "./backend_settings.ts";
import { startConsole } from "./console_app.ts";
import { createLoginPolicies } from "./login_policies.ts";
import { EnrolmentService } from "../../console/api/enrolment/enrolment_service.ts";
import { createFakeMailQueue } from "./mail_queue.ts";
import { createMemoryBackend, type MemoryBackend } from "./memory_backend.ts";

/** The backends of the target, by name: the embedded store, or one in memory. */
export type Shape = Readonly<Record<string, "store" | "sync" | "async">>;

export { SCIM_ACTOR };

export interface PeopleOptions {
  readonly shape?: Shape;
  /** The attributes that each backend keeps read-only. */
  readonly readOnly?: Readonly<Record<string, readonly string[]>>;
  /** The backends store only members that they have a user for. */
  readonly knownMembersOnly?: boolean;
  /** Wraps the store that every part uses. */
  readonly wrap?: ((store: Store) => Store) | undefined;
  readonly toml?: string;
}

export type PeopleConsole = Awaited<ReturnType<typeof startPeopleConsole>>;

/** A console with a directory. `clock` is the console's; the directory and the gateway use the system's. */
export async function startPeopleConsole(
  { dist, idleMs, clock, ...options }: PeopleOptions & { dist?: Dist; idleMs?: number; clock?: Clock } = {},
) {
  const people = await openPeople(options);
  const site = await startConsole({
    store: people.store,
    ...(dist === undefined ? {} : { dist }),
    ...(idleMs === undefined ? {} : { idleMs }),
    ...(clock === undefined ? {} : { clock }),
    change: people.furnish,
  });
  return {
    ...site,
    ...people,
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await people[Symbol.asyncDispose]();
    },
  };
}

export type OpenPeople = Awaited<ReturnType<typeof openPeople>>;

/** The directory with its backends, and the parts of the gateway that the console uses. */
export async function openPeople({ shape = { local: "store" }, wrap, toml = "", ...options }: PeopleOptions) {
  const config = configOf(toml);
  const opened = createStore(await Deno.openKv(":memory:"));
  const random = createSystemRandom();
  const parts = {
    config,
    clock: systemClock,
    random,
    log: createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined }),
    store: wrap?.(opened) ?? opened,
    vault: createVault(new Uint8Array(32).fill(7), random),
  };
  const { store, vault } = parts;
  const backends = memoryBackends(shape, options);
  let prepareGroupCleanup: ReplyAttributeRegistry["prepareForget"] | null = null;
  const targets = await openTargets(parts, {
    ...{ shape, backends },
    prepareGroupCleanup: (group) => prepareGroupCleanup?.(group) ?? NO_CHANGE,
  });
  const target = targets.get("default") as Target;
  const described = createPeople(parts, targets);
  const accept = new AcceptAttributes({
    settings: config.radius,
    directory: { lookUp: (name) => ({ ...target.directory.login(name), phoneNumbers: [] }) },
  });
  const replies = new ReplyAttributeRegistry({ store, settings: config.radius, accept });
  const userReplies = new UserReplyRegistry({ store, settings: config.radius, accept });
  await userReplies.load();
  const replySources = Object.values(config.radius.replyFromDirectory);
  const access = createNamedAccess({ ...described, replies, userReplies, replySources });
  const people = { ...described, access };
  prepareGroupCleanup = (group) => replies.prepareForget(group);
  const { pairings, limits, recoveryCodes, bypassCodes, hardwareTokens, lastSignIns, policies } = people;
  const mailQueue = createFakeMailQueue(store);
  const enrolments: EnrolmentService[] = [];
  return {
    ...{
      store,
      vault,
      people,
      mailQueue,
      target,
      pairings,
      limits,
      recoveryCodes,
      bypassCodes,
      lastSignIns,
      policies,
    },
    ...{ store, target, pairings, limits, recoveryCodes, hardwareTokens, lastSignIns, policies },
    ...directoryCalls(target, store),
    /** Adds users to a console. */
    furnish(deps: HttpAppDeps): HttpAppDeps {
      const enrolment = new EnrolmentService({
        ...{ ...deps, store, people, enrolment: config.enrolment },
        mail: { queue: mailQueue, language: () => "en", perMinute: () => 1 },
      });
      enrolments.push(enrolment);
      return {
        ...deps,
        ...{ store, vault, people, replies, userReplies, enrolment },
        transfer: createTransfer({ clock: systemClock, http: deps.http }),
        console: Object.assign({ auditRetentionMs: config.console.auditRetentionMs }, deps.console),
        settings: new LiveSettings({ ...deps, file: settingsFileOf(toml), store, vault }),
        installation: { ...deps.installation, file: "/srv/countersign.toml" },
      };
    },
    backend: (name: string) => backendOf(backends, name),
    async [Symbol.asyncDispose]() {
      for (const enrolment of enrolments) await enrolment.close();
      await targets.close();
      await store.close();
    },
  };
}

interface Parts {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Store;
  readonly vault: Vault;
}

function memoryBackends(shape: Shape, { readOnly = {}, knownMembersOnly = false }: PeopleOptions) {
  const backends = new Map<string, MemoryBackend>();
  for (const [name, mode] of Object.entries(shape)) {
    if (mode === "store") continue;
    const options = { name, mode, knownMembersOnly, timeoutMs: 50, readOnly: readOnly[name] ?? [] };
    backends.set(name, createMemoryBackend({ clock: systemClock, ...options }));
  }
  return backends;
}

function backendOf(backends: ReadonlyMap<string, MemoryBackend>, name: string): MemoryBackend {
  const backend = backends.get(name);
  if (backend === undefined) throw new Error(`Cannot find the backend ${name}`);
  return backend;
}

function openTargets(
  { store, vault, clock, random, log }: Parts,
  { shape, backends, prepareGroupCleanup }: {
    shape: Shape;
    backends: ReadonlyMap<string, MemoryBackend>;
    prepareGroupCleanup: ReplyAttributeRegistry["prepareForget"];
  },
) {
  const settings: TargetSettings = {
    name: "default",
    pageSize: 100,
    maxDropPercent: 10,
    mapping: { user: {}, group: {} },
    backends: Object.entries(shape).map(([name, kind]) => backendSettingsOf(name, kind)),
  };
  const hasher = createPasswordHasher({ random, cost: { costLog2: 4 } });
  const orderedId = createOrderedIds(clock, random);
  return createTargets({
    settings: [settings],
    ...{ store, vault, clock, random, log, orderedId },
    hashPassword: (password) => hasher.make(password),
    openDirectory: (target) =>
      createDirectory({
        ...{ store, clock, random, log, target, prepareGroupCleanup },
        prepareOffboarding: (user) => ({
          ...NO_CHANGE,
          mutations: [departureMutation({ target: "default", user, id: orderedId() })],
        }),
      }),
    openBackend: (_target, { name }) => backendOf(backends, name),
  });
}

function createFactorStores(
  { store, vault, clock, random }: Pick<Parts, "store" | "vault" | "clock" | "random">,
  { directory }: Target,
) {
  const recordIdOf = (user: string) => recordIdIn({ lookUp: directory.login }, user);
  const factorMarks = new FactorMarks({ store, target: "default", recordIdOf });
  const deps = { store, vault, clock, random, target: "default", marks: factorMarks };
  return {
    factorMarks,
    pairings: new Pairings(deps),
    recoveryCodes: new RecoveryCodeStore(deps),
    hardwareTokens: new HardwareTokens(deps),
    bypassCodes: new BypassCodeStore(deps),
    enrolment: new EnrolmentMarks({ store, target: "default" }),
  };
}

/** The dependencies of the user routes, with real pairings, limits and recovery codes. */
function createPeople({ config, store, vault, clock, random, log }: Parts, targets: People["targets"]) {
  const target = targets.get("default") as Target;
  const stores = createFactorStores({ store, vault, clock, random }, target);
  const { pairings, recoveryCodes, hardwareTokens, enrolment, bypassCodes, factorMarks } = stores;
  const limits = new Limits({ store, clock, settings: config.factors });
  const loginTarget = () => "default";
  const lastSignIns = new LastSignIns({ store, clock, log, target: loginTarget, longestLoginMs: 300_000 });
  const conversations = new ConversationStore({ store, clock, maxConversations: 100, tokenOf: (id) => id });
  const { anyClient } = config.radius;
  const clients = createClients({
    settings: config.radius.clients,
    anyClient: { ...anyClient },
    anySecret: "a secret of a test",
  });
  const stored = createLoginPolicies({ store, vault, clock, random });
  const records = recordDirectoryOf(target);
  const login = { prepare: target.directory.prepareLogin, lookUp: target.directory.login };
  const enabled = () => new Set(config.factors.enabled);
  const { factors: settings } = config;
  const preview = new PolicyPreview({
    ...{ settings, enabled, pairings, recoveryCodes, hardwareTokens, bypassCodes, clock, directory: login },
    factorMarks,
    hasOpenInvitation: () => false,
    clients: () => clients.all,
    ...stored,
  });
  const policies = { ...stored, preview };
  return {
    targets,
    loginTarget,
    ...{ pairings, limits, recoveryCodes, hardwareTokens, lastSignIns, enrolment, bypassCodes, factorMarks },
    policies,
    prepareNotMeReport: createNotMeReports({
      target: () => "default",
      remembered: policies.remembered,
      ...{ store, log, limits, conversations, bypassCodes },
      secondFactor: { cancel: () => Promise.resolve() },
      changed: () => undefined,
      disconnects: { prepareReport: () => ({ mutations: [], done: () => undefined, count: 0 }) },
    }),
    factors: config.factors,
    helpDesk: config.helpDesk,
    readContent: parseResource,
    findUserRecord: createUserRecordFinder({
      store,
      target: "default",
      directory: {
        ...records,
        // Tests give users logins of the last weeks, so the users must be older.
        async read(canonical) {
          const record = await records.read(canonical);
          return record === null ? null : { ...record, createdMs: record.createdMs - 365 * 24 * 3_600_000 };
        },
      },
    }),
    trials: createLoginDryRun({
      ...{
        settings: config.factors,
        enabled,
        directory: login,
        pairings,
        limits,
        recoveryCodes,
        hardwareTokens,
        enrolment,
        factorMarks,
        hasOpenInvitation: () => false,
        bypassCodes,
        sentPasscodes: new SentPasscodes({ store, clock, vault }),
        policies,
        clock,
        store,
        vault,
      },
    }, () => clients.all),
  } satisfies Omit<People, "access">;
}
