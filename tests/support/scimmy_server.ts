// A SCIM 2.0 server of another vendor for the tests: SCIMMY with its router and express, on a free port, with resources
// in memory.

import express from "../packages/express.ts";
import SCIMMY from "../packages/scimmy.ts";
import SCIMMYRouters from "../packages/scimmy_routers.ts";

export interface ScimmyServer {
  /** With the path, without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** Its resources, by id. */
  readonly users: Map<string, Held>;
  readonly groups: Map<string, Held>;
  /** `POST /Users` and so on, in order. */
  readonly requests: string[];
  close(): Promise<void>;
}

export type Held = Record<string, unknown> & { id: string };

interface Egress {
  readonly id?: string;
  readonly filter?: { match<T>(values: T[]): T[] };
}

const TOKEN = "scimmy-token-77aa";

/** SCIMMY stores its declarations once per process, so the stores belong to the server that was started last. */
let current: { users: Map<string, Held>; groups: Map<string, Held> } = {
  users: new Map(),
  groups: new Map(),
};
let isDeclared = false;
let isUnique = true;

/** @param options.uniqueNames `false`: like services that accept a second resource of the same name. */
export async function startScimmy({ uniqueNames = true } = {}): Promise<ScimmyServer> {
  isUnique = uniqueNames;
  const users = new Map<string, Held>();
  const groups = new Map<string, Held>();
  const requests: string[] = [];
  current = { users, groups };
  if (!isDeclared) declare();
  isDeclared = true;
  const app = express();
  app.use((request: { method: string; path: string }, _response: unknown, next: () => void) => {
    requests.push(`${request.method} ${request.path.replace("/scim", "")}`);
    next();
  });
  app.use(
    "/scim",
    new SCIMMYRouters({
      type: "bearer",
      handler: (request: { header(name: string): string | undefined }) => {
        if (request.header("Authorization") !== `Bearer ${TOKEN}`) throw new Error("wrong token");
        return "tests";
      },
    }),
  );
  const server = await new Promise<{ address(): { port: number }; close(done: () => void): void }>(
    (resolve) => {
      const made = app.listen(0, "127.0.0.1", () => resolve(made));
    },
  );
  return {
    url: `http://127.0.0.1:${server.address().port}/scim`,
    token: TOKEN,
    users,
    groups,
    requests,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function declare(): void {
  SCIMMY.Config.set({ patch: true, filter: { supported: true, maxResults: 200 } });
  for (
    const [resource, store, naming] of [
      [SCIMMY.Resources.User, () => current.users, "userName"],
      [SCIMMY.Resources.Group, () => current.groups, "displayName"],
    ] as const
  ) {
    SCIMMY.Resources.declare(resource, {
      egress: ({ id, filter }: Egress) => {
        if (id !== undefined) {
          const held = store().get(id);
          if (held === undefined) throw new SCIMMY.Types.Error(404, "", "no such resource");
          return held;
        }
        const all = [...store().values()];
        return filter === undefined ? all : filter.match(all);
      },
      ingress: ({ id }: Egress, data: Record<string, unknown>) => {
        const name = String(data[naming]).toLowerCase();
        const other = [...store().values()].find((one) => String(one[naming]).toLowerCase() === name);
        if (isUnique && other !== undefined && other.id !== id) {
          throw new SCIMMY.Types.Error(409, "uniqueness", "taken");
        }
        const held = { ...JSON.parse(JSON.stringify(data)), id: id ?? crypto.randomUUID() };
        store().set(held.id, held);
        return held;
      },
      degress: ({ id }: Egress) => void store().delete(id ?? ""),
    });
  }
}
