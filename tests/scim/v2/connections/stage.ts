// Connections on a store in memory, or on several nodes that share one, for tests.

import { createLog } from "../../../../platform/log.ts";
import { createPasswordHasher } from "../../../../platform/password_hasher.ts";
import { createSystemRandom } from "../../../../platform/runtime.ts";
import { createStore, type Store } from "../../../../platform/store.ts";
import { createVault } from "../../../../platform/vault.ts";
import { Credentials } from "../../../../scim/http/credentials.ts";
import { ScimRefusal } from "../../../../scim/http/refusals.ts";
import type { Target } from "../../../../scim/ports.ts";
import type { AddedSecret, MadeSecret } from "../../../../scim/v2/connections/connection_administration.ts";
import type { ConnectionChange, SecretKind } from "../../../../scim/v2/connections/connection_settings.ts";
import { Connections } from "../../../../scim/v2/connections/connections.ts";
import type { RequestLogEntry } from "../../../../scim/v2/connections/request_log.ts";
import { openNode } from "../../../fakes/shared_store.ts";
import { createManualClock, type ManualClock } from "../../../upstream/manual_clock.ts";

export const OWNER = { name: "owner", source: "192.0.2.200" };
export const HERE = "192.0.2.1";
/** A credential of the settings. */
export const CREDENTIAL = { name: "hr", password: "a password of the settings" };
export const HOUR_MS = 3_600_000;

const random = createSystemRandom();
const vault = createVault(new Uint8Array(32).fill(7), random);

export interface ConnectionStage {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly connections: Connections;
  /** How many users the directories have. */
  users: number;
  /** The lines of the log. */
  lines(): Promise<readonly string[]>;
  /** Creates a connection with a secret. */
  create(
    name: string,
    options?: ConnectionChange & { kind?: SecretKind; lifeMs?: number },
  ): Promise<MadeSecret>;
  /** The name of the connection that the header proves, `null`, or the code of the refusal. */
  authenticate(authorization: string | null, source?: string): Promise<string | null>;
  audits(): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** @param options.wrap wraps the store, for example to let it fail. */
export async function openConnectionStage(
  { store, clock = createManualClock(), wrap = (one) => one }: {
    store?: Store;
    clock?: ManualClock;
    wrap?: (store: Store) => Store;
  } = {},
): Promise<ConnectionStage> {
  const own = wrap(store ?? createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs }));
  const lines: string[] = [];
  const write = (octets: Uint8Array) => void lines.push(new TextDecoder().decode(octets));
  const log = createLog({ format: "text", level: "info", clock, write });
  const shared = { store: own, vault, clock, random, log };
  const hasher = createPasswordHasher({ random, cost: { costLog2: 4 } });
  const settings = [{ ...CREDENTIAL, targets: ["default", "corp"], access: "write" as const }];
  const credentials = new Credentials({ ...shared, hasher, settings });
  const stage = { users: 1000 };
  const targetOf = (name: string) => ({ name, directory: { count: () => stage.users } }) as unknown as Target;
  const targets = { get: (name: string) => ["default", "corp"].includes(name) ? targetOf(name) : null };
  const connections = await Connections.open({ ...shared, credentials, targets });
  return Object.assign(stage, {
    clock,
    store: own,
    connections,
    async lines() {
      await log.flush();
      return lines;
    },
    async create(
      name: string,
      { kind = "token", lifeMs, ...change }: Parameters<ConnectionStage["create"]>[1] = {},
    ) {
      const made = await connections.administration.create(
        { name, kind: "okta", target: "default", ...change, secret: { kind, lifeMs: lifeMs ?? null } },
        OWNER,
      );
      if (!made.ok || made.secret === null) {
        throw new Error(`the connection was not created: ${JSON.stringify(made)}`);
      }
      return made.secret;
    },
    authenticate: (authorization: string | null, source = HERE) =>
      codeOf(async () => (await connections.authenticate(authorization, source))?.settings.name ?? null),
    audits: () =>
      Array.fromAsync(own.list<Readonly<Record<string, unknown>>>(["audit"]), ({ value }) => value ?? {}),
  });
}

/** Two nodes on one store. */
export async function openTwoNodes(kv: Deno.Kv): Promise<readonly [ConnectionStage, ConnectionStage]> {
  const clock = createManualClock();
  const [a, b] = [await openNode(kv, "a"), await openNode(kv, "b")];
  return [
    await openConnectionStage({ store: a.store, clock }),
    await openConnectionStage({ store: b.store, clock }),
  ];
}

/** The secret that was added. */
export function addedSecret(outcome: AddedSecret): MadeSecret {
  if (!outcome.ok) throw new Error(`the secret was not added: ${outcome.reason}`);
  return outcome.secret;
}

/** The result, or the code of the refusal. */
export async function codeOf<T>(work: () => T | Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof ScimRefusal) return fault.code;
    throw fault;
  }
}

export const bearer = (token: string): string => `Bearer ${token}`;
export const basicHeader = (name: string, password: string): string =>
  `Basic ${new TextEncoder().encode(`${name}:${password}`).toBase64()}`;

/** An entry of the request log. */
export function requestEntry(more: Partial<RequestLogEntry> = {}): RequestLogEntry {
  return {
    ...{
      atMs: 1_800_000_000_000,
      connection: "okta",
      source: HERE,
      method: "POST",
      operation: "users.create",
    },
    ...{ resource: { kind: "user", id: "1", name: "ada" }, status: 201, scimType: null, detail: null },
    ...{ attributes: ["userName"], durationMs: 3, dryRun: false, userAgent: "okta" },
    ...more,
  };
}
