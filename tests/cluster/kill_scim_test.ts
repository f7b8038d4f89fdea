// kill -9 of a gateway at twelve moments of SCIM writes: the other gateway continues to write, no acknowledged write is lost, others are complete
// or absent, and the memory of the survivor equals the store.

import { assert, assertEquals } from "@std/assert";
import { type Answer, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { startCluster } from "../support/cluster.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const GROUP = "team";
const MEMBERS = ["m0", "m1", "m2"] as const;

/** The state of the written resource: a user's title or a group's members, `null` if it does not exist. */
type State = string | null;

/** A write, and what it changes. Each kind has a target of its own, so a lease of its own. */
interface WriteRow {
  readonly kind: string;
  readonly before: State;
  readonly after: State;
  /** Brings the resource to the state before. */
  prepare(scim: Caller): Promise<Answer>;
  write(scim: Caller): Promise<Answer>;
  read(scim: Caller): Promise<State>;
}

/** A title that other attributes repeat, so that a partial write would show. */
const body = (userName: string, title: string) => ({
  userName,
  title,
  name: { familyName: title, givenName: title },
});
const team = (...members: readonly string[]) => ({
  displayName: GROUP,
  members: members.map((display) => ({ display })),
});

/** The title of a user. Throws if the other attributes have another one, or the search does not find exactly this user. */
async function titleOf(scim: Caller, name: string): Promise<State> {
  const { status, json } = await scim.get(`/Users/${name}`);
  const title = status === 404 ? null : String(json.title);
  if (title !== null) {
    assertEquals(json.name, { familyName: title, givenName: title });
    assertEquals((await scim.get(`/Users?q=${title}`)).json.totalResults, 1);
  }
  return title;
}

const WRITES: readonly WriteRow[] = [
  {
    ...{ kind: "create", before: null, after: "new" },
    prepare: (scim) => scim.remove("/Users/ada"),
    write: (scim) => scim.post("/Users", body("ada", "new")),
    read: (scim) => titleOf(scim, "ada"),
  },
  {
    ...{ kind: "replace", before: "old", after: "new" },
    async prepare(scim) {
      await scim.post("/Users", body("ada", "old"));
      return await scim.put("/Users/ada", body("ada", "old"));
    },
    write: (scim) => scim.put("/Users/ada", body("ada", "new")),
    read: (scim) => titleOf(scim, "ada"),
  },
  {
    ...{ kind: "delete", before: "old", after: null },
    prepare: (scim) => scim.post("/Users", body("ada", "old")),
    write: (scim) => scim.remove("/Users/ada"),
    read: (scim) => titleOf(scim, "ada"),
  },
  {
    ...{ kind: "members", before: "m0", after: "m1 m2" },
    prepare: (scim) => scim.put(`/Groups/${GROUP}`, team("m0")),
    write: (scim) => scim.put(`/Groups/${GROUP}`, team("m1", "m2")),
    async read(scim) {
      const { json } = await scim.get(`/Groups/${GROUP}`);
      const members = (json.members as { display: string }[]).map(({ display }) => display).sort();
      // The groups of the users agree with the members of the group.
      const { json: { Resources } } = await scim.get("/Users");
      const inside = (Resources as { id: string; groups?: unknown[] }[])
        .filter(({ groups = [] }) => groups.length > 0).map(({ id }) => id).sort();
      assertEquals(inside, members);
      return members.join(" ");
    },
  },
];

/** How long before its end the gateway receives the writes. With four kinds of writes, these are twelve moments. */
const BEFORE_MS = [3, 7, 10] as const;

const TOML = `${credentialsToml(WRITES.map(({ kind }) => kind))}
[http]
public_url = "http://127.0.0.1:8080"
${WRITES.map(({ kind }) => `[targets.${kind}]`).join("\n")}`;

/** Everything that a gateway says about a target. */
async function lookAround(scim: Caller): Promise<unknown> {
  const paths = ["/Users", "/Groups", "/Users?q=new", "/Users?q=old", `/Users?q=${GROUP}`];
  return await Promise.all(paths.map(async (path) => (await scim.get(path)).json));
}

/** Repeats a write while no gateway has the lease of the target. */
async function eventuallyWritten(what: string, write: () => Promise<Answer>): Promise<void> {
  await eventually(what, async () => {
    const { status, text } = await write();
    assert(status < 300 || status === 503, text);
    return status < 300;
  });
}

testNeeding(
  { peers: [], denokv: true },
  "kill -9 of a gateway during SCIM writes: the other one continues, and no acknowledged write is lost",
  async (context) => {
    await using cluster = await startCluster({ toml: TOML });
    const callers = cluster.nodes.map((node) =>
      WRITES.map(({ kind }) => createCaller(node, { account: WRITER, target: kind }))
    );
    const scim = (node: number, at: number) => callers[node]?.[at] as Caller;
    const each = <T>(run: (row: WriteRow, at: number) => Promise<T>) => Promise.all(WRITES.map(run));
    await each(async (_row, at) => {
      for (const name of MEMBERS) await scim(0, at).post("/Users", body(name, name));
      await scim(0, at).post("/Groups", team());
    });
    for (const [round, beforeMs] of BEFORE_MS.entries()) {
      const [dying, other] = round % 2 === 0 ? [0, 1] : [1, 0];
      await context.step(`${beforeMs} ms after the writes were sent`, async () => {
        await each(async ({ kind, before, prepare, read }, at) => {
          await prepare(scim(dying, at));
          assertEquals(await read(scim(dying, at)), before, kind);
        });
        const writing = each(({ write }, at) =>
          write(scim(dying, at)).then(({ status }) => status < 300, () => false)
        );
        await new Promise((resolve) => setTimeout(resolve, beforeMs));
        await cluster.node(dying).kill9();
        const acknowledged = await writing;
        await each(async ({ kind, before, after, read }, at) => {
          const name = `after${round}`;
          await eventuallyWritten(
            "a write",
            () => scim(other, at).put(`/Users/${MEMBERS[0]}`, body(MEMBERS[0], name)),
          );
          const state = await read(scim(other, at));
          const allowed = acknowledged[at] === true ? [after] : [before, after];
          assert(allowed.includes(state), `${kind}: ${state} instead of ${allowed.join(" or ")}`);
        });
        await cluster.node(dying).restart();
        // A gateway that has just started knows the store and nothing else.
        await each(async ({ kind }, at) =>
          assertEquals(await lookAround(scim(other, at)), await lookAround(scim(dying, at)), kind)
        );
      });
    }
  },
);
