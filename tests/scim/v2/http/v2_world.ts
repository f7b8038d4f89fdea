// A composed gateway with one connection of /scim/v2, and a client with its token.

import { openComposition, type TestComposition } from "../../../fakes/composition.ts";
import type { ConnectionChange } from "../../../../scim/v2/connections/connection_settings.ts";

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const PATCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const ADMIN = { name: "console:ada", source: "" };

/** An answer of the interface. */
export interface V2Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Empty without a JSON body. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface V2Call {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another token; `null`: none. */
  readonly token?: string | null;
}

export interface V2World extends AsyncDisposable {
  readonly gateway: TestComposition;
  /** `path` is below `/scim/v2/default`, unless it begins with `!`. */
  call(method: string, path: string, call?: V2Call): Promise<V2Answer>;
  /** Creates a resource and returns its id. */
  add(path: "/Users" | "/Groups", body: object): Promise<string>;
  /** A PATCH with these operations. */
  patch(path: string, operations: readonly object[]): Promise<V2Answer>;
  /** Another connection. Returns its token. */
  connect(name: string, change?: ConnectionChange & { readonly target?: string }): Promise<string>;
  /** Changes the connection. */
  change(change: ConnectionChange): Promise<void>;
}

export async function startV2World(change: ConnectionChange = {}, toml = ""): Promise<V2World> {
  const gateway = await openComposition(toml);
  const { connections } = gateway.identity;
  const origin = gateway.config.http.publicUrl;
  const connect: V2World["connect"] = async (name, settings = {}) => {
    const created = await connections.administration.create({
      ...{ name, kind: "other", target: "default" },
      secret: { kind: "token", lifeMs: null },
      ...settings,
    }, ADMIN);
    if (!created.ok || created.secret === null) throw new Error("Cannot create a connection");
    return created.secret.text;
  };
  const own = await connect("provider", change);
  const call: V2World["call"] = async (method, path, { body, headers = {}, token = own } = {}) => {
    const address = path.startsWith("!") ? path.slice(1) : `/scim/v2/default${path}`;
    const response = await gateway.app(
      new Request(origin + address, {
        method,
        headers: {
          host: new URL(origin).host,
          ...token === null ? {} : { authorization: `Bearer ${token}` },
          ...body === undefined ? {} : { "content-type": "application/scim+json" },
          ...headers,
        },
        ...body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) },
      }),
      { remoteAddress: "192.0.2.7" },
    );
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      json: text.startsWith("{") ? JSON.parse(text) : {},
    };
  };
  return {
    gateway,
    call,
    connect,
    async add(path, body) {
      const schemas = [path === "/Users" ? USER_SCHEMA : GROUP_SCHEMA];
      const { status, json } = await call("POST", path, { body: { schemas, ...body } });
      if (status !== 201) throw new Error(`Cannot create ${JSON.stringify(body)}: ${JSON.stringify(json)}`);
      return String(json.id);
    },
    patch: (path, Operations) => call("PATCH", path, { body: { schemas: [PATCH_SCHEMA], Operations } }),
    async change(settings) {
      const record = connections.administration.find("provider");
      const changed = await connections.administration.change("provider", {
        version: record?.version ?? 0,
        change: settings,
      }, ADMIN);
      if (!changed.ok) throw new Error(`Cannot change the connection: ${changed.reason}`);
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** The settings of a target with these connectors in order: `local` is the embedded store, another name a SCIM server. */
export function scimTarget(
  url: string,
  { token = "t", mode = "sync", shape }: {
    token?: string;
    mode?: "sync" | "async";
    shape: readonly string[];
  },
): string {
  const scim = `kind = "scim"\nmode = "${mode}"\nurl = "${url}"\ntoken = "${token}"`;
  return shape.map((name) => {
    return `[targets.default.backends.${name}]\n${name === "local" ? 'kind = "store"' : scim}\n`;
  }).join("");
}
