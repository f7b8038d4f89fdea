// A gateway with all services on a store in memory, and its users, who act only over HTTP and RADIUS, so that a
// scenario does not depend on the structure of the product.

import type { Composition } from "../../compose.ts";
import type { HttpApp } from "../../platform/http/http_server.ts";
import { openComposition } from "../fakes/composition.ts";
import { openRadiusClient, type RadiusClient } from "../support/radius_client.ts";
import { createLogin, type Login } from "../radius/rows/login.ts";
import { whileTimePasses } from "../radius/rows/passing_time.ts";
import type { ManualClock } from "../upstream/manual_clock.ts";

/** A name, because passkeys need one. */
export const ORIGIN = "http://localhost:8080";
const SOURCE = "192.0.2.50";
export const SECRET = "a-secret-of-the-contract";

/** Sends requests and keeps the cookies of the responses. */
export interface Browser {
  /** The JSON of the response; `null` without a body. Throws unless the status is 2xx. */
  send<T>(method: string, path: string, json?: unknown): Promise<T>;
}

export interface ContractGateway extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly radiusClient: RadiusClient;
  readonly store: Awaited<ReturnType<typeof openComposition>>["store"];
  readonly connections: Composition["identity"]["connections"];
  readonly targets: Composition["identity"]["targets"];
  readonly mail: Composition["mail"];
  /** What shadow mode learnt. */
  readonly learner: Composition["radius"]["shadow"]["learner"];
  /** The operator of this machine, through the control socket. */
  readonly operator: Browser;
  browser(headers?: Readonly<Record<string, string>>): Browser;
  /** The text of a public address. */
  read(path: string): Promise<string>;
  /** A login at the client "vpn", or at "branch" where `unsigned`. */
  login(user: string, options?: { unsigned?: boolean }): Login;
}

let nasPort = 1;

/** A push service that accepts everything. */
const PUSH_NETWORK = {
  fetch: () => Promise.resolve(new Response(null, { status: 201 })),
  lookUp: () => Promise.resolve(["142.250.74.10"]),
};

/** @param toml settings over the defaults. @param onCommit receives every transaction of the store. */
export async function openContractGateway(
  toml = "",
  options: Parameters<typeof openComposition>[1] = {},
): Promise<ContractGateway> {
  const settings = `${toml}
[http]
public_url = "${ORIGIN}"
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
[[radius.client]]
name = "branch"
address = ["127.0.0.2"]
secret = "${SECRET}"
append_mode = true
`;
  const composition = await openComposition(settings, { pushNetwork: PUSH_NETWORK, ...options });
  const { app, radius, clock, store } = composition;
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "0.0.0.0", port: 0 });
  const serving = radius.server.serve(socket);
  const { port } = socket.addr as Deno.NetAddr;
  const radiusClient = openRadiusClient({ port, secret: SECRET });
  const branch = openRadiusClient({ port, secret: SECRET, hostname: "127.0.0.2" });
  return {
    clock,
    radiusClient,
    store,
    connections: composition.identity.connections,
    targets: composition.identity.targets,
    mail: composition.mail,
    learner: composition.radius.shadow.learner,
    operator: {
      async send<T>(method: string, path: string, json?: unknown) {
        const answered = await composition.ask(method, path, json);
        if (answered.status >= 300) throw new Error(`${method} ${path}: ${answered.status} ${answered.text}`);
        return (answered.text === "" ? null : JSON.parse(answered.text)) as T;
      },
    },
    browser: (headers = {}) => openBrowser(app, { clock, headers }),
    async read(path) {
      const request = new Request(ORIGIN + path, { headers: { host: new URL(ORIGIN).host } });
      return await (await app(request, { remoteAddress: SOURCE })).text();
    },
    login: (user, { unsigned = false } = {}) =>
      unsigned
        ? createLogin({ client: branch, clock }, { user, nasPort: 1, messageAuthenticator: "none" })
        : createLogin({ client: radiusClient, clock }, { user, nasPort: nasPort++ }),
    async [Symbol.asyncDispose]() {
      radiusClient.close();
      branch.close();
      await radius.server.stop(0);
      await serving;
      await composition[Symbol.asyncDispose]();
    },
  };
}

function openBrowser(
  app: HttpApp,
  { clock, headers }: { clock: ManualClock; headers: Readonly<Record<string, string>> },
): Browser {
  const cookies = new Map<string, string>();
  return {
    async send<T>(method: string, path: string, json?: unknown) {
      const request = new Request(ORIGIN + path, {
        method,
        headers: {
          ...{ origin: ORIGIN, host: new URL(ORIGIN).host },
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...(cookies.size === 0 ? {} : { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") }),
          ...headers,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      });
      // Less than the time of a code of an authenticator app.
      const most = { mostMs: 20_000 };
      const response = await whileTimePasses(clock, app(request, { remoteAddress: SOURCE }), most);
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      for (const line of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      return (text === "" ? null : JSON.parse(text)) as T;
    },
  };
}
