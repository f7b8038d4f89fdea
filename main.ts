// The server: settings → store → listeners → services → shutdown. `compose.ts` builds the services.

import { printFaults, VALUE_CHECKS } from "./cli/check_config.ts";
import { compose, type Composition, VERSION } from "./compose.ts";
import { LiveSettings, readLifetimes } from "./platform/config/live_settings.ts";
import { socketAddressText } from "./platform/addresses.ts";
import { controlSocketPath } from "./platform/config/validate.ts";
import { loadConfig, reload } from "./platform/config/load.ts";
import { settingsFileMode } from "./platform/config/list_settings.ts";
import { loadDist } from "./console/assets.ts";
import { restartReason } from "./console/api/health/readiness.ts";
import { followRanges, type HttpApp } from "./platform/http/http_server.ts";
import { serveHttp } from "./platform/http/http_listener.ts";
import { reportStart, unsignedNotes } from "./platform/banner.ts";
import { answerBackups } from "./platform/backup/server_backup.ts";
import { type LifetimeSettings, lifetimesOf } from "./platform/backup/expiry.ts";
import { listenControl } from "./platform/control_listener.ts";
import { type DataDir, loadSharedSecret, openDataDir } from "./platform/data_dir.ts";
import {
  checkArguments,
  logUnhandledErrors,
  onReloadSignal,
  reserveInspectorPort,
  waitForStopSignal,
} from "./platform/process.ts";
import { createSingleFlight } from "./platform/semaphore.ts";
import { ServiceManager } from "./platform/service_manager.ts";
import { openTlsListener, type TlsListener } from "./platform/tls_listener.ts";
import { listenRadius } from "./platform/udp_listener.ts";
import { startAuditIndex } from "./platform/audit_names.ts";
import { startStoreHeartbeat } from "./platform/store.ts";
import { RADIUS_PROTOCOLS } from "./radius/protocol/radius_tls.ts";
import { createLog, faultMessage, wholeWrites } from "./platform/log.ts";
import { createSystemRandom, systemClock, withTimeout } from "./platform/runtime.ts";
import { startRollingUpgrade, type UpgradeDeps, upgradeStore } from "./platform/upgrade/upgrade.ts";
import { backUpBeforeUpgrade } from "./platform/upgrade/upgrade_backup.ts";

const GAP =
  "This node was cut off from the store for more than ten minutes and missed changes of other nodes. Start it again.";
/** The time that requests in progress have after SIGTERM. */
const DRAIN_MS = 10_000;
/** Several times what a busy store needs for the last commits. systemd kills a service 90 s after the stop signal. */
const CLOSE_MS = 10_000;

/** RADIUS answers its first packets meanwhile. */
const LOAD_DELAY_MS = 10;

checkArguments();

const clock = systemClock;
const random = createSystemRandom();

const load = () =>
  loadConfig({
    env: Deno.env.get,
    readTextFile: Deno.readTextFileSync,
    fileMode: (path) => settingsFileMode(Deno.statSync(path)),
    cwd: Deno.cwd(),
    ...VALUE_CHECKS,
  });
const loaded = load();
if (!loaded.ok) fail(printFaults(loaded.faults));
const { config: startConfig, settingsFile } = loaded;
const startedMs = clock.nowMs();

const log = createLog({
  format: startConfig.server.logFormat,
  level: startConfig.server.logLevel,
  clock,
  write: wholeWrites(Deno.stderr),
});
logUnhandledErrors(log);
const manager = new ServiceManager({ env: Deno.env.get, clock, random, log });

await start().catch(async (fault: unknown) => {
  await log.flush();
  const message = faultMessage(fault);
  fail(message.startsWith("Cannot ") ? message : `Cannot start: ${message}`);
});

function fail(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message.trimEnd()}\n`));
  Deno.exit(1);
}

/** Starts everything in order, serves until a stop signal, and stops everything. */
async function start(): Promise<void> {
  const dist = await loadDist(new URL("console/dist", import.meta.url));
  let auditRetentionMs = () => startConfig.console.auditRetentionMs;
  const dataDir = await openDataDir(startConfig.server.dataDir, {
    random,
    clock,
    onLost: () => log.error("the store does not answer: RADIUS stays silent until it does"),
    onReopened: () => log.info("the store answers again"),
    onGap: () => void log.flush().finally(() => fail(GAP)),
    onOutdated: (problem) => void log.flush().finally(() => fail(problem)),
    masterKeyHex: Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "",
    auditRetentionMs: () => auditRetentionMs(),
    kvUrl: startConfig.store.kv,
  });
  const upgrade = upgradeOf(dataDir, await readLifetimes(dataDir.kv, settingsFile));
  if (dataDir.shared === null) await upgradeStore(upgrade);
  const settings = new LiveSettings({ file: settingsFile, ...dataDir, clock, log });
  const { config } = settings;
  auditRetentionMs = () => config.console.auditRetentionMs;
  const adjustLog = () => log.adjust({ format: config.server.logFormat, level: config.server.logLevel });
  settings.onChange(adjustLog);
  await settings.load();
  if (settings.startProblem !== null) throw new Error(settings.startProblem);
  const sockets = listenRadius(config.radius, log);
  const releaseInspector = reserveInspectorPort({ clock, log });
  const app = Promise.withResolvers<HttpApp>();
  const listener = await serveHttp({
    ...config.http,
    ...{ app: app.promise, log, clock, isProxy: followRanges(settings) },
    onGiveUp: (message) => void log.flush().finally(() => fail(message)),
  });
  // Links contain the port, so nothing may create one before the port is known.
  settings.bindPort(listener.address.port);
  // Also with a secret in the settings, because the console may remove it.
  const generated = config.radius.clients.length === 0 ? await loadSharedSecret(dataDir, random) : null;
  const composition = await compose({
    ...{ settings, dataDir, dist, clock, random, log, startedMs },
    // With clients, no request uses it.
    generatedSecret: generated?.secret ?? "unused",
    radiusListeners: [
      ...sockets.authentication.map(({ address }) => socketAddressText(address)),
      ...config.radius.tls.listen.map((address) => `${socketAddressText(address)} TLS`),
    ],
    isHttpServing: () => listener.isServing(),
  });
  const { cluster } = composition;
  const endUpgrade = cluster.isShared
    ? startRollingUpgrade({ ...upgrade, cluster })
    : () => Promise.resolve();
  const tlsListener = await listenRadiusTls(settings, composition);
  const stopHeartbeat = startStoreHeartbeat({ store: dataDir.store, clock, log });
  const stopIndex = startAuditIndex({ store: dataDir.store, clock, log });
  const generatedSecret = config.radius.secret === "" ? generated?.secret ?? null : null;
  await serve({ settings, composition, dataDir, sockets, tlsListener, app, listener, generatedSecret });
  stopHeartbeat();
  stopIndex();
  releaseInspector();
  // The requests in progress are finished. What a store that does not answer has not committed was not answered either.
  const closing = endUpgrade().then(() => composition.close()).then(() => dataDir.close()).then(
    () => true,
    () => false,
  );
  const closed = await withTimeout(closing, { clock, timeoutMs: CLOSE_MS });
  if (closed.inTime && closed.value) log.info("stopped");
  else log.warn("stopped while the store did not answer");
  await log.flush();
  Deno.exit(0);
}

/** What an upgrade of the store needs. */
function upgradeOf(dataDir: DataDir, lifetimes: LifetimeSettings): UpgradeDeps {
  const { kv, shared, path } = dataDir;
  const backup = { kv, isShared: shared !== null, dataDir: path, setting: startConfig.store.upgradeBackup };
  return {
    ...{ ...dataDir, lifetimes, clock, log },
    backUp: (readBy, signal) =>
      backUpBeforeUpgrade({ ...backup, version: VERSION, lifetimes, clock, log }, { readBy, signal }),
  };
}

/** Accepts the TLS connections of RADIUS clients; `null` without `radius.tls_listen`. */
async function listenRadiusTls(
  { config: { radius: { tls } } }: LiveSettings,
  { radius: { radsec } }: Composition,
): Promise<TlsListener | null> {
  if (tls.listen.length === 0) return null;
  const listener = await openTlsListener({
    ...{ listen: tls.listen, files: tls, clock, log, protocols: RADIUS_PROTOCOLS },
    settings: {
      listen: "radius.tls_listen",
      cert: "radius.tls_cert",
      key: "radius.tls_key",
      ca: "radius.tls_ca",
    },
    mayConnect: (source) => radsec.mayConnect(source),
    isNamed: (source) => radsec.isNamed(source),
    onPeer: (stream) => radsec.accept(stream),
    onRefused: (refused) => radsec.refused(refused),
    onAuthoritiesChange: () => radsec.verifyAgain(),
  });
  radsec.show(listener);
  return listener;
}

interface Serving {
  readonly settings: LiveSettings;
  readonly composition: Composition;
  readonly dataDir: DataDir;
  readonly sockets: ReturnType<typeof listenRadius>;
  readonly tlsListener: TlsListener | null;
  readonly app: PromiseWithResolvers<HttpApp>;
  readonly listener: Awaited<ReturnType<typeof serveHttp>>;
  readonly generatedSecret: string | null;
}

/** Serves RADIUS, HTTP and the control socket until a stop signal, then finishes the requests in progress. */
async function serve(
  { settings, composition, dataDir, sockets, tlsListener, app, listener, generatedSecret }: Serving,
): Promise<void> {
  const { config, warnings } = settings;
  const { radius, admins } = composition;
  const serving = [
    ...sockets.authentication.map(({ socket }) => radius.server.serve(socket)),
    ...sockets.accounting.map(({ socket }) => radius.server.serve(socket, "accounting")),
  ];
  // Packets that wait are answered before the modules of the console are loaded.
  await new Promise<void>((resolve) => void clock.after(LOAD_DELAY_MS, resolve));
  const httpApp = await composition.openApp();
  const control = await listenControl({
    path: controlSocketPath(config),
    answer: answerBackups({
      ...dataDir,
      clock,
      settings: lifetimesOf(config),
      log,
    }, httpApp.answerControlSocket),
    ...{ log, clock },
  });
  const setupLink = await admins.setupLink();
  app.resolve(httpApp);
  // Before the report: a supervisor may stop the gateway as soon as it reads that it is ready.
  const stopSignal = waitForStopSignal(clock);
  // The generated secret has no effect if there is a client, including one of the console.
  const hasClients = radius.register.list().length > 0;
  await reportStart({
    ...{ config, warnings, log, sockets, http: listener.address, setupLink, hasClients },
    tls: tlsListener?.addresses ?? [],
    generatedSecret: hasClients ? null : generatedSecret,
    notes: unsignedNotes(radius.register.unsigned().map(({ name }) => name)),
  });
  const addresses = sockets.authentication.map(({ address }) => socketAddressText(address)).join(", ");
  const status = `Serving RADIUS on ${addresses}, console at ${config.http.publicUrl}`;
  await manager.ready(status);
  manager.watch(() => restartReason(composition.readiness()));
  const singleFlight = createSingleFlight<void>();
  const ignoreReload = onReloadSignal(() =>
    void singleFlight(() =>
      reload({ settings, log, load, manager, status, http: listener, tls: tlsListener })
    )
  );
  await stopSignal;
  ignoreReload();
  await manager.stopping();
  log.info("stopping: finishing requests in progress");
  tlsListener?.close();
  // All three refuse new requests at once.
  await Promise.all([
    control.close(),
    radius.server.stop(DRAIN_MS),
    listener.stop({ deadlineMs: DRAIN_MS }),
  ]);
  radius.radsec.stop();
  await Promise.all(serving);
}
