// The real gateway in the process of the test: real sockets and HTTP, a store in memory, a fake clock, and fakes of
// both external services or the embedded ones.

import {
  NO_PEERS,
  type Passwords,
  type PeerNodes,
  type SecondFactorService,
  type TelephonyService,
} from "../../../radius/ports.ts";
import { createFakeUserRecords } from "../../fakes/user_records.ts";
import { parse, stringify } from "smol-toml";
import type { Config } from "../../../platform/config/config.ts";
import type { SettingValue } from "../../../platform/config/list_settings.ts";
import { LiveSettings } from "../../../platform/config/live_settings.ts";
import { loadConfig } from "../../../platform/config/load.ts";
import type { SettingChanges } from "../../../platform/config/setting_writer.ts";
import { createLog } from "../../../platform/log.ts";
import { createRadius, type Radius } from "../../../radius/radius.ts";
import { matchTotp, totpAt } from "../../../radius/factors/totp.ts";
import { createSystemRandom, type Random } from "../../../platform/runtime.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { createServices, type ServiceDeps, type Services } from "../../../upstream/services.ts";
import { createVault, type Vault } from "../../../platform/vault.ts";
import { type FakeSecondFactor, startFakeSecondFactor } from "../../fakes/second_factor_server.ts";
import { type FakeTelephony, startFakeTelephony } from "../../fakes/telephony_server.ts";
import { overlay } from "../../support/gateway_settings.ts";
import { openRadiusClient, type RadiusClient } from "../../support/radius_client.ts";
import { createManualClock, type ManualClock } from "../../upstream/manual_clock.ts";
import { createLogin, type Login } from "./login.ts";
import { turn, whileTimePasses } from "./passing_time.ts";
import { createPeopleDirectory, type PeopleDirectory } from "./people_directory.ts";

/** The options of {@link startInProcess}; all are optional. */
export interface InProcessOptions {
  /** Settings as in the operating page, which override those of the test. */
  readonly toml?: string;
  /** The settings are stored by the console, not in a file, so that a test can change them. */
  readonly stored?: boolean;
  /** The embedded services instead of the fakes. */
  readonly embedded?: boolean;
  /** The file of the store; the default is a store in memory. */
  readonly kvPath?: string;
  /** Active users of the directory, without numbers and groups; the default is "anna". */
  readonly users?: readonly string[];
  /** Checks the passwords for `first_factor = "directory"` and `"ldap"`. */
  readonly passwords?: Passwords;
  /** Clock, people and fakes of an earlier gateway, which are reused. */
  readonly after?: InProcess;
  /** The network for push messages of the embedded service. */
  readonly pushNetwork?: ServiceDeps["pushNetwork"];
  /** The other nodes, if several share the store. */
  readonly peers?: PeerNodes;
  /** Wraps a service or the store. */
  readonly between?: {
    readonly secondFactor?: (service: SecondFactorService) => SecondFactorService;
    readonly telephony?: (service: TelephonyService) => TelephonyService;
    readonly store?: (store: Store) => Store;
  };
}

/** A gateway that answers. Declare it with `await using`. */
export interface InProcess extends AsyncDisposable {
  readonly port: number;
  readonly client: RadiusClient;
  readonly clock: ManualClock;
  readonly config: Config;
  readonly settings: LiveSettings;
  readonly radius: Radius;
  readonly people: PeopleDirectory;
  readonly kv: Deno.Kv;
  /** A test may replace `commit` and `append` while the gateway runs. */
  readonly store: Store;
  readonly vault: Vault;
  readonly services: Services;
  readonly secondFactor: FakeSecondFactor;
  readonly telephony: FakeTelephony;
  /** A login with a NAS-Port that no other login has. */
  login(who: Parameters<typeof createLogin>[1]): Login;
  /** Such a login whose first packet was answered. */
  begin(who: Parameters<typeof createLogin>[1], password?: string): Promise<Login>;
  /** A client with another source port. */
  newClient(secret?: string): RadiusClient;
  /** All log lines so far. */
  logLines(): Promise<readonly string[]>;
  /** Stops it; requests in progress have `drainMs` (default 0) to finish. The fakes stay for another gateway. */
  stop(drainMs?: number): Promise<void>;
}

/** The shared secret of any client address, unless a test has its own clients. */
export const SECRET = "a-secret-of-the-tests";
const MASTER_KEY = new Uint8Array(32).fill(9);
let nasPorts = 1000;

/** Starts a gateway on a free port of the loopback address. */
export async function startInProcess(options: InProcessOptions = {}): Promise<InProcess> {
  const clock = options.after?.clock ?? createManualClock();
  const secondFactor = options.after?.secondFactor ?? await startFakeSecondFactor();
  const telephony = options.after?.telephony ?? await startFakeTelephony();
  const random = createSystemRandom();
  const kv = await Deno.openKv(options.kvPath ?? ":memory:");
  const plainStore = createStore(kv, { nowMs: () => clock.nowMs() });
  const behind = { ...options.between?.store?.(plainStore) ?? plainStore };
  // Parts of the gateway copy the functions of the store, and a test replaces some later.
  const store: Store = {
    ...behind,
    commit: (transaction) => behind.commit(transaction),
    append: (line, listener) => behind.append(line, listener),
  };
  const vault = createVault(MASTER_KEY, random);
  const settings = await openSettings(options, { ...{ store, vault, clock }, secondFactor, telephony });
  const { config } = settings;
  const parts = { config, settings, store, vault, clock, random };
  const { services, radius, people, lines } = await assemble(parts, options);

  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { port } = socket.addr as Deno.NetAddr;
  const serving = radius.server.serve(socket);
  const client = openRadiusClient({ port, secret: secretOf(config) });
  let stopped: Promise<void> | null = null;
  const end = async (drainMs: number): Promise<void> => {
    await radius.server.stop(drainMs);
    await serving;
    // The last replies are in transit to the client.
    for (let count = 0; count < 3; count++) await turn();
    client.close();
    radius.close();
    await services.close();
    await store.close();
  };
  const stop = (drainMs = 0) => stopped ??= whileTimePasses(clock, end(drainMs));
  const login: InProcess["login"] = (who) => createLogin({ client, clock }, { nasPort: nasPorts++, ...who });
  return {
    ...{
      port,
      client,
      clock,
      config,
      settings,
      radius,
      people,
      kv,
      store: behind,
      vault,
      services,
      secondFactor,
      telephony,
    },
    login,
    async begin(who, password) {
      const begun = login(who);
      await begun.start(password);
      return begun;
    },
    newClient: (secret = secretOf(config)) => openRadiusClient({ port, secret }),
    logLines: lines,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      if (options.after === undefined) await Promise.all([secondFactor.close(), telephony.close()]);
    },
  };
}

/** The parts, connected as in main.ts. */
async function assemble(
  parts: {
    config: Config;
    settings: LiveSettings;
    store: Store;
    vault: Vault;
    clock: ManualClock;
    random: Random;
  },
  { between = {}, passwords, after, peers = NO_PEERS, users = ["anna"], pushNetwork }: InProcessOptions,
) {
  const { config, settings, clock } = parts;
  const written: string[] = [];
  const log = createLog({
    format: config.server.logFormat,
    level: config.server.logLevel,
    clock,
    write: (octets) => {
      written.push(...new TextDecoder().decode(octets).trimEnd().split("\n"));
      return Promise.resolve();
    },
  });
  settings.onChange(() => log.adjust({ format: config.server.logFormat, level: config.server.logLevel }));
  const people = after?.people ?? createPeopleDirectory();
  if (after === undefined) {
    for (const userName of users) {
      await people.put(userName, { userName, active: true, phoneNumbers: [], groups: [] });
    }
  }
  const services = await createServices({
    ...parts,
    totp: { at: totpAt, match: matchTotp },
    findUserRecord: createFakeUserRecords().find,
    userAgent: "Countersign/test",
    pushNetwork,
    onBug(fault) {
      throw fault;
    },
  });
  settings.onChange(() => services.applySettings());
  const radius = await createRadius({
    ...parts,
    onSettingsChange: (listener) => settings.onChange(listener),
    log,
    directory: people.directory,
    peers,
    ...(passwords === undefined ? {} : { passwords }),
    secondFactor: between.secondFactor?.(services.secondFactor) ?? services.secondFactor,
    telephony: between.telephony?.(services.telephony) ?? services.telephony,
    generatedSecret: config.radius.secret,
    openSocket: (hostname) => Deno.listenDatagram({ transport: "udp", hostname, port: 0 }),
  });
  services.embedded?.admin.onPaired(({ pairingId, userName, totpLength, name }) =>
    radius.pairings.addDevice({ id: pairingId, userName, totpLength, name })
  );
  const lines = async () => {
    await log.flush();
    return written;
  };
  return { services, radius, people, lines };
}

interface SettingParts {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: ManualClock;
  readonly secondFactor: FakeSecondFactor;
  readonly telephony: FakeTelephony;
}

/** The settings of the test: from a file, or as the console stored them. */
async function openSettings(
  { toml = "", embedded = false, stored = false }: InProcessOptions,
  { secondFactor, telephony, ...deps }: SettingParts,
): Promise<LiveSettings> {
  const services = embedded ? {} : {
    second_factor: {
      url: secondFactor.url,
      consumer_key: secondFactor.consumerKey,
      consumer_secret: secondFactor.consumerSecret,
    },
    telephony: {
      url: telephony.url,
      account_id: telephony.accountId,
      auth_token: telephony.authToken,
      from: telephony.from,
      twiml_echo_url: "http://echo.example/twiml",
    },
  };
  const given = overlay({ radius: { secret: SECRET }, ...services }, parse(toml));
  const text = stored ? "" : stringify(given);
  const loaded = loadConfig({ env: () => undefined, readTextFile: () => text, cwd: "/" });
  if (!loaded.ok) throw new Error(`The settings of the test are at fault: ${JSON.stringify(loaded.faults)}`);
  const log = createLog({ format: "text", level: "error", clock: deps.clock, write: () => undefined });
  const settings = new LiveSettings({ file: loaded.settingsFile, log, ...deps });
  await settings.load();
  if (stored) await saveSettings(settings, flatten(given));
  return settings;
}

/** Saves settings as an administrator does. @throws Error if they are not valid */
export async function saveSettings(settings: LiveSettings, changes: SettingChanges): Promise<void> {
  const result = await settings.writer.change(changes, { actor: "test", version: settings.version });
  if (!result.ok) throw new Error(`The settings are at fault: ${JSON.stringify(result)}`);
}

/** Tables as settings by key. */
function flatten(table: Readonly<Record<string, unknown>>, path = ""): SettingChanges {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, value]) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.entries(flatten(value as Record<string, unknown>, `${path}${name}.`))
        : [[path + name, value as SettingValue]]
    ),
  );
}

/** The secret of the first client, or else the one for any address. */
function secretOf({ radius }: Config): string {
  return radius.clients[0]?.secret ?? radius.secret;
}
