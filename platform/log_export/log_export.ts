// The log export: the deliveries to its destinations, and their state. With several nodes, one node delivers (a lease); every node can change and
// show the destinations.

import { auditEntry } from "../audit.ts";
import type { CallProblem } from "../call_fault.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Fetch, openHttpClient } from "../fetch_with_deadline.ts";
import type { Log } from "../log.ts";
import { hostName } from "../process.ts";
import { type Clock, type Random, withTimeout } from "../runtime.ts";
import { type RowActor, UNREADABLE_ROW } from "../sealed_rows.ts";
import type { Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import { WorkLoop } from "../work_loop.ts";
import { Delivery } from "./delivery.ts";
import {
  addressOf,
  type DestinationCursor,
  type DestinationRecord,
  DestinationStore,
} from "./destination.ts";
import {
  DESTINATION_DEFAULTS,
  type DestinationSecrets,
  type DestinationSettings,
  type WebhookFormat,
} from "./destination_choices.ts";
import { type EcsRecord, type ExportedLogin, type Observer, toEcsRecord } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel } from "./log_channel.ts";
import type { NodeMark, StoredRecord } from "./record_reader.ts";
import { type ConnectTls, type DatagramSender, SyslogTlsChannel, SyslogUdpChannel } from "./syslog.ts";
import { WebhookChannel, WebhookSender } from "./webhook_sender.ts";

interface LogExportDeps extends ChannelHost {
  readonly store: Store;
  readonly vault: Vault;
  readonly random: Random;
  readonly log: Log;
  readonly cluster: Pick<Cluster, "isShared" | "list" | "openLease">;
  readonly observer: Observer;
  /** Whether this process is a running gateway. A command delivers nothing. */
  readonly mayDeliver: () => boolean;
  /** How long audit records are stored. */
  readonly retentionMs: () => number;
  /** The history entry of a login. */
  readonly login: {
    readonly keyOf: (conversation: string) => Deno.KvKey;
    readonly read: (value: unknown) => ExportedLogin | null;
  };
}

/** A destination as administrators see it: no secret. */
export interface DestinationStatus {
  readonly name: string;
  readonly settings: DestinationSettings;
  readonly address: string;
  readonly hasPrivateKey: boolean;
  readonly hasAuthorization: boolean;
  readonly createdMs: number;
  readonly version: number;
  readonly sent: number;
  readonly skipped: number;
  readonly backlog: number;
  readonly oldestMs: number | null;
  readonly lastSentMs: number | null;
  readonly problem: DestinationCursor["problem"];
}

/** The result of a test record. */
export type TestOutcome =
  | { readonly ok: true; readonly tookMs: number }
  | { readonly ok: false; readonly code: CallProblem; readonly detail: string };

/** What is shown of a destination whose stored settings cannot be read. */
const UNREADABLE_DESTINATION = {
  settings: { ...DESTINATION_DEFAULTS, kind: "webhook" },
  createdMs: 0,
  version: 0,
} as const satisfies Omit<DestinationRecord, "sealed">;

/** How often a node checks whether it must deliver. */
const CHECK_MS = 2000;
/** How long a stop waits for announcements. */
const CLOSE_MS = 3000;

/** A record that is sent outside of the delivery. */
interface SentNow {
  readonly name: string;
  readonly record: DestinationRecord;
  readonly action: "log_export.test" | "log_export.change" | "log_export.pause" | "log_export.remove";
  readonly by: RowActor;
}

export class LogExport {
  readonly #deps: LogExportDeps;
  readonly #lease: ReturnType<Cluster["openLease"]>;
  readonly #running = new Map<string, { readonly record: DestinationRecord; readonly delivery: Delivery }>();
  readonly #http: { readonly fetch: Fetch; readonly close: () => void };
  readonly destinations: DestinationStore;
  /** Sends webhooks, also those of other parts. */
  readonly webhooks: WebhookSender;
  readonly #announcing = new Set<Promise<void>>();
  readonly #loop: WorkLoop;

  constructor(deps: LogExportDeps) {
    this.#deps = deps;
    this.#http = deps.openHttp("");
    this.webhooks = new WebhookSender({ ...deps, fetch: this.#http.fetch });
    this.destinations = new DestinationStore({
      ...deps,
      marks: () => this.#marks(),
      onChange: () => this.#loop.wake(),
    });
    this.#lease = deps.cluster.openLease("log_export", {
      onAcquired: () => Promise.resolve(),
      onLost: () => void this.#stopAll(),
    });
    this.#loop = new WorkLoop({
      clock: deps.clock,
      intervalMs: CHECK_MS,
      pass: () => this.#reconcile(),
      onFault: (fault) => deps.log.error("the log export cannot use the store", { fault: String(fault) }),
    });
  }

  /** Loads the destinations, and delivers from now on. */
  async start(): Promise<void> {
    await this.destinations.load();
    this.#loop.wake();
  }

  async list(): Promise<DestinationStatus[]> {
    const { names } = this.destinations;
    return (await Promise.all(names.map((name) => this.find(name)))).filter((one) => one !== null);
  }

  async find(name: string): Promise<DestinationStatus | null> {
    const record = this.destinations.all.get(name);
    if (record === undefined && !this.destinations.has(name)) return null;
    const cursor = this.#running.get(name)?.delivery.state ?? await this.destinations.cursorOf(name);
    const { settings, createdMs, version } = record ?? UNREADABLE_DESTINATION;
    const secrets = record === undefined ? null : this.destinations.secretsOf(name, record);
    const damage = { code: "bad_settings", detail: UNREADABLE_ROW, sinceMs: createdMs } as const;
    return {
      ...{ name, settings, createdMs, version },
      address: addressOf(settings),
      hasPrivateKey: (secrets?.privateKey ?? "") !== "",
      hasAuthorization: (secrets?.authorization ?? "") !== "",
      sent: cursor?.sent ?? 0,
      skipped: cursor?.skipped ?? 0,
      backlog: cursor?.backlog.count ?? 0,
      oldestMs: cursor?.backlog.oldestMs ?? null,
      lastSentMs: cursor?.lastSentMs ?? null,
      problem: secrets === null ? damage : cursor?.problem ?? null,
    };
  }

  /** Sends a record that says that it is a test, from this node. `null`: there is no such destination. */
  async test(name: string, by: RowActor): Promise<TestOutcome | null> {
    const record = this.destinations.all.get(name);
    if (record === undefined) return null;
    const { clock, store } = this.#deps;
    const action = "log_export.test";
    await store.commit({ mutations: [this.destinations.audit(name, by, { action })] });
    const startedMs = clock.nowMs();
    const fault = await this.#sendNow({ name, record, action, by });
    if (fault === null) return { ok: true, tookMs: clock.nowMs() - startedMs };
    if (fault instanceof ChannelFault) return { ok: false, code: fault.code, detail: fault.message };
    return { ok: false, code: "bad_settings", detail: "the settings cannot be used" };
  }

  /**
   * Sends a destination at once that it was paused, changed or removed: its own delivery may not send the audit record any more, and an attacker
   * could hide behind the change. Does not wait, and is not repeated.
   *
   * @param record the destination before the change
   */
  announce(name: string, { record, action, by }: Omit<SentNow, "name">): void {
    if (record.settings.isPaused || this.#loop.isClosed) return;
    const sending = this.#sendNow({ name, record, action, by }).then((fault) => {
      if (fault === null) return;
      this.#deps.log.warn("a destination could not be told about its change", { destination: name, action });
    });
    this.#announcing.add(sending);
    void sending.finally(() => this.#announcing.delete(sending));
  }

  /** Sends one record outside of the delivery. Returns why it failed. */
  async #sendNow({ name, record, action, by: { actor, source } }: SentNow): Promise<unknown> {
    const { clock, observer, store } = this.#deps;
    const value = { atMs: clock.nowMs(), action, actor, source, object: `log-export:${name}` };
    const id = `${store.auditMark()}-${action.split(".")[1]}`;
    let channel: LogChannel | null = null;
    try {
      channel = this.#openChannel(name, record, "log-export-test");
      const isStopped = () => this.#loop.isClosed;
      await channel.send([toEcsRecord({ id, value }, { observer })], { leavesOutRefused: false, isStopped });
      await channel.confirm();
      return null;
    } catch (fault) {
      return fault;
    } finally {
      channel?.close();
    }
  }

  /** Ends the deliveries. What is not confirmed is sent again after the next start. */
  async close(): Promise<void> {
    await this.#loop.close();
    await this.#stopAll();
    const announced = Promise.all(this.#announcing);
    await withTimeout(announced, { clock: this.#deps.clock, timeoutMs: CLOSE_MS });
    await this.webhooks.close();
    this.#http.close();
  }

  /** Runs a delivery for each destination if this node has the lease. */
  async #reconcile(): Promise<void> {
    const { all } = this.destinations;
    if (all.size === 0 && this.#running.size === 0) return;
    if (!this.#deps.mayDeliver() || !await this.#lease.claim()) return;
    for (const [name, { record: { createdMs, version }, delivery }] of [...this.#running]) {
      const now = all.get(name);
      if (now?.createdMs === createdMs && now.version === version) continue;
      this.#running.delete(name);
      // The position of a destination that was removed belongs to no other one with its name.
      await delivery.stop({ keepsPosition: now?.createdMs === createdMs });
      if (now === undefined) await this.destinations.removeCursor(name);
    }
    for (const [name, record] of all) {
      if (this.#running.has(name) || this.#loop.isClosed) continue;
      const cursor = await this.destinations.cursorOf(name);
      if (cursor === null) continue;
      const delivery = this.#deliveryOf(name, record, cursor);
      this.#running.set(name, { record, delivery });
      delivery.start();
    }
  }

  #deliveryOf(name: string, record: DestinationRecord, cursor: DestinationCursor): Delivery {
    return new Delivery({
      ...this.#deps,
      ...{ name, lease: this.#lease, settings: record.settings },
      marks: () => this.#marks(),
      openChannel: () => this.#openChannel(name, record, "log-export"),
      toFields: (records) => this.#toFields(records),
      onLost: () => void this.#running.delete(name),
    }, cursor);
  }

  async #stopAll(): Promise<void> {
    const running = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(running.map(({ delivery }) => delivery.stop({ keepsPosition: true })));
  }

  /** What the nodes say. */
  #marks(): NodeMark[] {
    return this.#deps.cluster.list().map(
      ({ node, isAlive, auditMark: mark, firstAuditMark: firstMark }) => ({ node, isAlive, mark, firstMark }),
    );
  }

  #openChannel(name: string, record: DestinationRecord, purpose: string): LogChannel {
    const secrets = this.destinations.secretsOf(name, record);
    if (secrets === null) throw new ChannelFault("bad_settings", UNREADABLE_ROW);
    const { settings } = record;
    return openChannel({ ...this.#deps, sender: this.webhooks }, {
      id: `${purpose}:${name}`,
      settings,
      secrets,
    });
  }

  /** The fields of records, with the history entries of their logins. */
  async #toFields(records: readonly StoredRecord[]): Promise<EcsRecord[]> {
    const { store, observer, login } = this.#deps;
    return await Promise.all(records.map(async (record) => {
      const { action, conversation } = record.value;
      const isLogin = typeof action === "string" && action.startsWith("login.");
      const key = isLogin && typeof conversation === "string" ? login.keyOf(conversation) : null;
      const entry = key === null ? null : login.read((await store.get(key, { near: record.id })).value);
      return toEcsRecord(record, { login: entry, observer });
    }));
  }
}

interface LogExportHost
  extends
    Omit<LogExportDeps, "observer" | "retentionMs" | "connectTls" | "openUdp" | "openHttp">,
    Pick<DropCounterDeps, "counters"> {
  readonly config: { readonly console: { readonly auditRetentionMs: number } };
  readonly version: string;
}

export interface OpenLogExport {
  readonly logExport: LogExport;
  close(): Promise<void>;
}

/** Opens the log export of a gateway, with the sockets of the host. */
export async function openLogExport(host: LogExportHost): Promise<OpenLogExport> {
  const { config, version } = host;
  const logExport = new LogExport({
    ...host,
    observer: { hostName: hostName(), version },
    retentionMs: () => config.console.auditRetentionMs,
    connectTls: (options) => Deno.connectTls(options),
    openUdp: (isIpv6) =>
      Deno.listenDatagram({ transport: "udp", hostname: isIpv6 ? "::" : "0.0.0.0", port: 0 }),
    openHttp: (ca) => openHttpClient({ ca }),
  });
  await logExport.start();
  const stopCounting = startDropCounter({
    ...host,
    isWanted: () => logExport.destinations.wants("drops"),
  });
  return {
    logExport,
    async close() {
      stopCounting();
      await logExport.close();
    },
  };
}

interface DropCounterDeps {
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts since the start; those that begin with `dropped_` are of dropped packets. */
  readonly counters: () => Readonly<Record<string, number>>;
  readonly isWanted: () => boolean;
}

const COUNT_MS = 60_000;
const PREFIX = "dropped_";

/** Records each minute how many RADIUS packets this node dropped, by reason, for the destinations that want it. Returns a function that stops it. */
function startDropCounter({ store, clock, log, counters, isWanted }: DropCounterDeps): () => void {
  let before = counters();
  let cancel = () => {};
  const count = (): void => {
    cancel = clock.after(COUNT_MS, count);
    const now = counters();
    const dropped = Object.entries(now).flatMap(([name, total]) => {
      const more = total - (before[name] ?? 0);
      return name.startsWith(PREFIX) && more > 0 ? [[name.slice(PREFIX.length), more] as const] : [];
    });
    before = now;
    if (dropped.length === 0 || !isWanted()) return;
    const record = auditEntry({
      action: "packets.dropped",
      actor: "radius",
      count: dropped.reduce((sum, [, more]) => sum + more, 0),
      faults: dropped.map(([reason, more]) => `${reason} ${more}`),
    });
    store.commit({ mutations: [record] }).catch((fault: unknown) =>
      log.error("the count of dropped packets could not be recorded", { fault: String(fault) })
    );
  };
  cancel = clock.after(COUNT_MS, count);
  return () => cancel();
}

interface ChannelHost {
  readonly clock: Clock;
  readonly connectTls: ConnectTls;
  readonly openUdp: (isIpv6: boolean) => DatagramSender;
  /** An HTTP client that also accepts other authorities (PEM). */
  readonly openHttp: (ca: string) => { readonly fetch: Fetch; readonly close: () => void };
}

/** Opens the channel of a destination. @param options.id names the receiver of webhooks: {@link WebhookReceiver} */
function openChannel(
  { clock, connectTls, openUdp, openHttp, sender }: ChannelHost & { readonly sender: WebhookSender },
  { id, settings, secrets }: {
    readonly id: string;
    readonly settings: DestinationSettings;
    readonly secrets: DestinationSecrets;
  },
): LogChannel {
  const { kind, url, allowsHttp, ca } = settings;
  const { privateKey, webhookSecret: secret, authorization } = secrets;
  const format = settings.format === "structured_data" ? "structured_data" : "json";
  switch (kind) {
    case "syslog_udp":
      return new SyslogUdpChannel({ open: openUdp, clock }, { ...settings, format });
    case "syslog_tls":
      return new SyslogTlsChannel({ connect: connectTls, clock }, { ...settings, format, privateKey });
    case "webhook":
      return new WebhookChannel({ sender, client: ca === "" ? undefined : openHttp(ca) }, {
        receiver: { id, url, allowsHttp, secret, authorization },
        format: settings.format as WebhookFormat,
      });
  }
}
