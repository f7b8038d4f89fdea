// Nodes that are killed during writes: SCIM and backends.

import { assert, assertEquals } from "@std/assert";
import {
  BackendTraps,
  type ScimWire,
  startScimWire,
  trapLdap,
  type TrapMoment,
} from "../fakes/backend_traps.ts";
import { type LdapWire, startLdapWire } from "../fault_injection/identity_world.ts";
import { type Answer, type Caller, createCaller } from "../scim/rows/caller.ts";
import { type LdapView, viewOf } from "../scim/rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { type Cluster, startCluster } from "../support/cluster.ts";
import { type ScimmyServer, startScimmy } from "../support/scimmy_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { type Slapd, startSlapd } from "../support/slapd.ts";
import { eventually } from "../upstream/manual_clock.ts";

// kill -9 of a gateway while it writes to an LDAP or SCIM backend: the other gateway takes over, every write is complete or rolled back, and
// the store and the backend agree.

/** The content of a resource: a user's title or a group's members; `null` if it does not exist. More than one: duplicates. */
type State = string | null;

const OPERATIONS = {
  create: { before: null, after: "new" },
  replace: { before: "old", after: "new" },
  delete: { before: "old", after: null },
  members: { before: "m0", after: "m1 m2" },
} as const satisfies Record<string, { before: State; after: State }>;
type Operation = keyof typeof OPERATIONS;

const KINDS = ["ldap", "scim"] as const;
const MODES = ["sync", "async"] as const;
/** Each target has the store and one backend, and its own lease. */
const TARGETS = KINDS.flatMap((kind) => MODES.map((mode) => ({ kind, mode, name: `${kind}-${mode}` })));
type TargetRow = typeof TARGETS[number];

interface WriteCase {
  readonly target: TargetRow;
  readonly operation: Operation;
  /** Of the resource; unique over all targets and rounds. */
  readonly name: string;
}

const MOMENTS: readonly { moment: TrapMoment; title: string }[] = [
  { moment: "before", title: "before the write arrives at the backend" },
  { moment: "late", title: "while the write is on its way to the backend" },
  { moment: "after", title: "before the answer of the backend arrives" },
  { moment: "answered", title: "when it has the answer of the backend" },
];
/** The time that a gateway has to record the answer of a backend. */
const ANSWERED_MS = 3;

const memberOf = ({ name }: TargetRow, at: number): string => `${name}-m${at}`;
const body = (userName: string, title: string) => ({
  userName,
  title,
  name: { familyName: title, givenName: "G" },
});
const team = (target: TargetRow, displayName: string, ...members: readonly number[]) => ({
  displayName,
  members: members.map((at) => ({ display: memberOf(target, at) })),
});

class World {
  constructor(
    readonly cluster: Cluster,
    readonly slapd: Slapd,
    readonly ldap: LdapView,
    readonly ldapWire: LdapWire,
    readonly scimmy: ScimmyServer,
    readonly scimWire: ScimWire,
  ) {}

  scim(node: number, { name }: TargetRow): Caller {
    return createCaller(this.cluster.node(node), { account: WRITER, target: name });
  }

  trap(traps: BackendTraps | null): void {
    trapLdap(this.ldapWire, traps);
    this.scimWire.trap(traps);
  }

  async prepare(node: number, { target, operation, name }: WriteCase): Promise<void> {
    const scim = this.scim(node, target);
    if (operation === "create") return;
    const { status, text } = operation === "members"
      ? await scim.post("/Groups", team(target, name, 0))
      : await scim.post("/Users", body(name, "old"));
    assertEquals(status, 201, text);
  }

  write(node: number, { target, operation, name }: WriteCase): Promise<Answer> {
    const scim = this.scim(node, target);
    switch (operation) {
      case "create":
        return scim.post("/Users", body(name, "new"));
      case "replace":
        return scim.put(`/Users/${name}`, body(name, "new"));
      case "delete":
        return scim.remove(`/Users/${name}`);
      case "members":
        return scim.put(`/Groups/${name}`, team(target, name, 1, 2));
    }
  }

  async stored(node: number, { target, operation, name }: WriteCase): Promise<State> {
    const scim = this.scim(node, target);
    const { status, json } = await scim.get(`/${operation === "members" ? "Groups" : "Users"}/${name}`);
    if (status === 404) return null;
    if (operation !== "members") return String(json.title);
    return membersText(target, (json.members as { display: string }[]).map(({ display }) => display));
  }

  /** What the backend has. */
  async held({ target, operation, name }: WriteCase): Promise<State> {
    const isGroup = operation === "members";
    if (target.kind === "ldap") {
      const { usersDn, groupsDn } = this.slapd;
      const entry = await this.ldap.entry(isGroup ? `cn=${name},${groupsDn}` : `uid=${name},${usersDn}`);
      if (entry === null) return null;
      if (!isGroup) return String(entry.title?.[0]);
      return membersText(target, entry.member?.map((dn) => /^uid=([^,]+),/.exec(dn)?.[1] ?? dn) ?? []);
    }
    const { users, groups } = this.scimmy;
    const found = [...(isGroup ? groups : users).values()].filter((one) =>
      (isGroup ? one.displayName : one.userName) === name
    );
    const states = found.map((one) =>
      isGroup
        ? membersText(
          target,
          (one.members as { value: string }[]).map(({ value }) => String(users.get(value)?.userName)),
        )
        : String(one.title)
    );
    return states.length === 0 ? null : states.join(" and ");
  }

  /** Work in the store that is not finished. */
  async pending(): Promise<Deno.KvKey[]> {
    using kv = await this.cluster.store.open();
    const keys: Deno.KvKey[] = [];
    for (const prefix of [["intent"], ["outbox"], ["chore"]]) {
      for await (const { key } of kv.list({ prefix })) keys.push(key);
    }
    return keys;
  }
}

/** `m1 m2`: the members without the name of their target. */
function membersText({ name }: TargetRow, members: readonly string[]): string {
  return members.map((member) => member.replace(`${name}-`, "")).sort().join(" ");
}

async function withWorld(run: (world: World) => Promise<void>): Promise<void> {
  const slapd = await startSlapd();
  const ldapWire = startLdapWire(slapd.url);
  const scimmy = await startScimmy({ uniqueNames: false });
  const scimWire = startScimWire(scimmy);
  try {
    await using cluster = await startCluster({ toml: settingsOf({ slapd, ldapWire, scimmy, scimWire }) });
    await run(new World(cluster, slapd, viewOf(slapd), ldapWire, scimmy, scimWire));
  } finally {
    await scimWire[Symbol.asyncDispose]();
    await scimmy.close();
    await ldapWire.close();
    await slapd.dispose();
  }
}

function settingsOf(
  { slapd, ldapWire, scimmy, scimWire }: Pick<World, "slapd" | "ldapWire" | "scimmy" | "scimWire">,
): string {
  const targets = TARGETS.map(({ kind, mode, name }) => `
[targets.${name}.backends.local]
kind = "store"
[targets.${name}.backends.remote]
kind = "${kind}"
mode = "${mode}"
connections = 16
timeout_ms = 30000
${
    kind === "scim" ? `url = "${scimWire.url}"\ntoken = "${scimmy.token}"` : `url = "${ldapWire.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"`
  }
`);
  return `${credentialsToml(TARGETS.map(({ name }) => name))}
[http]
public_url = "http://127.0.0.1:8080"
${targets.join("")}`;
}

/** Sends all writes to `dying`, and kills it when all of them wait in the traps. Returns which ones were acknowledged. */
async function writeAndKill(
  world: World,
  { dying, moment, cases }: { dying: number; moment: TrapMoment; cases: readonly WriteCase[] },
): Promise<ReadonlySet<WriteCase>> {
  const traps = new BackendTraps(moment, cases.map(({ name }) => name));
  world.trap(traps);
  const acknowledged = new Set<WriteCase>();
  const writing = cases.map(async (one) => {
    try {
      if ((await world.write(dying, one)).status < 300) acknowledged.add(one);
    } catch (fault) {
      if (!(fault instanceof TypeError)) throw fault;
    }
  });
  await eventually(`${cases.length} writes wait`, () => traps.held.size === cases.length);
  traps.letAnswersPass();
  if (moment === "answered") await new Promise((resolve) => setTimeout(resolve, ANSWERED_MS));
  await world.cluster.node(dying).kill9();
  traps.release();
  await Promise.all(writing);
  return acknowledged;
}

/** The other gateway takes over every target. Then each resource is the same in the store and in the backend, and no work is left. */
async function checkAfterDeath(
  world: World,
  { other, moment, cases, acknowledged }: {
    other: number;
    moment: TrapMoment;
    cases: readonly WriteCase[];
    acknowledged: ReadonlySet<WriteCase>;
  },
): Promise<void> {
  await Promise.all(
    TARGETS.map((target) =>
      eventually(`a write to ${target.name} at the other gateway`, async () => {
        const { status, text } = await world.scim(other, target)
          .put(`/Users/${memberOf(target, 0)}`, body(memberOf(target, 0), moment));
        assert(status < 300 || status === 503, text);
        return status < 300;
      })
    ),
  );
  await eventually("nothing is pending", async () => (await world.pending()).length === 0);
  for (const one of cases) {
    const { before, after } = OPERATIONS[one.operation];
    const stored = await world.stored(other, one);
    const isSure = acknowledged.has(one) || one.target.mode === "async";
    const allowed: State[] = isSure ? [after] : [before, after];
    assert(allowed.includes(stored), `${one.name}: ${stored} instead of ${allowed.join(" or ")}`);
    assertEquals(await world.held(one), stored, one.name);
  }
}

testNeeding(
  { peers: ["slapd"], denokv: true },
  "kill -9 of a gateway during writes to an LDAP or SCIM backend: the other one completes each write, or rolls it back",
  (context) =>
    withWorld(async (world) => {
      const each = <T>(run: (target: TargetRow) => Promise<T>) => Promise.all(TARGETS.map(run));
      await each(async (target) => {
        for (const at of [0, 1, 2]) {
          await world.scim(0, target).post("/Users", body(memberOf(target, at), "member"));
        }
      });
      for (const [round, { moment, title }] of MOMENTS.entries()) {
        const [dying, other] = round % 2 === 0 ? [0, 1] : [1, 0];
        await context.step(title, async () => {
          const cases = TARGETS.flatMap((target) =>
            (Object.keys(OPERATIONS) as Operation[]).map((operation) => ({
              target,
              operation,
              name: `${target.name}-${operation}-${moment}`,
            }))
          );
          await Promise.all(cases.map((one) => world.prepare(dying, one)));
          await eventually("nothing is pending", async () => (await world.pending()).length === 0);
          const acknowledged = await writeAndKill(world, { dying, moment, cases });
          await checkAfterDeath(world, { other, moment, cases, acknowledged })
            .finally(() => world.cluster.node(dying).restart());
          for (const one of cases) {
            assertEquals(await world.stored(dying, one), await world.stored(other, one), one.name);
          }
        });
      }
    }),
);

// kill -9 of a gateway at twelve moments of SCIM writes: the other gateway continues to write, no acknowledged write is lost, others are complete
// or absent, and the memory of the survivor equals the store.

const GROUP = "team";
const MEMBERS = ["m0", "m1", "m2"] as const;

/** The state of the written resource: a user's title or a group's members, `null` if it does not exist. */
type ScimState = string | null;

/** A write, and what it changes. Each kind has a target of its own, so a lease of its own. */
interface WriteRow {
  readonly kind: string;
  readonly before: ScimState;
  readonly after: ScimState;
  /** Brings the resource to the state before. */
  prepare(scim: Caller): Promise<Answer>;
  write(scim: Caller): Promise<Answer>;
  read(scim: Caller): Promise<ScimState>;
}

/** A title that other attributes repeat, so that a partial write would show. */
const bodyOf = (userName: string, title: string) => ({
  userName,
  title,
  name: { familyName: title, givenName: title },
});
const scimTeam = (...members: readonly string[]) => ({
  displayName: GROUP,
  members: members.map((display) => ({ display })),
});

/** The title of a user. Throws if the other attributes have another one, or the search does not find exactly this user. */
async function titleOf(scim: Caller, name: string): Promise<ScimState> {
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
    write: (scim) => scim.post("/Users", bodyOf("ada", "new")),
    read: (scim) => titleOf(scim, "ada"),
  },
  {
    ...{ kind: "replace", before: "old", after: "new" },
    async prepare(scim) {
      await scim.post("/Users", bodyOf("ada", "old"));
      return await scim.put("/Users/ada", bodyOf("ada", "old"));
    },
    write: (scim) => scim.put("/Users/ada", bodyOf("ada", "new")),
    read: (scim) => titleOf(scim, "ada"),
  },
  {
    ...{ kind: "delete", before: "old", after: null },
    prepare: (scim) => scim.post("/Users", bodyOf("ada", "old")),
    write: (scim) => scim.remove("/Users/ada"),
    read: (scim) => titleOf(scim, "ada"),
  },
  {
    ...{ kind: "members", before: "m0", after: "m1 m2" },
    prepare: (scim) => scim.put(`/Groups/${GROUP}`, scimTeam("m0")),
    write: (scim) => scim.put(`/Groups/${GROUP}`, scimTeam("m1", "m2")),
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
      for (const name of MEMBERS) await scim(0, at).post("/Users", bodyOf(name, name));
      await scim(0, at).post("/Groups", scimTeam());
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
            () => scim(other, at).put(`/Users/${MEMBERS[0]}`, bodyOf(MEMBERS[0], name)),
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
