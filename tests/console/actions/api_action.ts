// One row for each route of the console that changes something: how it is called, and which record it leaves.

import { CONSOLE_API_PATH } from "../../../console/api/console_api.ts";
import type { Store } from "../../../platform/store.ts";
import { PASSWORD } from "../../fakes/console_app.ts";
import { apiCaller } from "../../fakes/console_caller.ts";
import { startConnectConsole } from "../../fakes/console_connect.ts";

/** A console with everything in it, the owner signed in. */
export type Stage = Awaited<ReturnType<typeof openStage>>;

export interface Call {
  /** Below `/console/api`, with everything filled in. */
  readonly path: string;
  readonly json?: unknown;
}

/** A change: `prepare` brings about what it needs, and tells how it is asked for. */
export interface AuditedAction {
  readonly prepare: (stage: Stage) => Call | Promise<Call>;
  readonly action: string;
  readonly object: string;
  /** Who the record says did it; the owner unless given. */
  readonly actor?: string;
  /** The work goes on after the answer. */
  readonly isLater?: true;
}

/** Something that is asked with a verb of changing and deliberately leaves no record. */
export interface UnauditedAction {
  readonly silent: string;
}

/** By method and path, as the table of access has them. */
export type ApiActions = Readonly<Record<string, AuditedAction | UnauditedAction>>;

/** @param wrap stands between everything and its store. */
export async function openStage({ wrap }: { wrap?: (store: Store) => Store } = {}) {
  const site = await startConnectConsole({ ...(wrap === undefined ? {} : { wrap }) });
  const cookie = await site.signIn("owner");
  // Passkeys need a name; the cookie is the same at either address.
  const origin = site.origin.replace("127.0.0.1", "localhost");
  const api = apiCaller(site, cookie);
  return {
    site,
    origin,
    cookie,
    ask: <T>(path: string, { method = "POST", json = {} }: { method?: string; json?: unknown } = {}) =>
      api<T>(CONSOLE_API_PATH + path, method === "GET" ? {} : { method, json }),
    /** Asks for a change by the site's name. */
    async call(method: string, { path, json = {} }: Call): Promise<Response> {
      return await fetch(origin + CONSOLE_API_PATH + path, {
        method,
        headers: { origin, cookie, "content-type": "application/json" },
        body: JSON.stringify(json),
      });
    },
    /** An administrator of the console's own. */
    async addAdministrator(name: string): Promise<void> {
      const { url } = await this.ask<{ url: string }>("/administrators", { json: { name, role: "viewer" } });
      await site.admins.setUp({ token: linkToken(url), name, password: PASSWORD, source: "" });
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

/** What stands behind the sign of a link. */
export function linkToken(url: string): string {
  return url.slice(url.indexOf("#") + 1);
}
