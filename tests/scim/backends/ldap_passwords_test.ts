// The change of a user's password by the old one: OpenLDAP with a password policy (RFC 3062), and Active Directory (unicodePwd).

import { assertEquals, assertRejects } from "@std/assert";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import { systemClock } from "../../../platform/runtime.ts";
import type { Backend, PasswordChange } from "../../../scim/backend_port.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import type { LdapChange } from "../../../scim/backends/ldap/ldap_client.ts";
import type { LdapConnection } from "../../../scim/backends/ldap/ldap_connection.ts";
import {
  changePassword,
  encodePasswordModify,
  encodeUnicodePassword,
} from "../../../scim/backends/ldap/ldap_writes.ts";
import type { LdapPool } from "../../../scim/backends/ldap/ldap_pool.ts";
import { LdapRefusal } from "../../../scim/backends/ldap/ldap_result_codes.ts";
import { createLdapLayout } from "../../../scim/backends/ldap/ldap_schemas.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";

Deno.test("encodePasswordModify() writes the old password between the name and the new one (RFC 3062 §2)", () => {
  assertEquals([...encodePasswordModify("a", { old: "o", next: "nn" })], [
    ...[0x30, 10, 0x80, 1, 0x61, 0x81, 1, 0x6f, 0x82, 2, 0x6e, 0x6e],
  ]);
});

/** What Active Directory and Samba answer, and what it means. */
const ANSWERS: readonly (readonly [code: number, text: string, result: PasswordChange | null])[] = [
  [0, "", "changed"],
  [19, "0000052D: AtrErr: DSID-03190FD6, #1:\n\t0: 0000052D: problem 1005 (CONSTRAINT_ATT_TYPE)", "refused"],
  [53, "0000052D: SvcErr: DSID-031A12D2, problem 5003 (WILL_NOT_PERFORM), data 0", "refused"],
  [19, "check_password_restrictions: the password does not meet the complexity criteria!", "refused"],
  [19, "00000056: AtrErr: DSID-03191083, #1:\n\t0: 00000056: problem 1005 (CONSTRAINT_ATT_TYPE)", "wrong"],
  // Without TLS, and without the permission.
  [53, "0000001F: SvcErr: DSID-031A12D2, problem 5003 (WILL_NOT_PERFORM), data 0", null],
  [50, "00000005: SecErr: DSID-031A11ED, problem 4003 (INSUFF_ACCESS_RIGHTS), data 0", null],
];

for (const [code, text, result] of ANSWERS) {
  Deno.test(`changePassword() at Active Directory: ${code} ${text.slice(0, 30)} is ${result ?? "a fault"}`, async () => {
    const made: { dn: string; changes: readonly LdapChange[] }[] = [];
    const connection: Pick<LdapConnection, "modify"> = {
      modify(dn, changes) {
        made.push({ dn, changes });
        return code === 0 ? Promise.resolve() : Promise.reject(new LdapRefusal(code, text));
      },
    };
    const pool = {
      use: (task: (one: LdapConnection) => Promise<unknown>) => task(connection as LdapConnection),
    } as unknown as LdapPool;
    const layout = createLdapLayout({
      schema: "active_directory",
      usersDn: "ou=p",
      groupsDn: "",
      attributes: {},
    });
    const entry = { dn: "cn=ada,ou=p", texts: new Map(), octets: new Map() };
    const deps = { bound: pool, unbound: pool, layout, find: () => Promise.resolve(entry) };
    const change = changePassword(deps, { old: "Old1", next: "New2" }, 0);
    if (result === null) await assertRejects(() => change, LdapRefusal);
    else assertEquals(await change, result);
    // A reset, which is a replacement, would ignore the old password and the policy for users.
    assertEquals(made, [{
      dn: "cn=ada,ou=p",
      changes: [
        { operation: "delete", attribute: "unicodePwd", values: [encodeUnicodePassword("Old1")] },
        { operation: "add", attribute: "unicodePwd", values: [encodeUnicodePassword("New2")] },
      ],
    }]);
  });
}

const POLICY = `
dn: cn=policy,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdMustChange: TRUE
pwdMinLength: 8
pwdCheckQuality: 2
pwdInHistory: 3
pwdSafeModify: FALSE
pwdAllowUserChange: TRUE
pwdMaxAge: 3000000
pwdLockout: TRUE
pwdMaxFailure: 5
`;
const DATABASE = `overlay ppolicy
ppolicy_default "cn=policy,dc=example,dc=org"
ppolicy_use_lockout
access to attrs=userPassword by self write by dn.exact="cn=gateway,dc=example,dc=org" write by anonymous auth
access to * by * read`;

const person = (uid: string, more: string) => `
dn: uid=${uid},ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
sn: ${uid}
userPassword: Old-Pa55word
${more}
`;
const GATEWAY = `
dn: cn=gateway,dc=example,dc=org
objectClass: person
cn: gateway
sn: gateway
userPassword: gateway-Pa55word
`;
const NEEDS = { peers: ["slapd", "opensslProgram"] } as const;

testNeeding(
  NEEDS,
  "changePassword() at slapd changes a password that must be changed, under the policy for users",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "certificates-" });
    const authority = await makeAuthority(folder);
    const slapd = await startSlapd({
      ...{ global: "moduleload ppolicy", database: DATABASE, tls: await authority.issue(["IP:127.0.0.1"]) },
      entries: POLICY + GATEWAY + person("must", "pwdReset: TRUE") +
        person("expired", "pwdChangedTime: 20200101000000Z") + person("fine", ""),
    });
    const open = (more: Partial<LdapBackendSettings>): Backend =>
      createLdapBackend({
        settings: ldapSettings(slapd, {
          ...{ url: [slapd.tlsUrl], caPem: authority.caPem, passwordChange: true },
          ...{ bindDn: "cn=gateway,dc=example,dc=org", bindPassword: "gateway-Pa55word", ...more },
        }),
        mapping: createMapping({ user: {}, group: {} }),
        ...{ clock: systemClock, log: silentLog() },
      });
    const backend = open({});
    const [plain, off] = [open({ url: [slapd.url] }), open({ passwordChange: false })];
    const verify = async (name: string, password: string) => {
      const outcome = await backend.verify?.(name, new TextEncoder().encode(password));
      return outcome?.ok === true ? outcome.value : outcome?.fault.detail;
    };
    const change = async (name: string, old: string, next: string) => {
      const outcome = await backend.changePassword?.(name, { old, next });
      return outcome?.ok === true ? outcome.value : outcome?.fault.detail;
    };
    try {
      assertEquals(await verify("must", "Old-Pa55word"), "password_must_change");
      assertEquals(await change("must", "Old-Pa55word", "short"), "refused");
      assertEquals(await change("must", "Old-Pa55word", "Old-Pa55word"), "refused");
      assertEquals(await change("must", "Wrong-Pa55word", "New-Pa55word"), "wrong");
      assertEquals(await change("nobody", "Old-Pa55word", "New-Pa55word"), "wrong");
      assertEquals(await change("must", "Old-Pa55word", "New-Pa55word"), "changed");
      assertEquals(await verify("must", "New-Pa55word"), "right");
      assertEquals(await verify("must", "Old-Pa55word"), "wrong");
      // This user may not bind any more, so the account of the gateway changes the password.
      assertEquals(await verify("expired", "Old-Pa55word"), "password_expired");
      assertEquals(await change("expired", "Wrong-Pa55word", "New-Pa55word"), "wrong");
      assertEquals(await change("expired", "Old-Pa55word", "short"), "refused");
      assertEquals(await change("expired", "Old-Pa55word", "New-Pa55word"), "changed");
      assertEquals(await verify("expired", "New-Pa55word"), "right");
      assertEquals([plain.changePassword, off.changePassword], [undefined, undefined]);
    } finally {
      await Promise.all([backend.close(), plain.close(), off.close()]);
      await slapd.dispose();
      await Deno.remove(folder, { recursive: true });
    }
  },
);
