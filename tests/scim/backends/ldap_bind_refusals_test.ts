// Why an LDAP server refused the bind of a user: the words of its answer, and a real slapd with a password policy.

import { assertEquals } from "@std/assert";
import { systemClock } from "../../../platform/runtime.ts";
import { openLdapConnection } from "../../../scim/backends/ldap/ldap_connection.ts";
import { readBindRefusal } from "../../../scim/backends/ldap/ldap_bind_refusals.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";

const WINDOWS = (code: string) =>
  `80090308: LdapErr: DSID-0C090447, comment: AcceptSecurityContext error, data ${code}, v3839\0`;

const ANSWERS: readonly (readonly [text: string, refusal: string | null])[] = [
  [WINDOWS("525"), null],
  [WINDOWS("52e"), null],
  [WINDOWS("530"), "sign_in_hours"],
  [WINDOWS("531"), "sign_in_place"],
  [WINDOWS("532"), "password_expired"],
  [WINDOWS("533"), "account_disabled"],
  [WINDOWS("701"), "account_expired"],
  [WINDOWS("773"), "password_must_change"],
  [WINDOWS("775"), "account_locked"],
  [WINDOWS("5320"), null],
  ["password expired!", "password_expired"],
  ["Account inactivated. Contact system administrator.", "account_disabled"],
  ["Exceed password retry limit. Please try later.", "account_locked"],
  ["NDS error: password expired (-223)", "password_expired"],
  ["NDS error: failed authentication (-669)", null],
  ["Simple Bind Failed: NT_STATUS_PASSWORD_MUST_CHANGE", "password_must_change"],
  ["Simple Bind Failed: NT_STATUS_LOGON_FAILURE", null],
  ["Invalid credentials", null],
  ["", null],
];
for (const [text, refusal] of ANSWERS) {
  Deno.test(`readBindRefusal() returns ${refusal} for ${JSON.stringify(text.slice(0, 90))}`, () => {
    assertEquals(readBindRefusal(text, undefined), refusal);
  });
}

Deno.test("readBindRefusal() reads the error of the password policy control", () => {
  const errors = [0, 1, 2, 3, undefined].map((error) => readBindRefusal("", error));
  assertEquals(errors, ["password_expired", "account_locked", "password_must_change", null, null]);
});

const person = (uid: string, more: string) =>
  `dn: uid=${uid},ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
sn: ${uid}
userPassword: right
${more}
`;

testNeeding(
  { peers: ["slapd"] },
  "verify() names what the password policy of a slapd says, and only for the right password",
  async () => {
    const slapd = await startSlapd({
      global: "moduleload ppolicy",
      database: [
        "overlay ppolicy",
        'ppolicy_default "cn=policy,dc=example,dc=org"',
        "ppolicy_use_lockout",
      ].join("\n"),
      entries: [
        "dn: cn=policy,dc=example,dc=org\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\n" +
        "pwdAttribute: userPassword\npwdMaxAge: 86400\npwdMustChange: TRUE\npwdLockout: TRUE\n",
        person("fresh", `pwdChangedTime: ${new Date().toISOString().replaceAll(/[-:T]|\.\d+/g, "")}`),
        person("expired", "pwdChangedTime: 20200101000000Z"),
        person("reset", "pwdReset: TRUE"),
        person("locked", "pwdAccountLockedTime: 000001010000Z"),
      ].join("\n"),
    });
    const backend = createLdapBackend({
      settings: ldapSettings(slapd),
      mapping: createMapping({ user: {}, group: {} }),
      clock: systemClock,
      log: silentLog(),
    });
    try {
      const verdicts: unknown[] = [];
      for (const name of ["fresh", "expired", "reset", "locked"]) {
        for (const password of ["right", "wrong"]) {
          const verdict = await backend.verify?.(name, new TextEncoder().encode(password));
          verdicts.push(
            [name, password, verdict?.ok === true ? verdict.value : verdict?.fault.detail].join(" "),
          );
        }
      }
      assertEquals(verdicts, [
        "fresh right right",
        "fresh wrong wrong",
        "expired right password_expired",
        "expired wrong wrong",
        "reset right password_must_change",
        "reset wrong wrong",
        "locked right account_locked",
        "locked wrong account_locked",
      ]);
    } finally {
      await backend.close();
      await slapd.dispose();
    }
  },
);

/** A server that answers each request with invalidCredentials and a text (RFC 4511 §4.2.2). */
function startRefusingServer(text: string): { readonly url: string } & Disposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const octets = new TextEncoder().encode(text);
  const result = [0x0a, 1, 49, 4, 0, 4, octets.length, ...octets];
  const serve = async () => {
    for await (const connection of listener) {
      const request = new Uint8Array(4096);
      while (await connection.read(request).catch(() => null) !== null) {
        // The message id of a short request is its fifth octet.
        const body = [2, 1, request[4] ?? 0, 0x61, result.length, ...result];
        await connection.write(Uint8Array.of(0x30, body.length, ...body)).catch(() => undefined);
      }
      connection.close();
    }
  };
  serve().catch((fault: unknown) => {
    if (!(fault instanceof Deno.errors.BadResource)) throw fault;
  });
  return {
    url: `ldap://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    [Symbol.dispose]: () => listener.close(),
  };
}

for (
  const [code, expected] of [["532", "password_expired"], ["775", "account_locked"], [
    "52e",
    "wrong",
  ]] as const
) {
  Deno.test(`bindUser() resolves to ${expected} for Active Directory's data ${code}`, async () => {
    using server = startRefusingServer(WINDOWS(code));
    const settings = {
      url: server.url,
      startTls: false,
      caPem: "",
      bindDn: "",
      bindPassword: "",
      timeoutMs: 5000,
    };
    const deadlineMs = systemClock.nowMs() + 5000;
    const connection = await openLdapConnection(settings, { clock: systemClock, deadlineMs });
    try {
      assertEquals(await connection.bindUser("cn=anna", "right"), expected);
    } finally {
      connection.close();
    }
  });
}
