// A slapd that hangs, empties or changes while the program reads it, with the real program and a real slapd.

import { assert, assertEquals } from "@std/assert";
import { testNeeding } from "../support/skip_unless.ts";
import { textsAt } from "../scim/rows/document_tables.ts";
import {
  eventuallyPasses,
  type IdentityWorld,
  shareIdentityWorld,
  startIdentityWorld,
  titlesOf,
  userBody,
} from "./identity_world.ts";

const NEEDS = { peers: ["slapd"] } as const;
const openWorld = shareIdentityWorld("sync");

testNeeding(
  NEEDS,
  "slapd hangs: writes end in time, reads and other targets work, and no write is partial afterwards",
  async () => {
    await using world = await startIdentityWorld("sync", { timeoutMs: 3000 });
    const { scim, slapd } = world;
    await scim.post("/Users", userBody("held", "before"));
    Deno.kill(slapd.pid(), "SIGSTOP");
    try {
      let writesEnded = 0;
      const writes = Array.from(
        { length: 12 },
        (_, at) =>
          at % 2 === 0
            ? scim.put("/Users/held", userBody("held", `hung${at}`))
            : scim.post("/Users", userBody(`hung${at}`, "x")),
      );
      for (const write of writes) void write.then(() => writesEnded++);
      const read = await scim.get("/Users/held");
      assertEquals([read.status, read.json.title], [200, "before"]);
      assertEquals(writesEnded, 0, "the read did not wait for slapd");
      for (const { status, text } of await Promise.all(writes)) {
        assertEquals(status, 503, text);
      }
    } finally {
      Deno.kill(slapd.pid(), "SIGCONT");
    }
    await eventuallyPasses("store and slapd agree", async () => {
      assertEquals(await titlesOf(world, "held"), { store: "before", slapd: "before" });
      for (let at = 1; at < 12; at += 2) {
        assertEquals(await titlesOf(world, `hung${at}`), { store: null, slapd: null });
      }
    });
    await eventuallyPasses(
      "writes succeed again",
      async () => assertEquals((await scim.put("/Users/held", userBody("held", "after"))).status, 200),
    );
    assertEquals(await titlesOf(world, "held"), { store: "after", slapd: "after" });
  },
);

async function seedPeople({ scim }: IdentityWorld, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, at) => `person${String(at).padStart(3, "0")}`);
  for (let from = 0; from < names.length; from += 20) {
    await Promise.all(
      names.slice(from, from + 20).map((name) => scim.post("/Users?backends=directory", userBody(name, "0"))),
    );
  }
  return names;
}

testNeeding(NEEDS, "a directory that is suddenly empty: refresh reports it and deletes no user", async () => {
  const world = await openWorld();
  const { scim, ldap, slapd } = world;
  const names = await seedPeople(world, 60);
  for (const name of names.slice(0, 40)) await ldap.remove(world.userDn(name));
  const refused = await scim.get("/Users?refresh=true");
  assertEquals([refused.status, refused.json.status], [502, "502"], refused.text);
  assertEquals((await scim.get("/Users")).json.totalResults, 60);
  assertEquals((await scim.get("/Users/person000")).status, 200);
  // A small number of deletions is accepted.
  await scim.remove("/Users/person059");
  for (const name of names.slice(0, 40)) {
    await ldap.add(world.userDn(name), {
      objectClass: ["inetOrgPerson"],
      uid: [name],
      cn: [name],
      sn: [name],
    });
  }
  await ldap.remove(world.userDn("person050"));
  const believed = await scim.get("/Users?refresh=true");
  assertEquals([believed.status, believed.json.totalResults], [200, 58], believed.text);
  assertEquals(Object.keys(await ldap.below(slapd.usersDn)).length, 58);
});

testNeeding(NEEDS, "writes during a refresh of all: none is lost, none is undone", async () => {
  const world = await openWorld();
  const { scim } = world;
  const names = await seedPeople(world, 40);
  const last = new Map(names.map((name) => [name, "0"]));
  let isDone = false;
  const refreshing = Promise.all([0, 1].map(async () => {
    let rounds = 0;
    for (; !isDone; rounds++) {
      const { status, text } = await scim.get("/Users?refresh=true");
      assertEquals(status, 200, text);
    }
    return rounds;
  }));
  await Promise.all([0, 1, 2, 3].map(async (writer) => {
    for (let turn = 1; turn <= 5; turn++) {
      for (let at = writer; at < names.length; at += 4) {
        const name = names[at] ?? "";
        const path = `/Users/${name}?backends=directory`;
        if (turn === 3 && at % 5 === 0) {
          assertEquals((await scim.remove(path)).status, 204);
          last.delete(name);
          continue;
        }
        const title = `turn ${turn}`;
        const { status, text } = last.has(name)
          ? await scim.put(path, userBody(name, title))
          : await scim.post("/Users?backends=directory", userBody(name, title));
        assert(status < 300, text);
        last.set(name, title);
      }
    }
  }));
  isDone = true;
  const rounds = await refreshing;
  assert(rounds.every((one) => one > 1), `only ${rounds.join(" and ")} refreshes`);
  const people = Object.values(await world.ldap.below(world.slapd.usersDn));
  const there = Object.fromEntries(people.map(({ uid = [], title = [] }) => [uid[0], title[0]]));
  assertEquals(there, Object.fromEntries(last));
  for (const [name, title] of last) assertEquals((await scim.get(`/Users/${name}`)).json.title, title, name);
  assertEquals((await scim.get("/Users")).json.totalResults, last.size);
});

testNeeding(
  NEEDS,
  "a listing that is older than a write undoes nothing: later deletions, creations and changes stay",
  async () => {
    const world = await openWorld();
    const { scim, wire, slapd } = world;
    for (const backends of ["", "?backends=directory"]) {
      const at = backends === "" ? "both" : "there";
      const [deleted, changed, again, created] = ["deleted", "changed", "again", "created"].map((it) =>
        `${it}-${at}`
      );
      for (const name of [deleted, changed, again]) {
        await scim.post(
          `/Users${backends}`,
          userBody(name ?? "", "before"),
        );
      }
      const { held, release } = wire.holdListings(slapd.usersDn);
      const refreshing = scim.get("/Users?refresh=true");
      await held;
      assertEquals((await scim.remove(`/Users/${deleted}`)).status, 204);
      assertEquals((await scim.remove(`/Users/${again}`)).status, 204);
      assertEquals((await scim.post(`/Users${backends}`, userBody(again ?? "", "after"))).status, 201);
      assertEquals(
        (await scim.put(`/Users/${changed}${backends}`, userBody(changed ?? "", "after"))).status,
        200,
      );
      assertEquals((await scim.post(`/Users${backends}`, userBody(created ?? "", "after"))).status, 201);
      release();
      assertEquals((await refreshing).status, 200);
      const titles = await Promise.all(
        [deleted, changed, again, created].map((name) => titlesOf(world, name ?? "")),
      );
      const after = { store: "after", slapd: "after" };
      assertEquals(titles, [{ store: null, slapd: null }, after, after, after], at);
    }
  },
);

testNeeding(
  NEEDS,
  "an entry with a name that no user can have is skipped by a refresh, and the others are imported",
  async () => {
    const world = await openWorld();
    const { scim, ldap } = world;
    for (const uid of ["host/../printer", "fine"]) {
      await ldap.add(world.userDn(uid), { objectClass: ["inetOrgPerson"], uid: [uid], cn: [uid], sn: [uid] });
    }
    const { status, json, text } = await scim.get("/Users?refresh=true");
    assertEquals([status, json.totalResults], [200, 1], text);
    assertEquals((await scim.get("/Users/fine")).status, 200);
  },
);

testNeeding(
  NEEDS,
  "a listing of groups that is older than a user's removal does not restore the memberships",
  async () => {
    const world = await openWorld();
    const { scim, wire, slapd } = world;
    for (const name of ["stays", "rests", "leaves"]) await scim.post("/Users", userBody(name, "x"));
    for (const team of [["rests-team", "stays", "rests"], ["leaves-team", "stays", "leaves"]]) {
      const [displayName, ...names] = team;
      const members = names.map((display) => ({ display }));
      // Known only to slapd, so that slapd's list decides.
      assertEquals((await scim.post("/Groups?backends=directory", { displayName, members })).status, 201);
    }
    const { held, release } = wire.holdListings(slapd.groupsDn);
    const refreshing = scim.get("/Groups?refresh=true");
    await held;
    assertEquals((await scim.put("/Users/rests", { ...userBody("rests", "x"), active: false })).status, 200);
    assertEquals((await scim.remove("/Users/leaves")).status, 204);
    release();
    assertEquals((await refreshing).status, 200);
    for (const team of ["rests-team", "leaves-team"]) {
      assertEquals(textsAt((await scim.get(`/Groups/${team}`)).json, "members[].display"), ["stays"], team);
    }
    assertEquals((await scim.get("/Users/rests")).json.groups, undefined);
    assertEquals((await scim.post("/Users", userBody("leaves", "x"))).json.groups, undefined);
  },
);
