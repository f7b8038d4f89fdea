// The trash with the real program and a real slapd: SCIM deletes a user, the console restores it, and LDAP has the user and the group's
// member again.

import { assertEquals } from "@std/assert";
import type { RestoreItem, TrashPage } from "../../console/api/trash/trash_types.ts";
import { startConsoleProgram } from "../e2e/console_program.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { viewOf } from "../scim/rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { startSlapd } from "../support/slapd.ts";

testNeeding(
  { peers: ["slapd"] },
  "a user whom SCIM deleted is restored in the directory and in LDAP",
  async () => {
    await using slapd = Object.assign(await startSlapd(), {
      [Symbol.asyncDispose]: () => slapd.dispose(),
    });
    await using program = await startConsoleProgram({
      toml: `${credentialsToml(["default"])}
[targets.default.backends.local]
kind = "store"
[targets.default.backends.corp]
kind = "ldap"
mode = "sync"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
`,
    });
    const scim = createCaller(program, { account: WRITER, target: "default" });
    const ldap = viewOf(slapd);
    const cookie = await program.signIn("owner");
    const ask = async <T>(path: string, json?: unknown): Promise<T> => {
      const response = await fetch(`${program.origin}/console/api/trash${path}`, {
        method: json === undefined ? "GET" : "POST",
        headers: { cookie, origin: program.origin, "content-type": "application/json" },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      });
      assertEquals(response.status, 200);
      return await response.json();
    };
    const membersInLdap = async () => (await ldap.entry(`cn=staff,${slapd.groupsDn}`))?.member?.length;

    for (const userName of ["ada", "bob"]) {
      const name = { givenName: userName, familyName: "Example" };
      assertEquals((await scim.post("/Users", { userName, name, title: "Dr" })).status, 201);
    }
    const members = [{ display: "ada" }, { display: "bob" }];
    assertEquals((await scim.post("/Groups", { displayName: "staff", members })).status, 201);
    assertEquals((await scim.remove("/Users/ada")).status, 204);
    assertEquals((await scim.get("/Users/ada")).status, 404);
    assertEquals(await ldap.entry(`uid=ada,${slapd.usersDn}`), null);

    const { rows } = await ask<TrashPage>("");
    assertEquals(rows.map(({ name, actor }) => [name, actor]), [["ada", `scim:${WRITER.name}`]]);
    const { items } = await ask<{ items: RestoreItem[] }>("/restore", { ids: rows.map(({ id }) => id) });
    assertEquals(items.map(({ did, groups, problem }) => [did, groups, problem]), [[
      "restored",
      ["staff"],
      null,
    ]]);
    assertEquals((await ldap.entry(`uid=ada,${slapd.usersDn}`))?.title, ["Dr"]);
    const groups = (await scim.get("/Users/ada")).json.groups as readonly { readonly display: string }[];
    assertEquals(groups.map(({ display }) => display), ["staff"]);
    for (let tries = 0; await membersInLdap() !== 2; tries++) {
      if (tries > 500) throw new Error("LDAP never has both members");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
);
