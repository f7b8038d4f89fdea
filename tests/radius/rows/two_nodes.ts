// Two gateways in the process of the test, on one store in memory and one fake clock, as two nodes of a cluster.

import { openNode } from "../../fakes/shared_store.ts";
import type { Store } from "../../../platform/store.ts";
import type { PeerNodes, SecondFactorService } from "../../../radius/ports.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";
import { whileTimePasses } from "./passing_time.ts";

/** What the two nodes know of each other. A test changes it. */
export interface Knowledge {
  /** Nodes that do not run any more. */
  readonly dead: Set<string>;
  /** Nodes that do not know the keys of the others yet. */
  readonly withoutKeys: Set<string>;
  /** How far the clock of a node is ahead. */
  readonly aheadMs: Map<string, number>;
}

/** Declare it with `await using`. */
export interface TwoNodes extends AsyncDisposable {
  readonly a: InProcess;
  readonly b: InProcess;
  readonly known: Knowledge;
}

const NAMES = ["a", "b"] as const;
const KEY = new Uint8Array(32).fill(5);

/** @param options.store wraps the store of a node @param options.secondFactor wraps its service */
export async function startTwoNodes(
  { store: wrap = (store) => store, secondFactor = (service) => service, ...options }:
    & Omit<InProcessOptions, "after" | "between" | "kvPath" | "peers">
    & {
      store?: (store: Store, node: string) => Store;
      secondFactor?: (service: SecondFactorService, node: string) => SecondFactorService;
    } = {},
): Promise<TwoNodes> {
  const kv = await Deno.openKv(":memory:");
  // Each node closes its store; the test closes this one.
  const handle = new Proxy(kv, {
    get(target, name) {
      const value: unknown = name === "close" ? () => undefined : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const known: Knowledge = { dead: new Set(), withoutKeys: new Set(), aheadMs: new Map() };
  const start = async (node: string, after?: InProcess): Promise<InProcess> => {
    const { store } = await openNode(handle, node);
    return await startInProcess({
      ...options,
      ...(after === undefined ? {} : { after }),
      peers: peersOf(node, known),
      between: {
        store: () => wrap(store, node),
        secondFactor: (service) => secondFactor(service, node),
      },
    });
  };
  const a = await start("a");
  const b = await start("b", a);
  return {
    ...{ a, b, known },
    async [Symbol.asyncDispose]() {
      await whileTimePasses(a.clock, b.stop());
      await a[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

function peersOf(own: string, { dead, withoutKeys, aheadMs }: Knowledge): PeerNodes {
  const ahead = (node: string) => aheadMs.get(node) ?? 0;
  return {
    node: own,
    clockOffsetMs: (node) => ahead(node) - ahead(own),
    isAlive: (node) => !dead.has(node),
    isResponsibleFor: (node) => node === own || node === "" || dead.has(node),
    keys: () =>
      withoutKeys.has(own) ? [] : NAMES.filter((node) => node !== own).map((node) => ({ node, key: KEY })),
  };
}
