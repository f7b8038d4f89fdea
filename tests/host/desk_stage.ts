// For tests: a desk on a store in memory, with everything it needs and a clock that a test moves.

import { createFakeUserRecords } from "../fakes/user_records.ts";
import { createDesk, type Desk } from "../../host/desk.ts";
import type { DeskAnswer, DeskDone, DeskRefusal } from "../../host/desk_answer.ts";
import { createLog } from "../../log.ts";
import { createLearnt, type Learnt } from "../../radius/doing/learnt.ts";
import { createLimits, type Limits } from "../../radius/doing/limits.ts";
import { createOrderedIds } from "../../radius/doing/ordered_ids.ts";
import { createPairings, type Pairings } from "../../radius/doing/pairings.ts";
import { matchTotp, totpAt } from "../../radius/pure/totp.ts";
import { createPasswordHasher } from "../../password_hasher.ts";
import { createSystemRandom } from "../../runtime.ts";
import { createBulk } from "../../scim/bulk/bulk.ts";
import { createCredentials, type Credentials } from "../../scim/http/credentials.ts";
import type { Target } from "../../scim/ports.ts";
import { createStore, type Store } from "../../store.ts";
import {
  createEmbeddedSecondFactor,
  type EmbeddedSecondFactor,
} from "../../upstream/embedded/second_factor.ts";
import { createVault } from "../../vault.ts";
import { configOf } from "../config/samples.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

export const EXTERNAL_SERVICE = `
[second_factor]
url = "https://api.example.com"
consumer_key = "our-consumer-key"
consumer_secret = "our-consumer-secret"
`;

export interface DeskStage extends AsyncDisposable {
  readonly desk: Desk;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly learnt: Learnt;
  readonly credentials: Credentials;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly embedded: EmbeddedSecondFactor | null;
  /** Clients that were forgotten at the gate. */
  readonly forgotten: readonly string[];
  /** From now on the store fails each commit. */
  breakStore(): void;
  /** The records of audit, oldest first. */
  audits(): Promise<Record<string, unknown>[]>;
  /** What the store holds as a program that starts now would read it. */
  reload(): Promise<Pairings>;
  /** All text that the store holds. */
  dump(): Promise<string>;
}

/** @param toml settings over the presets. `target`: what every name of a target gives. */
export async function openDeskStage(
  toml = "",
  { target = null }: { target?: Target | null } = {},
): Promise<DeskStage> {
  const config = configOf(toml);
  const clock = createManualClock();
  const random = createSystemRandom();
  const sound = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  let broken = false;
  const store: Store = {
    ...sound,
    commit: (transaction) => broken ? Promise.reject(new Error("disk is full")) : sound.commit(transaction),
  };
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const log = createLog({ format: "text", level: "error", clock, write: () => {} });
  const openPairings = () => createPairings({ store, vault, clock, random, target: "default" });
  const pairings = openPairings();
  const limits = createLimits({ store, clock, settings: config.factors });
  const learnt = createLearnt({ store, log, clock });
  const totp = { at: totpAt, match: matchTotp };
  const settings = { requesterName: "Countersign", numberMatching: true, requestTtlMs: 60_000 };
  const embedded = config.secondFactor.url === ""
    ? createEmbeddedSecondFactor({
      ...{ store, vault, clock, random, totp, settings },
      findUserRecord: createFakeUserRecords().find,
    })
    : null;
  const forgotten: string[] = [];
  const orderedId = createOrderedIds(clock, random);
  const credentials = createCredentials({
    store,
    vault,
    clock,
    random,
    log,
    hasher: createPasswordHasher({ random, cost: { costLog2: 4 } }),
    settings: config.scim.credentials,
  });
  const desk = createDesk({
    config,
    credentials,
    targets: { names: config.targets.map(({ name }) => name), get: () => target },
    bulk: createBulk({ clock, publicUrl: "http://127.0.0.1:8080" }),
    pairings,
    limits,
    learnt,
    clients: () => config.radius.clients.map(({ name }) => name),
    forgetClient(name) {
      forgotten.push(name);
      return learnt.forget(name);
    },
    secondFactorDesk: embedded?.desk ?? null,
    store,
    clock,
    orderedId,
  });
  return {
    desk,
    pairings,
    limits,
    learnt,
    credentials,
    store,
    clock,
    embedded,
    forgotten,
    breakStore: () => void (broken = true),
    async audits() {
      const records = [];
      for await (const { value } of store.list<Record<string, unknown>>(["audit"])) {
        if (value !== null) records.push(value);
      }
      return records;
    },
    async reload() {
      const fresh = openPairings();
      await fresh.load();
      return fresh;
    },
    async dump() {
      const parts = [];
      for await (const { key, value } of store.list<unknown>([])) {
        parts.push(Deno.inspect([key, value], { depth: 9 }));
      }
      return parts.join("\n");
    },
    async [Symbol.asyncDispose]() {
      await embedded?.close();
      await store.close();
    },
  };
}

/** What was done; throws when it was refused. */
export async function done(stage: DeskStage, request: Record<string, unknown>): Promise<DeskDone> {
  const answer = await stage.desk.handle(request);
  if (!answer.ok) throw new Error(`refused: ${answer.reason}: ${answer.message}`);
  return answer;
}

/** The refusal; throws when it was done. */
export async function refused(
  stage: DeskStage,
  request: unknown,
): Promise<Extract<DeskAnswer, { ok: false }>> {
  const answer = await stage.desk.handle(request);
  if (answer.ok) throw new Error(`done: ${answer.did}`);
  return answer;
}

/** What must be there; throws when it is not. */
export function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("it is not there");
  return value;
}

/** Why it was refused; `null` when it was done. */
export async function refusal(stage: DeskStage, request: unknown): Promise<DeskRefusal | null> {
  const answer = await stage.desk.handle(request);
  return answer.ok ? null : answer.reason;
}
