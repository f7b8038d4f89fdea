// SCIM on its own port, behind the real listener, with targets in memory, for tests.

import { createTargetSchemas } from "../../../scim/v2/schema/target_schemas.ts";
import { createPasswordHasher } from "../../../platform/password_hasher.ts";
import { type Clock, createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { createScimApp } from "../../../scim/http/app.ts";
import { Credentials } from "../../../scim/http/credentials.ts";
import type { Store } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { startConsole, type TestConsole } from "../../fakes/console_app.ts";
import { createFakeTarget, type FakeTarget, targetsOf } from "../../fakes/scim_target.ts";

export const WRITER = { name: "provisioner", password: "the writer's password" };
export const READER = { name: "reader", password: "the reader's password" };
/** For a target other than `default`. */
export const STRANGER = { name: "stranger", password: "the stranger's password" };

export const JSON_TYPE = "application/scim+json";
const OPEN_API = new URL("../../../docs/openapi.json", import.meta.url);

/** An Authorization header for HTTP Basic. */
export function basic({ name, password }: { name: string; password: string }): string {
  return `Basic ${new TextEncoder().encode(`${name}:${password}`).toBase64()}`;
}

export interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The credential; `null` for none. The default is the writer. */
  readonly as?: { name: string; password: string } | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as a JSON object; empty when it is not one. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Site extends AsyncDisposable {
  readonly console: TestConsole;
  readonly target: FakeTarget;
  readonly credentials: Credentials;
  /** `path` is below `/idm/scim/default` unless it begins with `!`, which means the root. */
  call(path: string, options?: Call): Promise<Answer>;
}

export async function openSite(
  { clock = systemClock, store: shared }: { clock?: Clock; store?: Pick<Store, "catchUp"> } = {},
): Promise<Site> {
  const target = createFakeTarget();
  const other = createFakeTarget({ name: "other" });
  const random = createSystemRandom();
  let made: Credentials | null = null;
  const site = await startConsole({
    change(deps) {
      const { store, log, http } = deps;
      const scope = { targets: ["default"] };
      const credentials = new Credentials({
        store,
        clock,
        random,
        log,
        vault: createVault(new Uint8Array(32).fill(7), random),
        hasher: createPasswordHasher({ random, cost: { costLog2: 4 } }),
        settings: [
          { ...WRITER, ...scope, access: "write" },
          { ...READER, ...scope, access: "read" },
          { ...STRANGER, targets: ["other"], access: "write" },
        ],
      });
      made = credentials;
      const app = createScimApp({
        targets: targetsOf(target, other),
        credentials,
        http,
        schemasOf: () => createTargetSchemas(),
        clock,
        log,
        random,
        ...(shared === undefined ? {} : { store: shared }),
      });
      return { ...deps, scim: [app], openApi: () => Deno.readFile(OPEN_API) };
    },
  });
  if (made === null) throw new Error("the application was not made");
  return {
    console: site,
    target,
    credentials: made,
    async call(path, { method = "GET", body, headers = {}, as = WRITER } = {}) {
      const address = path.startsWith("!") ? path.slice(1) : `/idm/scim/default${path}`;
      const response = await fetch(site.origin + address, {
        method,
        headers: { ...as === null ? {} : { authorization: basic(as) }, ...headers },
        ...body === undefined ? {} : { body: bodyOf(body) },
      });
      const text = await response.text();
      const isJson = text.startsWith("{");
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson ? JSON.parse(text) : {},
      };
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

function bodyOf(body: unknown): BodyInit {
  return typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream
    ? body as BodyInit
    : JSON.stringify(body);
}
