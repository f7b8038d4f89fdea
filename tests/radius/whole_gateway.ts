// The whole gateway in the process of the test. Its parts are real; store, clock and sockets are in memory.

import { NO_PEERS, type Passwords } from "../../radius/ports.ts";
import { appendByCommit } from "../fakes/append_by_commit.ts";
import { createLog } from "../../platform/log.ts";
import type { DatagramSocket } from "../../radius/server/server.ts";
import { createRadius, type Radius } from "../../radius/radius.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Store, type Transaction } from "../../platform/store.ts";
import type { CommitOutcome } from "../../platform/commit_queue.ts";
import { createVault } from "../../platform/vault.ts";
import { configOf } from "../platform/config/samples.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";
import { emptyDirectory, silentSecondFactor, silentTelephony } from "./silent_services.ts";

/** The source of a datagram. */
export interface Source {
  readonly hostname: string;
  readonly port: number;
}

/** A running gateway. Declare it with `await using`. */
export interface WholeGateway extends AsyncDisposable {
  readonly radius: Radius;
  readonly clock: ManualClock;
  readonly store: BreakableStore;
  /** Replies so far, in order. */
  readonly sent: readonly { readonly octets: Uint8Array; readonly to: Source }[];
  /** Delivers a datagram and waits until the server has read it. Its handling may still be in progress. */
  deliver(octets: Uint8Array, from: Source): Promise<void>;
  /** Opens another gateway on the store, as a restart would. It serves no socket. Close it. */
  reopen(): Promise<Radius>;
  /** The same on the accounting port. */
  account(octets: Uint8Array, from: Source): Promise<void>;
  /** Waits until no request is in progress, including delayed Rejects. */
  finish(): Promise<void>;
  /** The counters that increased while `task` ran. */
  counted(task: () => Promise<void>): Promise<Record<string, number>>;
  logText(): Promise<string>;
}

/** A store whose commits a test can hold back or let fail. */
export interface BreakableStore extends Store {
  /** From now on commits wait until the function that is returned is called. */
  hold(): () => void;
  /** From now on commits fail with `fault`; `null` ends the failures. */
  breakWith(fault: Error | null): void;
  /** The value of `lastAnswerMs`; `null`: the real one. */
  silentSince(atMs: number | null): void;
}

/** Rejects are delayed by a second and up to 100 ms of jitter. */
const REJECT_WAIT_MS = 1200;
const DEADLINE_MS = 30_000;

/**
 * @param signed clients and addresses that signed their requests before.
 * @param unsigned clients and addresses whose unsigned logins succeeded lately.
 */
export async function openWholeGateway(
  toml: string,
  { signed = [], unsigned = [], passwords }: {
    signed?: readonly (readonly [name: string, source: string])[];
    unsigned?: readonly (readonly [name: string, source: string])[];
    passwords?: Passwords;
  } = {},
): Promise<WholeGateway> {
  const clock = createManualClock();
  const random = createSystemRandom();
  const store = breakable(createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs }));
  const set = (key: readonly string[], value: unknown) => ({ type: "set" as const, key, value });
  await store.commit({
    mutations: [
      ...signed.map((from) => set(["learnt", ...from], true)),
      ...unsigned.map((from) => set(["unsigned_login", ...from], clock.nowMs())),
    ],
  });
  const written: string[] = [];
  const write = (lines: Uint8Array) => void written.push(new TextDecoder().decode(lines));
  const log = createLog({ format: "text", level: "debug", clock, write });
  const open = () =>
    createRadius({
      ...{ config: configOf(toml), store, clock, random, log },
      vault: createVault(random.bytes(32), random),
      directory: emptyDirectory,
      peers: NO_PEERS,
      ...(passwords === undefined ? {} : { passwords }),
      secondFactor: silentSecondFactor,
      telephony: silentTelephony,
      generatedSecret: "any",
      openSocket: () => createQueueSocket().socket,
    });
  const radius = await open();
  const queue = createQueueSocket();
  const accounting = createQueueSocket(queue.sent);
  const serving = [
    radius.server.serve(queue.socket),
    radius.server.serve(accounting.socket, "accounting"),
  ];
  const finish = async () => {
    await until(() => radius.server.working === 0);
    clock.advance(REJECT_WAIT_MS);
    await until(() => radius.server.working === 0);
  };
  return {
    radius,
    clock,
    store,
    sent: queue.sent,
    reopen: open,
    deliver: queue.deliver,
    account: accounting.deliver,
    finish,
    async counted(task) {
      const before = radius.monitor.counters();
      await task();
      const risen = Object.entries(radius.monitor.counters()).map(([name, count]) =>
        [name, count - (before[name] ?? 0)] as const
      );
      return Object.fromEntries(risen.filter(([, by]) => by > 0));
    },
    async logText() {
      await log.flush();
      return written.join("");
    },
    async [Symbol.asyncDispose]() {
      await radius.server.stop(0);
      await Promise.all(serving);
      radius.close();
      await store.close();
    },
  };
}

/** Waits for a condition that does not depend on the clock, such as a commit. Throws after 30 s. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; !(await condition());) {
    if (performance.now() > end) throw new Error(`The condition was not met in time: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

function breakable(store: Store): BreakableStore {
  let gate: Promise<void> = Promise.resolve();
  let broken: Error | null = null;
  let silent: number | null = null;
  const commit = async (transaction: Transaction): Promise<CommitOutcome> => {
    await gate;
    if (broken !== null) throw broken;
    return await store.commit(transaction);
  };
  return {
    ...store,
    commit,
    append: appendByCommit(commit),
    lastAnswerMs: () => silent ?? store.lastAnswerMs(),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    breakWith: (fault) => broken = fault,
    silentSince: (atMs) => silent = atMs,
  };
}

interface QueueSocket {
  readonly socket: DatagramSocket;
  readonly sent: { octets: Uint8Array; to: Source }[];
  deliver(octets: Uint8Array, from: Source): Promise<void>;
}

/** A datagram socket without a network: the kernel's buffer is a queue of one. */
function createQueueSocket(sent: { octets: Uint8Array; to: Source }[] = []): QueueSocket {
  let arrival = Promise.withResolvers<[Uint8Array, Deno.NetAddr]>();
  let asked = Promise.withResolvers<void>();
  return {
    sent,
    async deliver(octets, from) {
      await asked.promise;
      asked = Promise.withResolvers();
      arrival.resolve([octets, { transport: "udp", ...from }]);
      // The server requests the next datagram after it has handled this one.
      await asked.promise;
    },
    socket: {
      async receive(buffer) {
        asked.resolve();
        const [octets, from] = await arrival.promise;
        arrival = Promise.withResolvers();
        buffer.set(octets);
        return [buffer.subarray(0, octets.length), from];
      },
      send(octets, { hostname, port }) {
        sent.push({ octets: octets.slice(), to: { hostname, port } });
        return Promise.resolve(octets.length);
      },
      close: () => arrival.reject(new Deno.errors.BadResource("closed")),
    },
  };
}
