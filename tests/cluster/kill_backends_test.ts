// kill -9 of a gateway while it writes to an LDAP or SCIM backend: the other gateway takes over, every write is complete or rolled back, and
// the store and the backend agree.

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
