// Backends that are down, cut off or slow, with a real slapd: a write arrives completely and once, or leaves nothing partial.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { testNeeding } from "../support/skip_unless.ts";
import type { Answer } from "../scim/rows/caller.ts";
import {
  eventuallyPasses,
  type Fate,
  type IdentityWorld,
  lookAround,
  shareIdentityWorld,
  startIdentityWorld,
  titlesOf,
  userBody,
  type WireWrite,
} from "./identity_world.ts";

// An async backend, a real slapd that is down, and a program that is killed: acknowledged writes arrive once, in order,
// and nothing else.

const NEEDS = { peers: ["slapd"] } as const;
/** The world of the tests whose slapd answers before the client gets an answer. */
const openWorld = shareIdentityWorld("sync");
/** A write in transit when the program dies: it does not reach slapd, or it does, and its answer is lost. */
const FATES_AT_DEATH = ["cut_before", "cut_after"] as const;
const QUEUED = '"local";outcome=done, "directory";outcome=queued';

function assertQueued(answer: Answer): void {
  assert(answer.status < 300, answer.text);
  assertEquals(answer.headers.get("backends-receipt"), QUEUED);
}

/** The titles of the users in slapd. */
async function arrived({ ldap, slapd }: IdentityWorld): Promise<Record<string, string>> {
  const entries = Object.values(await ldap.below(slapd.usersDn));
  return Object.fromEntries(entries.map((entry) => [entry.uid?.[0] ?? "", entry.title?.[0] ?? ""]));
}

/** The placeholder of a group class that requires a member, for a group without members; it is no user. */
const PLACEHOLDER = "cn=countersign-empty";

async function membersOf({ ldap, groupDn }: IdentityWorld, name: string): Promise<string[] | null> {
  const entry = await ldap.entry(groupDn(name));
  const members = entry?.member?.filter((dn) => dn !== PLACEHOLDER);
  return members?.map((dn) => /^uid=([^,]+),/.exec(dn)?.[1] ?? dn) ?? null;
}

/** The number of adds of each entry. */
function additions(writes: readonly WireWrite[]): number[] {
  const counts = new Map<string, number>();
  for (const { operation, dn } of writes) {
    if (operation === "add") counts.set(dn, (counts.get(dn) ?? 0) + 1);
  }
  return [...counts.values()];
}

testNeeding(
  NEEDS,
  "writes while slapd is down are acknowledged, survive kill -9, and arrive once and in order",
  async (context) => {
    await using world = await startIdentityWorld("async");
    const { scim, wire } = world;
    const expected: Record<string, string> = {};

    await context.step("before: existing resources", async () => {
      for (const name of ["stays", "changes", "goes"]) {
        assertQueued(await scim.post("/Users", userBody(name, "first")));
      }
      assertQueued(await scim.post("/Groups", { displayName: "team", members: [{ display: "goes" }] }));
      await eventuallyPasses("all are there", async () => {
        assertEquals(Object.keys(await arrived(world)).sort(), ["changes", "goes", "stays"]);
        assertEquals(await membersOf(world, "team"), ["goes"]);
      });
    });

    await context.step(
      "slapd stops; forty resources are created, replaced, deleted, created again",
      async () => {
        await world.slapd.stop();
        Object.assign(expected, { stays: "first" });
        await Promise.all(Array.from({ length: 40 }, async (_, at) => {
          const name = `queued${at}`;
          assertQueued(await scim.post("/Users", userBody(name, "one")));
          if (at % 2 === 0) assertQueued(await scim.put(`/Users/${name}`, userBody(name, "two")));
          if (at % 3 === 0) assertQueued(await scim.remove(`/Users/${name}`));
          if (at % 6 === 0) assertQueued(await scim.post("/Users", userBody(name, "three")));
          const last = at % 6 === 0 ? "three" : at % 3 === 0 ? null : at % 2 === 0 ? "two" : "one";
          if (last !== null) expected[name] = last;
        }));
        for (let turn = 1; turn <= 5; turn++) {
          assertQueued(await scim.put("/Users/changes", userBody("changes", `turn ${turn}`)));
        }
        expected.changes = "turn 5";
        assertQueued(await scim.remove("/Users/goes"));
        const members = ["queued1", "changes"].map((display) => ({ display }));
        assertQueued(await scim.put("/Groups/team", { displayName: "team", members }));
        assertQueued(await scim.post("/Groups", { displayName: "brief", members }));
        assertQueued(await scim.remove("/Groups/brief"));
      },
    );

    await context.step("the program is killed and started; the store has everything at once", async () => {
      await world.crash();
      const { json } = await scim.get("/Users");
      const resources = json.Resources as { id: string; title: string }[];
      assertEquals(Object.fromEntries(resources.map(({ id, title }) => [id, title])), expected);
      assertEquals(json.totalResults, Object.keys(expected).length);
    });

    await context.step("slapd starts; everything arrives, and is added once", async () => {
      const from = wire.writes.length;
      await world.slapd.start();
      await eventuallyPasses("slapd has what the store has", async () => {
        assertEquals(await arrived(world), expected);
        assertEquals((await membersOf(world, "team"))?.sort(), ["changes", "queued1"]);
        assertEquals(await membersOf(world, "brief"), null);
      });
      assertEquals(new Set(additions(wire.writes.slice(from))), new Set([1]));
    });

    await context.step("after that nothing more is written, also after another restart", async () => {
      const { length } = wire.writes;
      await world.crash();
      const marker = await scim.post("/Users", userBody("marker", "last"));
      assertQueued(marker);
      // The marker is delivered after all pending writes.
      await eventuallyPasses(
        "the marker arrives",
        async () => assertEquals((await arrived(world)).marker, "last"),
      );
      const later = wire.writes.slice(length).map(({ operation, dn }) => `${operation} ${dn}`);
      assertEquals(later, [`add ${world.userDn("marker")}`]);
    });
  },
);

testNeeding(
  NEEDS,
  "kill -9 at every moment of a delivery: it arrives, and nothing is added twice",
  async () => {
    await using world = await startIdentityWorld("async");
    const { scim, wire } = world;
    const expected: Record<string, string> = {};
    for (const fate of FATES_AT_DEATH) {
      for (const [at, atWrite] of [0, 3].entries()) {
        // Alone, so that the killed process has delivered all its writes.
        const seen = wire.writes.length;
        let writes = 0;
        const dead = Promise.withResolvers<void>();
        wire.decide(() => {
          if (writes++ !== atWrite) return "pass";
          void world.gateway.kill9().then(dead.resolve, dead.reject);
          return fate;
        });
        const names = Array.from({ length: 6 }, (_, one) => `${fate.replace("_", "-")}-${at}-${one}`);
        await Promise.all(names.map(async (name) => {
          const answer = await scim.post("/Users", userBody(name, fate)).catch(connectionLost);
          if (answer === null) return;
          assertQueued(answer);
          expected[name] = fate;
        }));
        await dead.promise;
        wire.decide(() => "pass");
        await world.gateway.restart();
        await eventuallyPasses("what was acknowledged is there", async () => {
          const people = await arrived(world);
          for (const [name, title] of Object.entries(expected)) assertEquals(people[name], title, name);
        });
        const listed = ((await scim.get("/Users")).json.Resources as { id: string }[]).map(({ id }) => id);
        await eventuallyPasses(
          "slapd has exactly what the store lists",
          async () => assertEquals(Object.keys(await arrived(world)).sort(), [...listed].sort()),
        );
        assertEquals(new Set(additions(wire.writes.slice(seen))), new Set([1]));
      }
    }
  },
);

/** A call that the end of the process interrupted: it was not acknowledged. */
function connectionLost(fault: unknown): null {
  if (!(fault instanceof TypeError)) throw fault;
  return null;
}

testNeeding(
  NEEDS,
  "a write that slapd refuses becomes a dead letter: listed, not repeated, and fixed by the next write",
  async () => {
    await using world = await startIdentityWorld("async");
    const { scim } = world;
    // A value that the attribute's syntax forbids is refused permanently.
    const bad = { ...userBody("refused", "x"), emails: [{ value: "ü@example.org" }] };
    assertQueued(await scim.post("/Users", bad));
    assertQueued(await scim.post("/Users", userBody("next", "y")));
    await eventuallyPasses(
      "the next one is not held up",
      async () => assertEquals((await arrived(world)).next, "y"),
    );
    const line = await world.gateway.logged("a write to a backend is still pending");
    assert(/refused/.test(line) && /giv\w*=?.*true/.test(line), line);
    assertEquals((await arrived(world)).refused, undefined);
    assertEquals((await scim.get("/Users/refused")).status, 200);
    assertQueued(await scim.put("/Users/refused", userBody("refused", "z")));
    await eventuallyPasses(
      "the mended one arrives",
      async () => assertEquals((await arrived(world)).refused, "z"),
    );
  },
);

// Two backends, one of them a real slapd that stops, is cut off, or whose answers are lost: a write to both either
// succeeds, or leaves nothing partial anywhere.

/** Every kind of write, on existing resources. */
const WRITES: Readonly<Record<string, (world: IdentityWorld) => Promise<Answer>>> = {
  "create user": ({ scim }) => scim.post("/Users", userBody("fresh", "fresh")),
  "replace user": ({ scim }) => scim.put("/Users/old1", userBody("old1", "changed")),
  "change a password": ({ scim }) =>
    scim.put("/Users/old1", { ...userBody("old1", "before"), password: "new pass" }),
  "delete user": ({ scim }) => scim.remove("/Users/old2"),
  "create group": ({ scim }) => scim.post("/Groups", { displayName: "new", members: [{ display: "old1" }] }),
  "replace group": ({ scim }) => scim.put("/Groups/team", { members: [{ display: "old2" }] }),
  "delete group": ({ scim }) => scim.remove("/Groups/team"),
};

async function seed({ scim }: IdentityWorld): Promise<void> {
  for (const name of ["old1", "old2"]) {
    assertEquals((await scim.post("/Users", userBody(name, "before"))).status, 201);
  }
  const team = { displayName: "team", members: [{ display: "old1" }] };
  assertEquals((await scim.post("/Groups", team)).status, 201);
}

testNeeding(
  NEEDS,
  "while slapd is down every write is refused and nothing is partial, also after a restart",
  async (context) => {
    const world = await openWorld();
    await seed(world);
    const before = await lookAround(world, "before");
    await world.slapd.stop();
    for (const [title, write] of Object.entries(WRITES)) {
      await context.step(title, async () => {
        const answer = await write(world);
        assertEquals(answer.status, 503, answer.text);
        assertMatch(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
        assertEquals(
          answer.headers.get("backends-receipt"),
          '"local";outcome=untried, "directory";outcome=untried',
        );
        assert(!answer.text.includes(world.slapd.bindPassword));
      });
    }
    await context.step("afterwards, and after kill -9, everything is unchanged", async () => {
      await world.slapd.start();
      assertEquals(await lookAround(world, "before"), before);
      await world.crash();
      assertEquals(await lookAround(world, "before"), before);
    });
    await context.step("then the same writes succeed", async () => {
      for (const [title, write] of Object.entries(WRITES)) {
        const answer = await write(world);
        assert(answer.status < 300, `${title}: ${answer.text}`);
        assertEquals(
          answer.headers.get("backends-receipt"),
          '"local";outcome=done, "directory";outcome=done',
        );
      }
    });
  },
);

/** Writes that are cut, and how. */
const CUTS: readonly (readonly [Fate, title: string])[] = [
  ["cut_before", "the connection ends before the write"],
  ["cut_after", "slapd does it and its answer is lost"],
];

for (const [fate, how] of CUTS) {
  testNeeding(NEEDS, `${how}: a write is refused or done, and store and slapd agree`, async (context) => {
    const world = await openWorld();
    await seed(world);
    const before = await lookAround(world, "before");
    for (const [title, write] of Object.entries(WRITES)) {
      await context.step(title, async () => {
        let cuts = 0;
        world.wire.decide(() => cuts++ < 2 ? fate : "pass");
        const answer = await write(world);
        world.wire.decide(() => "pass");
        if (answer.status < 300) {
          // A repeated write has the same result as a single one; the test undoes it by hand.
          await restore(world);
        } else {
          assert([502, 503].includes(answer.status), answer.text);
        }
        await eventuallyPasses("store and slapd are as before", async () => {
          const { people, teams, users, groups } = await lookAround(world, "before");
          assertEquals([withoutHash(people), teams], [withoutHash(before.people), before.teams]);
          assertEquals([titles(users), titles(groups)], [titles(before.users), titles(before.groups)]);
        });
      });
    }
  });
}

/** Restores the seed after a write that succeeded. */
async function restore({ scim }: IdentityWorld): Promise<void> {
  await scim.remove("/Users/fresh");
  await scim.remove("/Groups/new");
  for (const name of ["old1", "old2"]) {
    const { status } = await scim.put(`/Users/${name}`, userBody(name, "before"));
    if (status === 404) await scim.post("/Users", userBody(name, "before"));
  }
  const team = { displayName: "team", members: [{ display: "old1" }] };
  if ((await scim.put("/Groups/team", team)).status === 404) await scim.post("/Groups", team);
}

/** A password that slapd hashed cannot be restored by a client without the old password. */
function withoutHash(entries: Record<string, Readonly<Record<string, readonly string[]>>>) {
  return Object.fromEntries(
    Object.entries(entries).map(([dn, { userPassword: _, ...rest }]) => [dn, rest]),
  );
}

function titles({ Resources }: Answer["json"]): unknown {
  return (Resources as Record<string, unknown>[]).map(({ id, title, members, groups }) => ({
    id,
    title,
    members,
    groups,
  }));
}

testNeeding(
  NEEDS,
  "kill -9 between the two backends: after the start both agree, and acknowledged writes exist",
  async (context) => {
    const world = await openWorld();
    await seed(world);
    let dying: Promise<void> | null = null;
    for (const fate of FATES_AT_DEATH) {
      for (const [at, operation] of (["create", "replace", "remove"] as const).entries()) {
        await context.step(`${operation}, ${fate} when the program dies`, async () => {
          const name = `doomed-${fate}-${at}`;
          if (operation !== "create") await world.scim.post("/Users", userBody(name, "before"));
          dying = null;
          world.wire.decide(() => {
            dying ??= world.gateway.kill9();
            return fate;
          });
          const acknowledged = await tryIt(
            operation === "create"
              ? world.scim.post("/Users", userBody(name, "after"))
              : operation === "replace"
              ? world.scim.put(`/Users/${name}`, userBody(name, "after"))
              : world.scim.remove(`/Users/${name}`),
          );
          await dying;
          world.wire.decide(() => "pass");
          await world.gateway.restart();
          const after = operation === "remove" ? null : "after";
          const before = operation === "create" ? null : "before";
          await eventuallyPasses("store and slapd agree", async () => {
            const { store, slapd } = await titlesOf(world, name);
            assertEquals(slapd, store);
            assert(store === after || (store === before && !acknowledged), `${name} has "${store}"`);
          });
        });
      }
    }
  },
);

/** Whether a call was answered with success; a broken connection is no answer. */
async function tryIt(call: Promise<Answer>): Promise<boolean> {
  try {
    return (await call).status < 300;
  } catch (fault) {
    if (!(fault instanceof TypeError) && !(fault instanceof DOMException)) throw fault;
    return false;
  }
}

testNeeding(
  NEEDS,
  "kill -9 between two changes of a group in slapd: after the start both have the old members, or the new ones",
  async (context) => {
    const world = await openWorld();
    const { scim, ldap, wire, gateway } = world;
    for (const name of ["a", "b", "c", "d"]) await scim.post("/Users", userBody(name, "x"));
    const displays = (names: string) => [...names].map((display) => ({ display }));
    for (const [at, fate] of FATES_AT_DEATH.entries()) {
      for (const atWrite of [0, 1]) {
        await context.step(`write ${atWrite + 1} of two, ${fate}`, async () => {
          const displayName = `team${at}${atWrite}`;
          assertEquals((await scim.post("/Groups", { displayName, members: displays("ab") })).status, 201);
          let writes = 0;
          const dead = Promise.withResolvers<void>();
          wire.decide(() => {
            if (writes++ !== atWrite) return "pass";
            void gateway.kill9().then(dead.resolve, dead.reject);
            return fate;
          });
          const acknowledged = await tryIt(scim.put(`/Groups/${displayName}`, { members: displays("cd") }));
          await dead.promise;
          wire.decide(() => "pass");
          await gateway.restart();
          await eventuallyPasses("store and slapd agree", async () => {
            const { json } = await scim.get(`/Groups/${displayName}`);
            const shown = (json.members as { display: string }[]).map(({ display }) => display).sort().join(
              "",
            );
            const held = (await ldap.entry(world.groupDn(displayName)))?.member ?? [];
            assertEquals(held.map((dn) => dn.charAt("uid=".length)).sort().join(""), shown);
            assert(shown === "cd" || (shown === "ab" && !acknowledged), shown);
          });
        });
      }
    }
  },
);
