// Read-only attributes of a backend on the wire: a real slapd and a SCIM server of another vendor.

import { assertEquals } from "@std/assert";
import { systemClock } from "../../../platform/runtime.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startScimmy } from "../../support/scimmy_server.ts";
import { startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { openScim, scimSettings } from "./scim_client.ts";
import { silentLog } from "./silent_log.ts";
import { readContent, user, value } from "./suite.ts";

const READ_ONLY = ["title", "emails[].value", "name.familyName"];
const mail = (address: string) => [{ value: address }];
const OWN = {
  title: "of the directory",
  emails: mail("own@example.org"),
  name: { familyName: "Own", givenName: "" },
};
const OURS = {
  title: "ours",
  emails: mail("ours@example.org"),
  name: { familyName: "Ours", givenName: "Anna" },
  displayName: "Anna L",
};

const attributesOf = async (backend: Backend) =>
  (await readContent(backend, { kind: "user", name: "anna" }))?.attributes ?? {};
const brief = ({ title, emails, name, displayName }: JsonObject) => ({
  title,
  mails: Array.isArray(emails) ? emails.map((one) => (one as JsonObject).value) : emails,
  name,
  displayName,
});

/** @param writer writes everything; `keeper` has three attributes that are read-only. */
async function keepsItsOwn(writer: Backend, keeper: Backend): Promise<void> {
  value(await writer.put({ content: { ...user("anna"), attributes: OWN } }));
  value(await keeper.put({ content: { ...user("anna"), attributes: OURS } }));
  const name = { familyName: "Own", givenName: "Anna" };
  const expected = { title: OWN.title, mails: ["own@example.org"], name, displayName: "Anna L" };
  assertEquals(brief(await attributesOf(keeper)), expected);
  // An attribute that is removed here stays there as well.
  const bare = { name: { familyName: "", givenName: "Anna" }, displayName: "Anna L" };
  value(await keeper.put({ content: { ...user("anna"), attributes: bare } }));
  assertEquals(brief(await attributesOf(keeper)), expected);
}

testNeeding({ peers: ["slapd"] }, "createLdapBackend() never writes read-only attributes", async () => {
  const slapd = await startSlapd();
  const open = (readOnly: readonly string[]) =>
    createLdapBackend({
      settings: ldapSettings(slapd, { readOnly }),
      mapping: createMapping({ user: {}, group: {} }),
      clock: systemClock,
      log: silentLog(),
    });
  const [writer, keeper] = [open([]), open(READ_ONLY)];
  try {
    await keepsItsOwn(writer, keeper);
    // A new entry has the attributes that its class requires, and no other read-only ones.
    value(await keeper.put({ content: { ...user("bert"), attributes: OURS } }));
    const made = (await readContent(keeper, { kind: "user", name: "bert" }))?.attributes ?? {};
    assertEquals(brief(made), {
      title: undefined,
      mails: undefined,
      name: { familyName: "", givenName: "Anna" },
      displayName: "Anna L",
    });
  } finally {
    await Promise.all([writer.close(), keeper.close()]);
    await slapd.dispose();
  }
});

Deno.test("createScimBackend() sends read-only attributes of the server back unchanged", async () => {
  const server = await startScimmy();
  const reach = { url: server.url, token: server.token };
  const [writer, keeper] = [
    openScim(scimSettings(reach)),
    openScim(scimSettings({ ...reach, readOnly: READ_ONLY })),
  ];
  try {
    await keepsItsOwn(writer.backend, keeper.backend);
    const before = server.requests.filter((line) => line.startsWith("PUT")).length;
    const same = { name: { familyName: "Else", givenName: "Anna" }, displayName: "Anna L", title: "else" };
    value(await keeper.backend.put({ content: { ...user("anna"), attributes: same } }));
    const after = server.requests.filter((line) => line.startsWith("PUT")).length;
    assertEquals(after, before, "a difference in nothing but what is kept is no reason to write");
    value(await keeper.backend.put({ content: { ...user("bert"), attributes: OURS } }));
    const bert = [...server.users.values()].find(({ userName }) => userName === "bert");
    assertEquals([bert?.title, bert?.displayName], [undefined, "Anna L"]);
  } finally {
    await Promise.all([writer.close(), keeper.close()]);
    await server.close();
  }
});
