// One row for each console route that changes data: how to call it, and which audit record it writes.

import { CONSOLE_API_PATH } from "../../../console/api/console_api.ts";
import type { Store } from "../../../platform/store.ts";
import { PASSWORD } from "../../fakes/console_app.ts";
import { apiCaller } from "../../fakes/console_caller.ts";
import { createConsoleSessions } from "../../fakes/console_sessions.ts";
import { startConnectConsole } from "../../fakes/console_connect.ts";

/** A console with data of every kind, and a signed-in owner. */
export type Stage = Awaited<ReturnType<typeof openStage>>;

export interface Call {
  /** Below `/console/api`, with all parameters filled in. */
  readonly path: string;
  readonly json?: unknown;
}

/** A change: `prepare` creates what the call needs and returns the call. */
export interface AuditedAction {
  readonly prepare: (stage: Stage) => Call | Promise<Call>;
  readonly action: string;
  readonly object: string;
  /** The actor of the record; the default is the owner. */
  readonly actor?: string;
  /** The work continues after the answer. */
  readonly isLater?: true;
}

/** A call with a method for changes that deliberately writes no audit record. */
export interface UnauditedAction {
  readonly silent: string;
}

/** By method and path, as in the table of permissions. */
export type ApiActions = Readonly<Record<string, AuditedAction | UnauditedAction>>;

/** @param wrap wraps the store that every part uses. */
export async function openStage({ wrap }: { wrap?: (store: Store) => Store } = {}) {
  const { vpnSessions, report } = createConsoleSessions();
  const site = await startConnectConsole({ vpnSessions, ...(wrap === undefined ? {} : { wrap }) });
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
    /** Sends a change to the host name of the site. */
    /** As the owner, or with another cookie. */
    async call(method: string, { path, json = {} }: Call, own = cookie): Promise<Response> {
      return await fetch(origin + CONSOLE_API_PATH + path, {
        method,
        headers: { origin, cookie: own, "content-type": "application/json" },
        body: JSON.stringify(json),
      });
    },
    /** Applies an accounting report. */
    report,
    /** An administrator who is stored by the console. */
    async addAdministrator(name: string): Promise<void> {
      const { url } = await this.ask<{ url: string }>("/administrators", { json: { name, role: "viewer" } });
      await site.admins.setUp({ token: linkToken(url), name, password: PASSWORD, source: "" });
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

/** The text after the `#` of a link. */
export function linkToken(url: string): string {
  return url.slice(url.indexOf("#") + 1);
}
