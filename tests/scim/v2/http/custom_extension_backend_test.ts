// Attributes of a custom extension that are mapped to a directory server: writes, and values that change there.

import { assertEquals } from "@std/assert";
import { startProgram } from "../../../support/program.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import { startSlapd } from "../../../support/slapd.ts";
import { basic } from "../../rows/caller.ts";
import { viewOf } from "../../rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../../rows/rows_world.ts";
import { USER_URN } from "../schema/read_bodies.ts";

const URN = "urn:example:desk:1.0:User";
const ATTRIBUTES = [{ name: "desk" }, { name: "number", type: "integer" }, { name: "plants" }];
const EXTENSION = { id: URN, name: "Desk", attributes: ATTRIBUTES };

testNeeding(
  { peers: ["slapd"] },
  "attributes of an extension follow the mapping to LDAP and back",
  async () => {
    const slapd = await startSlapd();
    const gateway = await startProgram({
      toml: `${credentialsToml(["default"])}
[targets.default]
extensions = '${JSON.stringify([EXTENSION])}'
[targets.default.mapping.user]
"${URN}:desk" = "desk"
"${URN}:number" = "deskNumber"
[targets.default.backends.directory]
kind = "ldap"
mode = "sync"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
attributes = { desk = "roomNumber", deskNumber = "employeeNumber" }
[targets.default.backends.local]
kind = "store"
`,
    });
    const ask = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${gateway.httpUrl}/scim/v2/default${path}`, {
        method,
        headers: { authorization: basic(WRITER), "content-type": "application/scim+json" },
        ...body === undefined ? {} : { body: JSON.stringify(body) },
      });
      const json: Readonly<Record<string, unknown>> = await response.json();
      return { status: response.status, desk: json[URN], id: String(json.id) };
    };
    const dn = `uid=ada,${slapd.usersDn}`;
    const ldap = viewOf(slapd);
    const stored = async () => {
      const entry = await ldap.entry(dn);
      return [entry?.roomNumber, entry?.employeeNumber];
    };
    try {
      const { status, id } = await ask("POST", "/Users", {
        schemas: [USER_URN, URN],
        userName: "ada",
        name: { familyName: "Lovelace", givenName: "Ada" },
        [URN]: { desk: "A 1", number: 7, plants: "two" },
      });
      assertEquals([status, await stored()], [201, [["A 1"], ["7"]]]);
      await ldap.replace(dn, "roomNumber", ["B 2"]);
      await ldap.replace(dn, "employeeNumber", ["9"]);
      const { code, stderr } = await gateway.command("cli/refresh.ts", "default");
      assertEquals([code, stderr], [0, ""]);
      const desk = { desk: "B 2", number: 9, plants: "two" };
      assertEquals((await ask("GET", `/Users/${id}`)).desk, desk);
      const patch = {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        Operations: [{ op: "replace", path: `${URN}:desk`, value: "C 3" }],
      };
      assertEquals((await ask("PATCH", `/Users/${id}`, patch)).desk, { ...desk, desk: "C 3" });
      assertEquals(await stored(), [["C 3"], ["9"]]);
    } finally {
      await gateway.dispose();
      await slapd.dispose();
    }
  },
);
