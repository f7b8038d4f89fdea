// A PATCH of one member changes one member in an LDAP directory: members that another client added there stay.

import { assertEquals } from "@std/assert";
import { startIdentityWorld } from "../../../fault_injection/identity_world.ts";
import { basic } from "../../rows/caller.ts";
import { WRITER } from "../../rows/rows_world.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import { PATCH_SCHEMA } from "./v2_world.ts";

testNeeding({ peers: ["slapd"] }, "PATCH of one member of a group sends slapd this member only", async () => {
  await using world = await startIdentityWorld("sync");
  const { gateway, ldap, wire } = world;
  const send = async (method: string, path: string, body: object) => {
    const response = await fetch(`${gateway.httpUrl}/scim/v2/default${path}`, {
      method,
      headers: { authorization: basic(WRITER), "content-type": "application/scim+json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, id: text === "" ? "" : String(JSON.parse(text).id) };
  };
  const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];
  const ids: Record<string, string> = {};
  for (const userName of ["anna", "ben", "cleo"]) {
    ids[userName] = (await send("POST", "/Users", { schemas, userName, name: { familyName: "x" } })).id;
  }
  const group = await send("POST", "/Groups", { displayName: "team", members: [{ value: ids.anna }] });
  const dn = world.groupDn("team");
  const foreign = world.userDn("stranger");
  await ldap.replace(dn, "member", [world.userDn("anna"), foreign]);
  const before = wire.writes.length;
  const patch = (operation: object) =>
    send("PATCH", `/Groups/${group.id}`, { schemas: [PATCH_SCHEMA], Operations: [operation] });
  assertEquals((await patch({ op: "add", path: "members", value: [{ value: ids.ben }] })).status, 204);
  assertEquals((await patch({ op: "remove", path: `members[value eq "${ids.anna}"]` })).status, 204);
  assertEquals((await ldap.entry(dn))?.member?.toSorted(), [world.userDn("ben"), foreign].toSorted());
  assertEquals(wire.writes.slice(before).map(({ operation, dn: of }) => `${operation} ${of}`), [
    `modify ${dn}`,
    `modify ${dn}`,
  ]);
});
