// An async backend, a real slapd that is down, and a program that is killed: acknowledged writes arrive once, in order,
// and nothing else.

import { assert, assertEquals } from "@std/assert";
import { testNeeding } from "../support/skip_unless.ts";
import type { Answer } from "../scim/rows/caller.ts";
import { eventuallyPasses, type IdentityWorld, startIdentityWorld, userBody } from "./identity_world.ts";
import type { WireWrite } from "./identity_wire.ts";

const NEEDS = { peers: ["slapd"] } as const;
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
    for (const fate of ["cut_before", "cut_after", "pass"] as const) {
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
