// A rename on one node, as other nodes see it, and renames that race with other writes.

import { assert, assertEquals } from "@std/assert";
import { basisOn } from "../../../platform/cluster/record_versions.ts";
import { createLog } from "../../../platform/log.ts";
import { openTargetLease } from "../../../scim/directory/target_lease.ts";
import { openScimNodes } from "../../fakes/scim_nodes.ts";
import { ACTOR, group, user } from "../provisioning/stage.ts";
import { loginOf, tickingClock } from "../directory/world.ts";

const OPTIONS = { actor: ACTOR };

Deno.test("a rename on one node is complete on another: logins, lists, ids, and observers of both names", async () => {
  await using nodes = await openScimNodes({ local: "store", ldap: "sync" });
  const [a, b] = [await nodes.start("a"), await nodes.start("b")];
  const { stored } = await a.target.create(user("anna"), OPTIONS);
  await a.target.create(group("staff", ["anna"]), OPTIONS);
  await b.store.catchUp();
  const { directory } = b.target;
  assertEquals((await loginOf(directory, "anna")).status, "active");
  assertEquals((await loginOf(directory, "zoe")).status, "unknown");
  const seen: string[] = [];
  directory.observe(({ kind, name, deleted }) => void seen.push(`${kind} ${name} ${deleted}`));
  await a.target.rename("user", "anna", user("zoe"), OPTIONS);
  await a.target.rename("group", "staff", group("team", ["zoe"]), OPTIONS);
  await b.store.catchUp();
  assertEquals((await loginOf(directory, "anna")).status, "deleted");
  const login = await loginOf(directory, "zoe");
  assertEquals([login.status, login.groups], ["active", ["team"]]);
  const content = (await directory.read("group", "team"))?.content;
  assertEquals(content?.kind === "group" && content.members, ["zoe"]);
  assertEquals((await directory.readById("user", stored?.id ?? ""))?.content.name, "zoe");
  assertEquals(directory.count("user"), 1);
  for (const change of ["user anna true", "user zoe false", "group staff true", "group team false"]) {
    assert(seen.includes(change), `${change} is not in ${seen}`);
  }
  // The other node writes next, with the names as they are now.
  await b.target.rename("user", "zoe", user("anna"), OPTIONS);
  await a.store.catchUp();
  assertEquals((await a.target.directory.read("user", "anna"))?.groups, ["team"]);
  assertEquals([...nodes.backend("ldap").users.keys()], ["anna"]);
});

Deno.test("concurrent renames and changes of members leave a user in exactly the groups that name it", async () => {
  await using nodes = await openScimNodes({ local: "store", ldap: "async" });
  const { target } = await nodes.start("a");
  await target.create(user("u0"), OPTIONS);
  for (const name of ["g0", "g1", "g2"]) await target.create(group(name, []), OPTIONS);
  const nameNow = { value: "u0" };
  const renames = (async () => {
    for (let at = 1; at <= 12; at++) {
      await target.rename("user", nameNow.value, user(`u${at}`), OPTIONS);
      nameNow.value = `u${at}`;
    }
  })();
  const changes = ["g0", "g1", "g2"].map(async (name) => {
    for (let at = 0; at < 12; at++) {
      const change = at % 2 === 0
        ? { add: [nameNow.value], remove: [] }
        : { add: [], remove: [nameNow.value] };
      await target.changeMembers(name, change, OPTIONS).catch(() => undefined);
    }
  });
  const respelled = (async () => {
    for (let at = 0; at < 6; at++) {
      await target.rename("group", at % 2 === 0 ? "g2" : "g3", group(at % 2 === 0 ? "g3" : "g2", []), OPTIONS)
        .catch(() => undefined);
    }
  })();
  await Promise.all([renames, respelled, ...changes]);
  const stored = await target.directory.read("user", "u12");
  const inside: string[] = [];
  for await (const { content } of target.directory.all("group")) {
    if (content.kind === "group" && content.members.includes("u12")) inside.push(content.name);
  }
  assertEquals(stored?.groups, inside.sort());
  assertEquals(target.directory.count("user"), 1);
});

Deno.test("a commit whose record changed since it was read is refused, and the node keeps its lease", async () => {
  await using nodes = await openScimNodes();
  const { store, cluster } = await nodes.start("a");
  const log = createLog({ format: "text", level: "error", clock: tickingClock(), write: () => undefined });
  const lease = await openTargetLease({ cluster, log, target: "other" });
  await lease.claim();
  const fenced = lease.fence(store);
  const set = { type: "set", key: ["record"], value: 1 } as const;
  const first = await fenced.commit({ mutations: [set] });
  const basis = basisOn(first.ok ? first.versionstamp : "");
  assertEquals((await fenced.commit({ mutations: [set] })).ok, true);
  assertEquals((await fenced.commit({ mutations: [{ ...set, basis }] })).ok, false);
  assertEquals((await fenced.commit({ mutations: [set] })).ok, true);
});
