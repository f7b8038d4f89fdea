// All services on a store in memory for tests, with a manual clock, and the administration API as the operator calls
// it.

import { appendByCommit } from "./append_by_commit.ts";
import { hc } from "hono/client";
import { type AdminApi, AdminRefusal, apiValue } from "../../cli/admin_connection.ts";
import type { HttpApp } from "../../platform/http/http_server.ts";
import { compose, type Composition, type CompositionDeps } from "../../compose.ts";
import type { Config } from "../../platform/config/config.ts";
import { CONSOLE_API_PATH, type ConsoleApi } from "../../console/api/console_api.ts";
import { type Dist, NO_DIST } from "../../console/assets.ts";
import { SharedLog } from "../../platform/cluster/shared_log.ts";
import { VALUE_CHECKS } from "../../cli/check_config.ts";
import { createLog } from "../../platform/log.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Store, type Transaction } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { LiveSettings } from "../../platform/config/live_settings.ts";
import { settingsFileOf } from "../platform/config/samples.ts";
import { whileTimePasses } from "../radius/rows/passing_time.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

export interface OperatorAnswer {
  readonly status: number;
  readonly text: string;
  /** The code of a refusal; `null` for any other response. */
  readonly code: string | null;
}

export interface TestComposition extends Omit<Composition, "openApp" | "close">, AsyncDisposable {
  readonly app: HttpApp;
  readonly config: Config;
  readonly settings: LiveSettings;
  readonly store: Store;
  readonly clock: ManualClock;
  /** Typed calls, like those of commands. */
  readonly api: AdminApi;
  /** A request below the API's path, also one that the typed client refuses to send. */
  ask(method: string, path: string, json?: unknown): Promise<OperatorAnswer>;
  /** From now on the store fails each commit. */
  breakStore(): void;
  /** The audit records, oldest first. */
  audits(): Promise<Record<string, unknown>[]>;
  /** The pairings as a new process reads them. */
  reload(): Promise<Pairings>;
  /** All text in the store, except what the program writes without a request: the counts for charts, and the progress of the ids and of the index of values. */
  dump(): Promise<string>;
}

/**
 * @param toml settings over the defaults.
 * @param options.onCommit receives every transaction before the store does.
 * @param options.dist the built pages, for a browser.
 * @param options.pushNetwork the network for push messages, such as that of a fake push service.
 * @param options.joins the store and the name of one of several nodes; the store stays open.
 */
export async function openComposition(
  toml = "",
  { onCommit, joins, pushNetwork, dist = NO_DIST }: {
    dist?: Dist;
    pushNetwork?: CompositionDeps["pushNetwork"];
    onCommit?: (transaction: Transaction) => void;
    joins?: { readonly kv: Deno.Kv; readonly node: string };
  } = {},
): Promise<TestComposition> {
  const clock = createManualClock();
  const random = createSystemRandom();
  const shared = joins === undefined ? null : new SharedLog({ ...joins, clock, onGap: () => undefined });
  await shared?.reader.start();
  const sound = joins === undefined
    ? createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs })
    : createStore(joins.kv, { nowMs: clock.nowMs, node: joins.node, shared });
  let isBroken = false;
  const commit: Store["commit"] = (transaction) => {
    onCommit?.(transaction);
    return isBroken ? Promise.reject(new Error("disk is full")) : sound.commit(transaction);
  };
  const store: Store = { ...sound, commit, append: appendByCommit(commit) };
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const settings = new LiveSettings({ file: settingsFileOf(toml, VALUE_CHECKS), store, vault, clock, log });
  await settings.load();
  const composition = await compose({
    settings,
    dataDir: { store, vault, shared },
    dist,
    clock,
    random,
    log,
    startedMs: clock.nowMs(),
    generatedSecret: "unused",
    passwordCost: { costLog2: 4 },
    radiusListeners: [],
    isHttpServing: () => false,
    pushNetwork,
  });
  const app = await composition.openApp();
  return {
    ...composition,
    ...{ app, store, clock, settings, config: settings.config },
    api: operatorApi(app),
    ask: (method, path, json) => askOperator(app, { method, path, json }),
    breakStore: () => void (isBroken = true),
    async audits() {
      const records = await Array.fromAsync(store.list<Record<string, unknown>>(["audit"]));
      return records.flatMap(({ value }) => value === null ? [] : [value]);
    },
    async reload() {
      const pairings = new Pairings({
        store,
        vault,
        clock,
        random,
        target: settings.config.radius.directory,
      });
      await pairings.load();
      return pairings;
    },
    async dump() {
      const entries = await Array.fromAsync(store.list<unknown>([]));
      return entries.filter(({ key: [first, second] }) => !isOfStart(String(first), String(second)))
        .map(({ key, value }) => Deno.inspect([key, value], { depth: 9 })).join("\n");
    },
    async [Symbol.asyncDispose]() {
      // A lease that is being taken waits for its time.
      await whileTimePasses(clock, composition.close());
      if (joins === undefined) await store.close();
    },
  };
}

/** Whether each start writes such an entry: a task, or the keys of web push. */
function isOfStart(first: string, second: string): boolean {
  return /^chart/.test(first) ||
    (first === "embedded" && second === "push_keys");
}

/** Typed calls of an application's operator API. */
export function operatorApi(
  { answerControlSocket }: Pick<HttpApp, "answerControlSocket">,
): AdminApi {
  return hc<ConsoleApi>(`http://localhost${CONSOLE_API_PATH}`, {
    fetch: (input: URL | RequestInfo, init?: RequestInit) => answerControlSocket(new Request(input, init)),
  });
}

/** One request of the operator, with an optional JSON body. */
export async function askOperator(
  { answerControlSocket }: Pick<HttpApp, "answerControlSocket">,
  { method, path, json }: { method: string; path: string; json?: unknown },
): Promise<OperatorAnswer> {
  const body = json === undefined
    ? {}
    : { body: JSON.stringify(json), headers: { "content-type": "application/json" } };
  const url = `http://localhost${CONSOLE_API_PATH}${path}`;
  const response = await answerControlSocket(new Request(url, { method, ...body }));
  const text = await response.text();
  return { status: response.status, text, code: response.ok ? null : JSON.parse(text).error.code };
}

/** The code of the refusal; `null` if the call was answered with a value. */
export async function refusalCode<T>(
  call: Promise<{ ok: boolean; json(): Promise<T> }>,
): Promise<string | null> {
  try {
    await apiValue(call);
    return null;
  } catch (fault) {
    if (fault instanceof AdminRefusal) return fault.code;
    throw fault;
  }
}
