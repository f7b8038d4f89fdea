// Alerts over a store in memory, with a clock that a test moves, a mail queue that stores its mails, and a receiver of webhooks.

import { AlertService } from "../../../platform/alerts/alerts.ts";
import { RECEIVER_DEFAULTS, type ReceiverSettings } from "../../../platform/alerts/alert_kinds.ts";
import type { AlertSettings, ObservedState } from "../../../platform/alerts/alert_rules.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { type Cluster } from "../../../platform/cluster/cluster.ts";
import { NO_LEASE } from "../../../platform/cluster/lease.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import { createLog } from "../../../platform/log.ts";
import { WebhookSender } from "../../../platform/log_export/webhook_sender.ts";
import { type Clock, createSystemRandom } from "../../../platform/runtime.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { createFakeMailQueue, type FakeMailQueue } from "../../fakes/mail_queue.ts";
import { createManualClock, eventually, type ManualClock } from "../../upstream/manual_clock.ts";

/** How often the service runs. */
export const RUN_MS = 2000;
export const BY = { actor: "owner", source: "192.0.2.1" };

export interface Webhook {
  readonly id: string;
  readonly body: {
    readonly type: string;
    readonly text: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

export interface AlertWorld extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly mail: FakeMailQueue;
  readonly service: AlertService;
  readonly settings: { -readonly [Name in keyof AlertSettings]: AlertSettings[Name] };
  /** The webhooks that were accepted. */
  readonly webhooks: Webhook[];
  /** What the receiver of webhooks answers. */
  answer: (request: Request) => Promise<Response>;
  /** What is observed now. */
  states: ObservedState[] | Error;
  /** How many requests arrived. */
  requests(): number;
  /** Nothing runs any more. */
  kill(): void;
  receive(name: string, settings?: Partial<ReceiverSettings>): Promise<void>;
  record(action: AuditAction, user: string, details?: object): Promise<void>;
  /** Runs the service once for each so many milliseconds. */
  run(forMs?: number, stepMs?: number): Promise<void>;
}

export interface AlertWorldOptions {
  readonly kv?: Deno.Kv;
  readonly store?: Store;
  readonly clock?: ManualClock;
  readonly cluster?: Pick<Cluster, "list" | "openLease">;
}

/** Accepts every webhook. */
const ACCEPT = () => Promise.resolve(new Response(null, { status: 204 }));

export async function openAlertWorld(options: AlertWorldOptions = {}): Promise<AlertWorld> {
  const clock = options.clock ?? createManualClock();
  const store = options.store ??
    createStore(options.kv ?? await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const mail = createFakeMailQueue(store);
  const random = createSystemRandom();
  const webhooks: Webhook[] = [];
  let requests = 0;
  let [isIdle, isDead] = [false, false];
  /** The service waits so long between two runs. */
  const watched: Clock = {
    nowMs: clock.nowMs,
    after(delayMs, task) {
      if (delayMs !== RUN_MS) return clock.after(delayMs, task);
      isIdle = true;
      return clock.after(delayMs, () => {
        isIdle = false;
        if (!isDead) task();
      });
    },
  };
  const fetch: Fetch = async (url, init) => {
    requests++;
    const request = new Request(url, init);
    const aborted = new Promise<Response>((_resolve, reject) => {
      request.signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    });
    const response = await Promise.race([world.answer(request), aborted]);
    if (response.ok) {
      webhooks.push({ id: request.headers.get("webhook-id") ?? "", body: JSON.parse(await request.text()) });
    }
    return response;
  };
  const settings = { enabled: true, spikeCount: 20, spikeFactor: 3, failingMs: 300_000, perHour: 30 };
  const service = new AlertService({
    ...{ store, mail, random, clock: watched, nodeName: "gate" },
    vault: createVault(new Uint8Array(32).fill(7), random),
    log: createLog({ format: "text", level: "error", clock, write: () => undefined }),
    cluster: options.cluster ??
      { list: () => [], openLease: () => ({ ...NO_LEASE, claim: () => Promise.resolve(true) }) },
    webhooks: new WebhookSender({ fetch, clock, random }),
    config: { alerts: settings, http: { publicUrl: "https://login.example.com" } },
    mayDeliver: () => true,
  });
  const world: AlertWorld = {
    ...{ store, clock, mail, service, settings, webhooks },
    answer: ACCEPT,
    states: [],
    requests: () => requests,
    kill: () => void (isDead = true),
    async receive(name, given = {}) {
      const kind = given.kind ?? "webhook";
      const addresses = kind === "mail" ? ["ops@example.com"] : [];
      const url = kind === "mail" ? "" : "https://hooks.example.com/token";
      const all = { ...RECEIVER_DEFAULTS, addresses, ...given, kind };
      await service.receivers.create(name, { settings: all, secrets: { url } }, BY);
    },
    async record(action, user, details = {}) {
      await store.commit({
        mutations: [auditEntry({ action, actor: "radius", object: `user:${user}`, ...details })],
      });
    },
    async run(forMs = RUN_MS, stepMs = RUN_MS) {
      for (let passedMs = 0; passedMs < forMs; passedMs += stepMs) {
        clock.advance(stepMs);
        await eventually("the run ended", () => isIdle, { withinMs: 5000 });
      }
    },
    async [Symbol.asyncDispose]() {
      await service.close();
      if (options.store === undefined) await store.close();
    },
  };
  service.observe(() =>
    world.states instanceof Error ? Promise.reject(world.states) : Promise.resolve(world.states)
  );
  await service.start();
  await world.run();
  return world;
}

/** A part that fails. */
export function failing(about: string, state: ObservedState["state"] = "bad"): ObservedState {
  const values = { name: about, detail: "Connection refused" };
  return { kind: "backend_failing", severity: "critical", about: `backend:${about}`, state, values };
}

/** Waits until so many webhooks arrived. */
export async function webhooksOf(world: AlertWorld, count: number): Promise<readonly Webhook[]> {
  await eventually(
    `${count} webhooks arrive, now ${world.webhooks.length}`,
    () => world.webhooks.length >= count,
  );
  return world.webhooks;
}

/** The types of the webhooks that arrived. */
export const typesOf = ({ webhooks }: AlertWorld) => webhooks.map(({ body }) => body.type);

/** How many messages wait in the store. */
export async function pendingOf({ store }: AlertWorld): Promise<number> {
  return (await Array.fromAsync(store.list(["alert_pending"]))).length;
}

/** Such a world with the receiver "chat". */
export async function openChatWorld(): Promise<AlertWorld> {
  const world = await openAlertWorld();
  await world.receive("chat");
  return world;
}
