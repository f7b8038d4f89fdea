// The peer: SCIMMY with its router and express, people in a Map, as in its documentation. scimmy.ts <users>; it prints
// the port.

import express from "../../packages/express.ts";
import SCIMMY from "../../packages/scimmy.ts";
import SCIMMYRouters from "../../packages/scimmy_routers.ts";
import { GROUP, groupMembers, personAt, userBody } from "./people.ts";

type Held = Record<string, unknown> & { id: string };
interface Asked {
  readonly id?: string;
  readonly filter?: { match<T>(values: T[]): T[] };
}

/** Longer than a page: the router's own default is 200. */
const MAX_RESULTS = 200;
const [token = "", userCount = ""] = Deno.args;

/** Resources of one kind, with an index of names, so that our own search for a name does not slow down a creation. */
function declare(
  resource: typeof SCIMMY.Resources.User | typeof SCIMMY.Resources.Group,
  naming: string,
): Map<string, Held> {
  const held = new Map<string, Held>();
  const ids = new Map<string, string>();
  SCIMMY.Resources.declare(resource, {
    egress: ({ id, filter }: Asked) => {
      if (id !== undefined) {
        const one = held.get(id);
        if (one === undefined) throw new SCIMMY.Types.Error(404, "", "no such resource");
        return one;
      }
      const all = [...held.values()];
      return filter === undefined ? all : filter.match(all);
    },
    ingress: ({ id }: Asked, data: Record<string, unknown>) => {
      const name = String(data[naming]).toLowerCase();
      const known = ids.get(name);
      if (known !== undefined && known !== id) throw new SCIMMY.Types.Error(409, "uniqueness", "taken");
      const kept = { ...JSON.parse(JSON.stringify(data)), id: id ?? name };
      held.set(kept.id, kept);
      ids.set(name, kept.id);
      return kept;
    },
    degress: ({ id }: Asked) => void held.delete(id ?? ""),
  });
  return held;
}

SCIMMY.Config.set({ patch: true, filter: { supported: true, maxResults: MAX_RESULTS } });
const people = declare(SCIMMY.Resources.User, "userName");
const groups = declare(SCIMMY.Resources.Group, "displayName");
for (let at = 0; at < Number(userCount); at++) {
  const { userName } = personAt(at);
  people.set(userName, { ...JSON.parse(userBody(personAt(at))), id: userName });
}
const members = groupMembers(Number(userCount)).map((value) => ({ value }));
groups.set(GROUP, { id: GROUP, displayName: GROUP, members });

const app = express();
app.use(
  "/scim",
  new SCIMMYRouters({
    type: "bearer",
    handler: (request: { header(name: string): string | undefined }) => {
      if (request.header("Authorization") !== `Bearer ${token}`) throw new Error("wrong token");
      return "bench";
    },
  }),
);
const server = app.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: server.address().port }));
});
