// A console with a directory whose backends are in memory, and with the gateway's own pairings and limits.

import type { BackendSettings, TargetSettings } from "../../platform/config/config.ts";
import { createTransfer } from "../../cli/import_export.ts";
import type { Dist } from "../../console/assets.ts";
import type { People } from "../../console/api/users/user_deps.ts";
import { createLog } from "../../platform/log.ts";
import { createPasswordHasher } from "../../platform/password_hasher.ts";
import { NO_CHANGE } from "../../platform/write_batch.ts";
import { createAcceptAttributes } from "../../radius/factors/accept_attributes.ts";
import { createReplyRegister } from "../../radius/factors/reply_attribute_registry.ts";
import { createClients } from "../../radius/server/clients.ts";
import { createLimits } from "../../radius/factors/limits.ts";
import { createLoginTrials } from "../../radius/conversation/login_dry_run.ts";
import { createOrderedIds } from "../../radius/conversation/sortable_ids.ts";
import { createConversations } from "../../radius/conversation/conversation_store.ts";
import { createDisownings } from "../../radius/conversation/report_not_me.ts";
import { createPairings } from "../../radius/factors/pairings.ts";
import { createRecoveryCodes } from "../../radius/factors/recovery_codes.ts";
import { type Clock, createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createBulk } from "../../scim/transfer/bulk.ts";
import { createDirectory } from "../../scim/directory/directory.ts";
import { recordDirectoryOf } from "../../scim/directory/record_directory.ts";
import type { Actor, Target } from "../../scim/ports.ts";
import { readContent } from "../../scim/schema/parse_resource.ts";
import { createTargets } from "../../scim/provisioning/targets.ts";
import { createUserRecords, departureMutation } from "../../platform/user_record.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { configOf, shownOf } from "../platform/config/samples.ts";
import type { HttpAppDeps } from "../../console/http.ts";
import { deedsOf } from "./audited.ts";
import { startConsole } from "./console_app.ts";
import { createMemoryBackend, type MemoryBackend } from "./memory_backend.ts";

/** What backends the target has: the embedded store, or one in memory. */
export type Shape = Readonly<Record<string, "store" | "sync" | "async">>;

export const SCIM_ACTOR: Actor = { name: "scim:hr", source: "192.0.2.7" };

export type PeopleConsole = Awaited<ReturnType<typeof startPeopleConsole>>;

export async function startPeopleConsole(
  { shape = { local: "store" }, readOnly = {}, knownMembersOnly = false, dist, toml = "", idleMs, wrap, now }:
    {
      shape?: Shape;
      /** What backends keep for themselves, by their names. */
      readOnly?: Readonly<Record<string, readonly string[]>>;
      /** The backends store only members that they have a user for. */
      knownMembersOnly?: boolean;
      /** Stands between everything and the store. */
      wrap?: (store: Store) => Store;
      dist?: Dist;
      toml?: string;
      idleMs?: number;
      /** The console's clock; the directory and the gateway keep the system's. */
      now?: Clock;
    } = {},
) {
  const config = configOf(toml);
  const clock = systemClock;
  const random = createSystemRandom();
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const opened = createStore(await Deno.openKv(":memory:"));
  const store = wrap?.(opened) ?? opened;
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const backends = new Map<string, MemoryBackend>(
    Object.entries(shape).flatMap(([name, mode]) =>
      mode === "store" ? [] : [
        [
          name,
          createMemoryBackend({
            clock,
            name,
            mode,
            knownMembersOnly,
            timeoutMs: 50,
            readOnly: readOnly[name] ?? [],
          }),
        ] as const,
      ]
    ),
  );
  const settings: TargetSettings = {
    name: "default",
    pageSize: 100,
    maxDropPercent: 10,
    mapping: { user: {}, group: {} },
    backends: Object.entries(shape).map(([name, kind]) => settingsOf(name, kind)),
  };
  const hasher = createPasswordHasher({ random, cost: { costLog2: 4 } });
  const orderedId = createOrderedIds(clock, random);
  const targets = await createTargets({
    settings: [settings],
    store,
    vault,
    clock,
    random,
    log,
    hashPassword: (password) => hasher.make(password),
    openDirectory: (target) =>
      createDirectory({
        ...{ store, clock, random, log, target },
        prepareLeaving: (user) => ({
          ...NO_CHANGE,
          mutations: [departureMutation({ target: "default", user, id: orderedId() })],
        }),
        prepareGroupTurn: (group) => replies.prepareForget(group),
      }),
    openBackend: (_target, { name }) => {
      const backend = backends.get(name);
      if (backend === undefined) throw new Error(`Cannot find the backend ${name}`);
      return backend;
    },
    orderedId,
  });
  const target = targets.get("default") as Target;
  const pairings = createPairings({ store, vault, clock, random, target: "default" });
  const limits = createLimits({ store, clock, settings: config.factors });
  const recoveryCodes = createRecoveryCodes({ store, vault, clock, random, target: "default" });
  const conversations = createConversations({ store, clock, most: 100, tokenOf: (id) => id });
  const clients = createClients({
    settings: [],
    anyClient: { ...config.radius.anyClient },
    anySecret: "a secret of a test",
  });
  const people: People = {
    targets,
    loginTarget: "default",
    pairings,
    limits,
    recoveryCodes,
    prepareDisowning: createDisownings({
      target: "default",
      store,
      log,
      limits,
      conversations,
      secondFactor: { cancel: () => Promise.resolve() },
      changed: () => undefined,
    }),
    factors: config.factors,
    readContent,
    findUserRecord: createUserRecords({
      store,
      target: "default",
      directory: {
        ...recordDirectoryOf(target),
        // Tests give users logins of the last weeks, so the users are older than that.
        async read(canonical) {
          const record = await recordDirectoryOf(target).read(canonical);
          return record === null ? null : { ...record, createdMs: record.createdMs - 365 * 24 * 3_600_000 };
        },
      },
    }),
    trials: createLoginTrials({
      settings: config.factors,
      enabled: new Set(config.factors.enabled),
      directory: {
        prepare: target.directory.prepareLogin,
        lookUp: (name) => target.directory.login(name),
      },
      pairings,
      limits,
      recoveryCodes,
      clock,
      vault,
    }, () => clients.all),
  };
  const accept = createAcceptAttributes({
    settings: config.radius,
    directory: { lookUp: (name) => ({ ...target.directory.login(name), phoneNumbers: [] }) },
  });
  const replies = createReplyRegister({ store, settings: config.radius, accept });
  const furnish = (deps: HttpAppDeps): HttpAppDeps => ({
    ...deps,
    store,
    vault,
    people,
    transfer: createTransfer({
      bulk: createBulk({ clock, publicUrl: deps.http.publicUrl }),
      publicUrl: deps.http.publicUrl,
    }),
    replies,
    console: Object.assign({ auditKeptMs: config.console.auditKeptMs }, deps.console),
    installation: { ...deps.installation, file: "/srv/countersign.toml", settings: shownOf(toml) },
  });
  const site = await startConsole({
    store,
    ...(dist === undefined ? {} : { dist }),
    ...(idleMs === undefined ? {} : { idleMs }),
    ...(now === undefined ? {} : { clock: now }),
    change: furnish,
  });
  return {
    ...site,
    /** Gives another console the same people. */
    furnish,
    store,
    target,
    pairings,
    limits,
    recoveryCodes,
    backend(name: string): MemoryBackend {
      const found = backends.get(name);
      if (found === undefined) throw new Error(`Cannot find the backend ${name}`);
      return found;
    },
    /** A user who is there already. */
    async put(name: string, attributes: Record<string, unknown> = {}): Promise<void> {
      const read = readContent("user", { userName: name, ...attributes } as never, {
        mapping: target.mapping,
        newName: () => name,
      });
      if (!read.ok) throw new Error(read.detail);
      await target.create(read.content, { actor: SCIM_ACTOR });
    },
    async putGroup(name: string, members: readonly string[] = []): Promise<void> {
      await target.create({ kind: "group", name, attributes: {}, members }, { actor: SCIM_ACTOR });
    },
    /** All audit records but those of signing in, oldest first. */
    async audits(): Promise<Record<string, unknown>[]> {
      const found = (await deedsOf<unknown>(store)).flatMap(({ value }) => value === null ? [] : [value]);
      return found.sort((a, b) => Number(a.atMs) - Number(b.atMs));
    },
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await targets.close();
      await store.close();
    },
  };
}

function settingsOf(name: string, kind: Shape[string]): BackendSettings {
  if (kind === "store") return { name, kind, mode: "sync" };
  return {
    name,
    kind: "ldap",
    mode: kind,
    url: "ldap://127.0.0.1:1",
    startTls: false,
    caPem: "",
    bindDn: "",
    bindPassword: "",
    usersDn: "",
    groupsDn: "",
    schema: "openldap",
    attributes: {},
    connections: 4,
    timeoutMs: 5000,
  };
}
