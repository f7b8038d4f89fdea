// The LDAP backend with Active Directory's tables, against a slapd that imitates it.

import { assert, assertEquals } from "@std/assert";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { ACTIVE_DIRECTORY_SCHEMA } from "../../support/active_directory_schema.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { runProgram } from "../../support/child.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { type Slapd, startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";
import { group, readContent, testBackend, user, value } from "./suite.ts";

const NEEDS = { peers: ["slapd", "ldapUtils", "opensslProgram"] } as const;
const LOOKS = { schema: ACTIVE_DIRECTORY_SCHEMA, lenientPerson: true } as const;

function open(slapd: Slapd, more: Partial<LdapBackendSettings> = {}): Backend {
  return createLdapBackend({
    settings: ldapSettings(slapd, { schema: "active_directory", ...more }),
    mapping: createMapping({ user: {}, group: {} }),
    clock: systemClock,
    log: silentLog(),
  });
}

testBackend("createLdapBackend() with Active Directory's tables", {
  register: (name, body) => testNeeding(NEEDS, name, body),
  open: async () => {
    const slapd = await startSlapd(LOOKS);
    const backend = open(slapd);
    return {
      backend,
      // The real server refuses members that do not exist, so they cannot be stored.
      async dispose() {
        await backend.close();
        await slapd.dispose();
      },
    };
  },
});

testNeeding(
  NEEDS,
  "put() over TLS sets unicodePwd, enables the account last, and gives a new account a password",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "certificates-" });
    const authority = await makeAuthority(folder);
    const slapd = await startSlapd({ ...LOOKS, tls: await authority.issue(["IP:127.0.0.1"]) });
    const backend = open(slapd, { url: slapd.tlsUrl, caPem: authority.caPem });
    try {
      value(await backend.put({ content: user("anna"), password: "pä" }));
      value(await backend.put({ content: user("bare") }));
      value(await backend.put({ content: user("off", {}, { active: false }) }));
      const anna = await attributesOf(slapd, "anna");
      assertEquals(anna.get("userAccountControl"), "512");
      assertEquals(anna.get("unicodePwd"), '"\0p\0\u00e4\0"\0');
      const bare = await attributesOf(slapd, "bare");
      assertEquals(bare.get("userAccountControl"), "512");
      assert((bare.get("unicodePwd") ?? "").length > 80);
      assertEquals((await attributesOf(slapd, "off")).get("userAccountControl"), "514");
      assertEquals((await attributesOf(slapd, "off")).has("unicodePwd"), false);
    } finally {
      await backend.close();
      await slapd.dispose();
      await Deno.remove(folder, { recursive: true });
    }
  },
);

testNeeding(NEEDS, "put() refuses a password without TLS before it writes anything", async () => {
  const slapd = await startSlapd(LOOKS);
  const backend = open(slapd);
  try {
    const outcome = await backend.put({ content: user("anna"), password: "planted-secret-4" });
    assertEquals(outcome.ok ? null : outcome.fault.kind, "unsupported");
    assertEquals(await readContent(backend, { kind: "user", name: "anna" }), null);
  } finally {
    await backend.close();
    await slapd.dispose();
  }
});

testNeeding(NEEDS, "put() stores further numbers and addresses in the attributes for others", async () => {
  const slapd = await startSlapd(LOOKS);
  const backend = open(slapd);
  try {
    const content = user("anna", {
      phoneNumbers: [{ value: "+491" }, { value: "+492" }, { value: "+493" }],
    });
    value(await backend.put({ content }));
    value(await backend.put({ content }));
    assertEquals(await readContent(backend, { kind: "user", name: "anna" }), content);
    assertEquals((await attributesOf(slapd, "anna")).get("telephoneNumber"), "+491");
    value(await backend.put({ content: group("team", ["anna", "stranger"]) }));
    assertEquals(await readContent(backend, { kind: "group", name: "team" }), group("team", ["anna"]));
  } finally {
    await backend.close();
    await slapd.dispose();
  }
});

async function attributesOf(slapd: Slapd, name: string): Promise<Map<string, string>> {
  const { stdout } = await runProgram("ldapsearch", {
    args: [
      ...["-x", "-LLL", "-o", "ldif-wrap=no", "-H", slapd.url, "-D", slapd.bindDn, "-w", slapd.bindPassword],
      ...["-b", slapd.baseDn, `(sAMAccountName=${name})`],
    ],
  });
  const attributes = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const [, attribute = "", colons, text = ""] = /^([^:]+)(::?) (.*)$/.exec(line) ?? [];
    if (colons !== undefined) attributes.set(attribute, colons === "::" ? atob(text) : text);
  }
  return attributes;
}
