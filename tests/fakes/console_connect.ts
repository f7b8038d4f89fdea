// A console with RADIUS clients, targets and credentials, over a directory with backends in memory. No packet arrives.

import type { HttpAppDeps } from "../../console/app.ts";
import type { Connect } from "../../console/api/deps.ts";
import type { Dist } from "../../console/assets.ts";
import { canonicalRange, parseSocketAddress, socketAddressText } from "../../platform/addresses.ts";
import { createLog } from "../../platform/log.ts";
import { createPasswordHasher } from "../../platform/password_hasher.ts";
import { ShadowLearner } from "../../radius/shadow/shadow_learner.ts";
import { SigningClients } from "../../radius/server/unsigned_requests.ts";
import { ClientRegistry } from "../../radius/server/client_registry.ts";
import { createClients } from "../../radius/server/clients.ts";
import { createClientDiscovery } from "../../radius/server/client_discovery.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { Connections } from "../../scim/v2/connections/connections.ts";
import { Credentials } from "../../scim/http/credentials.ts";
import { createMapping, toFrontEnd } from "../../scim/schema/mapping.ts";
import type { Target } from "../../scim/ports.ts";
import { createVault } from "../../platform/vault.ts";
import { guardBackend } from "../../scim/backends/guarded_backend.ts";
import { configOf } from "../platform/config/samples.ts";
import { openConsoleMail } from "./console_mail.ts";
import { startConsole } from "./console_app.ts";
import { openFakeAlerts } from "./console_alerts.ts";
import { openFakeLogExport } from "./console_log_export.ts";
import { type OpenPeople, openPeople, type PeopleOptions, type Shape } from "./console_people.ts";

export type ConnectConsole = Awaited<ReturnType<typeof startConnectConsole>>;

export async function startConnectConsole(
  { shape = { local: "store", ldap: "sync" }, dist, target, cluster, vpnSessions, ...options }:
    & PeopleOptions
    & {
      dist?: Dist;
      /** The targets that the pages show instead of the target with `shape`. */
      target?: Target;
      cluster?: HttpAppDeps["cluster"];
      vpnSessions?: HttpAppDeps["vpnSessions"];
    } = {},
) {
  const people = await openPeople({ ...options, shape });
  const { store, audits } = people;
  const { connect, ...parts } = await openConnect(people, { shape, toml: options.toml ?? "", target });
  const learner = new ShadowLearner({ store, clock: systemClock, log: parts.log });
  const shadow = {
    learner,
    clients: () => parts.clients.all,
    isOfConsole: (name: string) => parts.register.find(name)?.from === "console",
  };
  const mail = await openConsoleMail(people);
  const alerts = await openFakeAlerts({ ...parts, store, mail: mail.service });
  const site = await startConsole({
    store,
    ...(dist === undefined ? {} : { dist }),
    change: (deps) => ({
      ...people.furnish(deps),
      ...{ connect, cluster, mail: mail.service, logExport: parts.logExport, alerts, shadow },
      ...(vpnSessions === undefined ? {} : { vpnSessions }),
    }),
  });
  return {
    ...site,
    ...parts,
    ...{ store, people, audits, mail, alerts, learner },
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await alerts.close();
      await mail.service.close();
      await parts.logExport.close();
      await people[Symbol.asyncDispose]();
    },
  };
}

/** The clients, targets and credentials that the console's routes use. */
async function openConnect(
  people: OpenPeople,
  { shape, toml, target = people.target }: { shape: Shape; toml: string; target: Target | undefined },
) {
  const { store } = people;
  const random = createSystemRandom();
  const clock = systemClock;
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const config = configOf(toml);
  const { clients: settings, anyClient } = config.radius;
  const clients = createClients({ settings, anyClient, anySecret: "a secret of a test" });
  const signing = new SigningClients({ store, log, clock });
  const register = new ClientRegistry({ store, vault, clock, log, clients, settings, anyClient, signing });
  const clientDiscovery = createClientDiscovery({ clock });
  const guarded = new Map(
    Object.entries(shape).filter(([, mode]) => mode !== "store").map(([name]) =>
      [name, guardBackend(people.backend(name), { connections: 4, clock, random, log })] as const
    ),
  );
  const hasher = createPasswordHasher({ random, cost: { costLog2: 4 } });
  const credentials = new Credentials({
    ...{ store, vault, clock, random, log, hasher },
    settings: config.scim.credentials,
  });
  const targets: Connect["targets"] = {
    names: ["default"],
    get: (name) => name === "default" ? target : null,
  };
  const logExport = await openFakeLogExport({ store, vault, log });
  const connections = await Connections.open({ store, vault, clock, random, log, credentials, targets });
  const connect: Connect = {
    ...{ register, clientDiscovery, signingClients: signing, config, canonicalRange, targets, credentials },
    connections: connections.administration,
    listening: { radius: ["127.0.0.1:1812"], http: "127.0.0.1:8080" },
    secondFactor: {
      embedded: true,
      status: () => Promise.resolve({ ok: false, fault: { kind: "nonsense", detail: "a test" } }),
    },
    tryBackend: () => Promise.resolve({ ok: true, users: [] }),
    targetsApplied: () => Promise.resolve(),
    ldapAttributes: { openldap: {}, active_directory: {} },
    probeTelephony: () => null,
    serverAddress: parseSocketAddress,
    firstFactorServers: {
      probe: ({ secret, address }) =>
        Promise.resolve(secret === "right" ? [] : address.map(socketAddressText)),
      status: () => [],
      test: () => Promise.resolve(),
    },
    backendHealth: (_target, backend) => guarded.get(backend)?.health() ?? null,
    probe: async (_target, backend) => await guarded.get(backend)?.backend.probe() ?? null,
    previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
  };
  return { connect, connections, register, clientDiscovery, clients, signing, logExport, vault, log };
}
