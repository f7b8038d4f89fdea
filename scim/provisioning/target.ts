// One target: its directory, and what writing to it means for its backends.

import type { PasswordHash } from "../../platform/password_hasher.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type {
  LdapBackendSettings,
  ScimBackendSettings,
  TargetSettings,
} from "../../platform/config/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { BackendInfo, Directory, RefreshReport, Target } from "../ports.ts";
import type { Backend } from "../backend_port.ts";
import type { Content } from "../schema/resource.ts";
import { keptByAll, keptNames, layKept, NOTHING_KEPT } from "../schema/read_only_attributes.ts";
import { createMapping } from "../schema/mapping.ts";
import { targetEntry } from "./write_audit.ts";
import { createCopies, readStanding } from "./backend_copies.ts";
import { createCourier } from "./delivery_worker.ts";
import { createIntents } from "./intent_log.ts";
import { createKeyedLocks } from "./keyed_locks.ts";
import { createLease } from "./lease.ts";
import { createLink, type Link } from "./backend_client.ts";
import { createMemberChanges } from "./member_changes.ts";
import { createOutbox } from "./outbox.ts";
import { refreshAll } from "./refresh_all.ts";
import { refreshOne } from "./refresh_one.ts";
import { reviveDeadLetters } from "./retry_dead_letters.ts";
import type { Standing } from "./backend_status.ts";
import { createTurns } from "./single_flight.ts";
import { createWriter } from "./write_coordinator.ts";

export interface TargetDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who this process is, for leases. */
  readonly owner: string;
  readonly settings: TargetSettings;
  readonly directory: Directory;
  hashPassword(password: string): Promise<PasswordHash>;
  openBackend(target: TargetSettings, backend: LdapBackendSettings | ScimBackendSettings): Backend;
  orderedId(): string;
  /** Users sign in from this target. */
  readonly isLoginTarget?: boolean;
}

export interface OpenTarget extends Target {
  close(): Promise<void>;
}

/** Opens the backends, gives back what a crash left half done, and starts delivering what is owed. */
export async function openTarget(deps: TargetDeps): Promise<OpenTarget> {
  const { store, vault, clock, random, log, settings, directory, orderedId, isLoginTarget = false } = deps;
  const target = settings.name;
  const links = openLinks(deps);
  const backends = settings.backends.map(({ name, kind, mode }): BackendInfo => {
    const keeps = keptNames(links.get(name)?.backend.keeps ?? NOTHING_KEPT);
    return { name, kind, mode, ...(keeps.length === 0 ? {} : { keeps }) };
  });
  const keepers = [...links.values()].map(({ backend }) => backend);
  const readOnly = keptByAll(keepers);
  const copies = createCopies({ store, target });
  const locks = createKeyedLocks(clock);
  const outbox = createOutbox({ store, vault, clock, target, backends: [...links.keys()], orderedId });
  const shared = {
    store,
    directory,
    outbox,
    copies,
    links,
    locks,
    clock,
    random,
    log,
    target,
    isLoginTarget,
    backends,
    readOnly,
  };
  const intents = createIntents({ ...shared, orderedId });
  await intents.recover();
  await outbox.load();

  const couriers = new Map([...links].map(([backend, link]) => {
    const key = ["lease", "outbox", target, backend];
    const lease = createLease({ store, clock, key, owner: deps.owner });
    return [backend, createCourier({ ...shared, link, lease })];
  }));
  outbox.onAdded((backend) => couriers.get(backend)?.wake());
  const write = createWriter({
    ...shared,
    intents,
    holdsGroups: (backend) => links.get(backend)?.backend.holds.groups ?? true,
    hashPassword: (password) => deps.hashPassword(password),
    commitAlone: async (mutations) => void await store.commit({ mutations }),
  });
  const inTurn = createTurns<RefreshReport>();

  return {
    name: target,
    isLoginTarget,
    pageSize: settings.pageSize,
    backends,
    mapping: createMapping(settings.mapping),
    readOnly,
    directory,
    create: (content, options) =>
      write({ operation: "create", kind: content.kind, name: content.name, content: () => content }, options),
    replace: (content, options) =>
      write(
        { operation: "replace", kind: content.kind, name: content.name, content: () => content },
        options,
      ),
    remove: (kind, name, options) => write({ operation: "remove", kind, name, content: () => null }, options),
    changeMembers: createMemberChanges({ directory, backends, locks, target, write }),
    refreshOne: (kind, name, actor) => refreshOne(shared, { kind, name, actor }),
    refreshAll: (actor, options) =>
      inTurn(async () => {
        const report = await refreshAll({ ...shared, maxDropPercent: settings.maxDropPercent }, options);
        const { faults, ...counts } = report;
        const record = targetEntry(target, {
          actor,
          action: "target.refreshed",
          ...counts,
          faults: faults.map(({ backend }) => backend),
        });
        await store.commit({ mutations: [record] });
        return report;
      }),
    async heldElsewhere(kind, name) {
      const stored = await directory.read(kind, canonicalName(name));
      return withKept(await readStanding(copies, stored), links);
    },
    owed: (limit) => outbox.owed(limit),
    retryDeadLetters: (options) => reviveDeadLetters(shared, options),
    async close() {
      await Promise.all([...couriers.values()].map((courier) => courier.close()));
      await Promise.all([...links.values()].map(({ backend }) => backend.close()));
    },
  };
}

/** The contents that differ, and those that differ in nothing but what their backend keeps for itself. */
function withKept(
  { content, backends, copies }: Standing,
  links: ReadonlyMap<string, Link>,
): ReadonlyMap<string, Content> {
  const held = new Map(copies);
  for (const [name, { kept }] of Object.entries(backends)) {
    const known = copies.get(name) ?? content;
    const keeps = links.get(name)?.backend.keeps;
    if (kept === undefined || keeps === undefined || known?.kind !== "user") continue;
    held.set(name, layKept(known, { ...known, attributes: kept }, keeps));
  }
  return held;
}

function openLinks({ settings, openBackend, clock }: TargetDeps): Map<string, Link> {
  const links = new Map<string, Link>();
  for (const backend of settings.backends) {
    if (backend.kind === "store") continue;
    links.set(backend.name, createLink(openBackend(settings, backend), clock));
  }
  return links;
}
