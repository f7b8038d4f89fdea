// Traps for the writes that a gateway sends to backends: a write waits just before or just after the backend performs it, while the test kills
// the gateway.

import { openHttpClient } from "../../platform/fetch_with_deadline.ts";
import type { Held, ScimmyServer } from "../support/scimmy_server.ts";
import type { Fate, LdapWire } from "../fault_injection/identity_world.ts";

/**
 * Where the write waits for the death of the gateway. `before`: the backend never gets it. `late`: the backend gets it after the death. `after`:
 * the backend performed it, and the gateway never gets the answer. `answered`: the gateway gets the answer and dies at once.
 */
export type TrapMoment = "before" | "late" | "after" | "answered";

/** The traps of one round. The first write of each name is trapped; all others pass. */
export class BackendTraps {
  readonly #names: Set<string>;
  readonly #moment: TrapMoment;
  readonly #answers = Promise.withResolvers<void>();
  readonly #death = Promise.withResolvers<void>();
  readonly #held = new Set<string>();

  constructor(moment: TrapMoment, names: Iterable<string>) {
    this.#moment = moment;
    this.#names = new Set(names);
  }

  /** The writes that wait. */
  get held(): ReadonlySet<string> {
    return this.#held;
  }

  /** Lets the answers through that may arrive before the death. */
  letAnswersPass(): void {
    if (this.#moment === "answered") this.#answers.resolve();
  }

  /** Call it after the gateway died. */
  release(): void {
    this.#answers.resolve();
    this.#death.resolve();
  }

  /** Decides about a write of `name` at slapd. */
  async judge(name: string): Promise<Fate> {
    if (!this.#names.delete(name)) return "pass";
    if (this.#moment === "after" || this.#moment === "answered") {
      return { held: () => void this.#held.add(name), free: this.#answers.promise };
    }
    this.#held.add(name);
    await this.#death.promise;
    return this.#moment === "before" ? "cut_before" : "pass";
  }
}

/** An HTTP server in front of a SCIM server. Writes that are trapped wait there. */
export interface ScimWire extends AsyncDisposable {
  readonly url: string;
  trap(traps: BackendTraps | null): void;
}

export function startScimWire(server: ScimmyServer): ScimWire {
  let traps: BackendTraps | null = null;
  const ended = new AbortController();
  // Without idle connections, for which the server would wait when it closes.
  const client = openHttpClient();
  const forward = async (request: Request, body: string): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    const answer = await client.fetch(server.url.replace("/scim", "") + pathname + search, {
      method: request.method,
      headers,
      ...body === "" ? {} : { body },
    });
    const text = await answer.text();
    return new Response(answer.status === 204 ? null : text, {
      status: answer.status,
      headers: { "content-type": answer.headers.get("content-type") ?? "" },
    });
  };
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined, signal: ended.signal },
    async (request) => {
      const body = await request.text();
      const name = request.method === "GET" ? null : nameOf(server, { request, body });
      const fate = name === null || traps === null ? "pass" : await traps.judge(name);
      if (fate === "cut_before") return new Response(null, { status: 500 });
      const answer = await forward(request, body);
      if (typeof fate === "object") {
        fate.held();
        await fate.free;
      }
      return answer;
    },
  );
  return {
    url: `http://127.0.0.1:${listener.addr.port}/scim`,
    trap: (next) => void (traps = next),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await listener.finished;
      client.close();
    },
  };
}

/** The name of the written resource; `null` if there is none. */
function nameOf(
  { users, groups }: ScimmyServer,
  { request: { url }, body }: { request: Request; body: string },
): string | null {
  const id = new URL(url).pathname.split("/").at(-1) ?? "";
  const named: Partial<Held> = users.get(id) ?? groups.get(id) ?? (body === "" ? {} : JSON.parse(body));
  const name = named.userName ?? named.displayName;
  return typeof name === "string" ? name : null;
}

/** Traps the writes to slapd; `null`: all pass. */
export function trapLdap(wire: LdapWire, traps: BackendTraps | null): void {
  wire.decide(({ dn }) => traps?.judge(/^(?:uid|cn)=([^,]+),/.exec(dn)?.[1] ?? "") ?? "pass");
}
