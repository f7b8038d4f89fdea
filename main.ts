// The server: settings → store → listeners → services → shutdown. `compose.ts` builds the services.

import { printFaults, replyAttributeProblem } from "./cli/check_config.ts";
import { compose } from "./compose.ts";
import { type ToldSettings, withChosenPort } from "./platform/config/bound_port.ts";
import { createRangeCheck } from "./platform/config/addresses.ts";
import { socketAddressText } from "./platform/socket_address.ts";
import { controlSocketPath } from "./platform/config/validate.ts";
import { loadConfig } from "./platform/config/load.ts";
import { loadDist } from "./console/assets.ts";
import type { HttpApp } from "./console/http.ts";
import { serveHttp } from "./console/listener.ts";
import { announce } from "./platform/announcement.ts";
import { unsignedNotes } from "./platform/banner.ts";
import { listenControl } from "./platform/control_listener.ts";
import { openDataDir, sharedSecret } from "./platform/data_dir.ts";
import { holdInspectorPort } from "./platform/reserve_inspector_port.ts";
import { listenRadius } from "./platform/udp_listener.ts";
import { answerArguments } from "./platform/program_arguments.ts";
import { stopSignal } from "./platform/stop_signal.ts";
import { startHeartbeat } from "./platform/store_heartbeat.ts";
import { logUnhandledErrors } from "./platform/unhandled_errors.ts";
import { createLog, wholeWrites } from "./platform/log.ts";
import { createSystemRandom, systemClock } from "./platform/runtime.ts";

/** How long requests that are under way may still take after SIGTERM. */
const DRAIN_MS = 10_000;

answerArguments();

const clock = systemClock;
const random = createSystemRandom();

const loaded = loadConfig({
  env: Deno.env.get,
  readTextFile: Deno.readTextFileSync,
  fileMode: (path) => Deno.statSync(path).mode,
  cwd: Deno.cwd(),
  checkReplyAttribute: replyAttributeProblem,
});
if (!loaded.ok) fail(printFaults(loaded.faults));
const { warnings } = loaded;
let { config, settings }: ToldSettings = loaded;
const startedMs = clock.nowMs();
const isProxy = createRangeCheck(config.http.trustedProxies);

const log = createLog({
  format: config.server.logFormat,
  level: config.server.logLevel,
  clock,
  write: wholeWrites(Deno.stderr),
});
logUnhandledErrors(log);

await start().catch(async (fault: unknown) => {
  await log.flush();
  const message = fault instanceof Error ? fault.message : String(fault);
  fail(message.startsWith("Cannot ") ? message : `Cannot start: ${message}`);
});

function fail(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message.trimEnd()}\n`));
  Deno.exit(1);
}

/** Starts everything in order, and arranges for the end. */
async function start(): Promise<void> {
  const dist = await loadDist(new URL("console/dist", import.meta.url));
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex: Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "",
    auditKeptMs: config.console.auditKeptMs,
  });
  const sockets = listenRadius(config.radius, log);
  const releaseInspector = holdInspectorPort({ clock, log });
  const app = Promise.withResolvers<HttpApp>();
  const listener = await serveHttp({
    ...config.http,
    app: app.promise,
    log,
    clock,
    isProxy,
    onGiveUp: (message) => void log.flush().finally(() => fail(message)),
  });
  // Links name the port: nothing that makes one may be made before it is known.
  ({ config, settings } = withChosenPort({ config, settings }, listener.address.port));
  const generated = config.radius.clients.length === 0 && config.radius.secret === ""
    ? await sharedSecret(dataDir, random)
    : null;

  const composition = await compose({
    config,
    settings,
    dataDir,
    dist,
    clock,
    random,
    log,
    startedMs,
    anySecret: config.radius.secret || generated?.secret || "unused",
    radiusListeners: sockets.authentication.map(({ address }) => socketAddressText(address)),
    isHttpServing: () => listener.isServing(),
  });
  const { radius, admins } = composition;
  const stopHeartbeat = startHeartbeat({ store: dataDir.store, clock, log });

  const control = await listenControl({
    path: controlSocketPath(config),
    answer: composition.app.answerOperator,
    log,
    clock,
  });
  const setupLink = await admins.setupLink();
  app.resolve(composition.app);
  const serving = [
    ...sockets.authentication.map(({ socket }) => radius.server.serve(socket)),
    ...sockets.accounting.map(({ socket }) => radius.server.serve(socket, "accounting")),
  ];
  // The generated secret opens nothing while there is a client, be it one of the console.
  const hasClients = radius.register.list().length > 0;
  await announce({
    config,
    warnings,
    log,
    sockets,
    http: listener.address,
    setupLink,
    hasClients,
    generatedSecret: hasClients ? null : generated?.secret ?? null,
    notes: unsignedNotes(radius.register.unsigned().map(({ name }) => name)),
  });
  await stopSignal(clock);

  log.info("stopping: requests under way are finished");
  // All three refuse new requests at once.
  await Promise.all([
    control.close(),
    radius.server.stop(DRAIN_MS),
    listener.stop({ deadlineMs: DRAIN_MS }),
  ]);
  await Promise.all(serving);
  stopHeartbeat();
  releaseInspector();
  await composition.close();
  await dataDir.close();
  log.info("stopped");
  await log.flush();
  Deno.exit(0);
}
