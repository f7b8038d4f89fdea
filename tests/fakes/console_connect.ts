// A console with clients, targets and credentials: the register and the ear over a gate that no packet reaches, and a directory with
// backends in memory.

import type { Connect } from "../../console/api/clients/client_deps.ts";
import type { Dist } from "../../console/assets.ts";
import { canonicalRange, parseSocketAddress } from "../../platform/config/addresses.ts";
import { createLog } from "../../platform/log.ts";
import { createPasswordHasher } from "../../platform/password_hasher.ts";
import { createLearnt } from "../../radius/server/signing_clients.ts";
import { createClientRegister } from "../../radius/server/client_registry.ts";
import { createClients } from "../../radius/server/clients.ts";
import { createEar } from "../../radius/server/client_discovery.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createCredentials } from "../../scim/http/credentials.ts";
import { createMapping, toFrontEnd } from "../../scim/schema/mapping.ts";
import type { Target } from "../../scim/ports.ts";
import type { Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { guardBackend } from "../../scim/backends/guarded_backend.ts";
import { configOf } from "../platform/config/samples.ts";
import { startConsole } from "./console_app.ts";
import { type Shape, startPeopleConsole } from "./console_people.ts";

export type ConnectConsole = Awaited<ReturnType<typeof startConnectConsole>>;

export async function startConnectConsole(
  { toml = "", shape = { local: "store", ldap: "sync" }, readOnly = {}, dist, wrap, target: fake }: {
    readOnly?: Readonly<Record<string, readonly string[]>>;
    wrap?: (store: Store) => Store;
    dist?: Dist;
    toml?: string;
    shape?: Shape;
    /** What the pages of targets show instead of the one with `shape`. */
    target?: Target;
  } = {},
) {
  const people = await startPeopleConsole({ shape, readOnly, toml, ...(wrap === undefined ? {} : { wrap }) });
  const { store } = people;
  const shownTarget = fake ?? people.target;
  const random = createSystemRandom();
  const clock = systemClock;
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const config = configOf(toml);
  const { clients: settings, anyClient } = config.radius;
  const clients = createClients({ settings, anyClient, anySecret: "a secret of a test" });
  const signing = createLearnt({ store, log, clock });
  const register = createClientRegister({
    ...{ store, vault, clock, log, clients, settings, anyClient },
    signing,
  });
  const ear = createEar({ clock });
  const guarded = new Map(
    Object.entries(shape).flatMap(([name, mode]) =>
      mode === "store"
        ? []
        : [[name, guardBackend(people.backend(name), { connections: 4, clock, random, log })] as const]
    ),
  );
  const credentials = await createCredentials({
    store,
    vault,
    clock,
    random,
    log,
    hasher: createPasswordHasher({ random, cost: { costLog2: 4 } }),
    settings: config.scim.credentials,
  });
  const connect: Connect = {
    register,
    ear,
    learnt: signing,
    targets: { names: ["default"], get: (name) => name === "default" ? shownTarget : null },
    credentials,
    config,
    listening: { radius: ["127.0.0.1:1812"], http: "127.0.0.1:8080" },
    secondFactor: {
      embedded: true,
      status: () => Promise.resolve({ ok: false, fault: { kind: "nonsense", detail: "a test" } }),
    },
    askTelephony: null,
    canonicalRange,
    serverAddress: parseSocketAddress,
    askFirstFactor: ({ secret }) => Promise.resolve(secret === "right" ? "wrong" : "unavailable"),
    standing: (_target, backend) => guarded.get(backend)?.standing() ?? null,
    probe: async (_target, backend) => await guarded.get(backend)?.backend.probe() ?? null,
    previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
  };
  const site = await startConsole({
    store,
    ...(dist === undefined ? {} : { dist }),
    change: (deps) => ({ ...people.furnish(deps), connect }),
  });
  return {
    ...site,
    store,
    people,
    register,
    ear,
    clients,
    signing,
    audits: people.audits,
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await people[Symbol.asyncDispose]();
    },
  };
}
