// The LDAP backend: names, values, refusals of the bind, and Active Directory.

import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../../platform/runtime.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { type Slapd, startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";
import { group, readContent, testBackend, user, value } from "./suite.ts";
import fc from "../../packages/fast_check.ts";
import { dnKey, escapeDnValue, firstRdn, makeDn } from "../../../scim/backends/ldap/ldap_dn.ts";
import { type LdapConnection, openLdapConnection } from "../../../scim/backends/ldap/ldap_connection.ts";
import type { LdapEntry, LdapSearch } from "../../../scim/backends/ldap/ldap_client.ts";
import { LdapRefusal, readBindRefusal } from "../../../scim/backends/ldap/ldap_result_codes.ts";
import { readMemberDns } from "../../../scim/backends/ldap/ldap_members.ts";
import { encodePasswordModify, encodeUnicodePassword } from "../../../scim/backends/ldap/ldap_writes.ts";
import { createLdapLayout } from "../../../scim/backends/ldap/ldap_schemas.ts";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import { ACTIVE_DIRECTORY_SCHEMA } from "../../support/active_directory_schema.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { runProgram } from "../../support/child.ts";

// The LDAP backend against a real slapd.

const NEEDS = { peers: ["slapd"] } as const;

const mapping = createMapping({ user: {}, group: {} });

testBackend("createLdapBackend() on slapd", {
  register: (name, body) => testNeeding(NEEDS, name, body),
  open: async () => {
    const slapd = await startSlapd();
    const backend = createLdapBackend({
      settings: ldapSettings(slapd),
      mapping,
      clock: systemClock,
      log: silentLog(),
    });
    return {
      backend,
      storesUnknownMembers: true,
      async dispose() {
        await backend.close();
        await slapd.dispose();
      },
    };
  },
});

// Distinguished names: escaping and parsing round-trip any text.

const ESCAPED: readonly (readonly [string, string])[] = [
  ['James "Jim" Smith, III', 'James \\"Jim\\" Smith\\, III'],
  ["Before\rAfter", "Before\\0dAfter"],
  ["Lučić", "Lučić"],
  ["#hash", "\\#hash"],
  ["a#b", "a#b"],
  [" lead", "\\ lead"],
  ["trail ", "trail\\ "],
  [" ", "\\ "],
  ["a\0b", "a\\00b"],
  ["a,ou=x", "a\\,ou\\=x"],
  ["a+b;c<d>e\\f", "a\\+b\\;c\\<d\\>e\\\\f"],
];

for (const [value, text] of ESCAPED) {
  Deno.test(`escapeDnValue() writes ${JSON.stringify(value)} as in RFC 4514`, () => {
    assertEquals(escapeDnValue(value), text);
    assertEquals(firstRdn(makeDn({ attribute: "uid", value }, "ou=people"))?.value, value);
  });
}

Deno.test("firstRdn() returns the value that makeDn() wrote", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (value) => {
    assertEquals(firstRdn(makeDn({ attribute: "uid", value }, "dc=x")), { attribute: "uid", value });
  }));
});

const READ: readonly (readonly [string, string | null])[] = [
  ["UID=anna,ou=people", "anna"],
  ["uid = anna , ou=people", "anna"],
  ["cn=Lu\\C4\\8Di\\C4\\87,dc=x", "Lučić"],
  ["cn=a\\20,dc=x", "a "],
  // An em space is not a blank of the syntax.
  ["cn=\u2003\\ ,dc=x", "\u2003 "],
  ["cn=a+sn=b,dc=x", null],
  ["cn=#0403414243,dc=x", null],
  ["cn=\\FF,dc=x", null],
  ["cn=a\\", null],
  ["=a,dc=x", null],
  ["nothing", null],
  ["", null],
];

for (const [dn, value] of READ) {
  Deno.test(`firstRdn() reads ${JSON.stringify(dn)}`, () => assertEquals(firstRdn(dn)?.value ?? null, value));
}

Deno.test("dnKey() ignores case and blanks around commas", () => {
  assertEquals(dnKey("UID=Anna, OU=People"), dnKey("uid=anna,ou=people"));
});

// The parts of the LDAP backend that need no directory.

const PLACES = { usersDn: "ou=p", groupsDn: "ou=g", attributes: {} } as const;

Deno.test("memberDns() follows Active Directory's ranges to the end (MS-ADTS 3.1.1.3.1.3.3)", async () => {
  const all = Array.from({ length: 3100 }, (_, n) => `cn=m${n},ou=p`);
  const asked: string[] = [];
  const part = (from: number): LdapEntry => {
    const to = Math.min(all.length, from + 1500);
    const last = to === all.length ? "*" : String(to - 1);
    return {
      dn: "cn=g,ou=g",
      texts: new Map([[`member;range=${from}-${last}`, all.slice(from, to)]]),
      octets: new Map(),
    };
  };
  const connection: Pick<LdapConnection, "search"> = {
    search({ attributes: [attribute = ""] }: LdapSearch) {
      asked.push(attribute);
      return Promise.resolve([part(Number(/range=(\d+)/.exec(attribute)?.[1]))]);
    },
  };
  const layout = createLdapLayout({ schema: "active_directory", ...PLACES });
  assertEquals(await readMemberDns(connection as LdapConnection, { entry: part(0), layout }), all);
  assertEquals(asked, ["member;range=1500-*", "member;range=3000-*"]);
});

Deno.test("encodePasswordModify() returns the octets of RFC 3062 §2", () => {
  assertEquals([...encodePasswordModify("a", { next: "bc" })], [0x30, 7, 0x80, 1, 0x61, 0x82, 2, 0x62, 0x63]);
  const long = encodePasswordModify("d".repeat(300), { next: "p".repeat(70_000) });
  assertEquals([...long.subarray(0, 5)], [0x30, 0x83, 1, 0x12, 0xa5]);
  assertEquals(long.length, 5 + 0x112a5);
});

Deno.test("encodeUnicodePassword() adds quotes and writes UTF-16, low octet first", () => {
  assertEquals([...encodeUnicodePassword("n€")], [0x22, 0, 0x6e, 0, 0xac, 0x20, 0x22, 0]);
});

Deno.test("createLdapLayout() replaces attributes of the schema by those of the settings, and drops empty ones", () => {
  const layout = createLdapLayout({
    schema: "openldap",
    usersDn: "ou=p",
    groupsDn: "ou=g",
    attributes: {
      userName: "mail",
      phoneNumber: "mobile",
      title: "",
      costCenter: "roomNumber",
      active: "employeeType",
    },
  });
  assertEquals([layout.user.naming, layout.user.rdn, layout.activeText], ["mail", "mail", "employeeType"]);
  const rows = new Map(layout.user.rows.map((row) => [row.frontEnd, row.ldap]));
  assertEquals([rows.get("phoneNumber"), rows.get("title"), rows.get("costCenter")], [
    "mobile",
    undefined,
    "roomNumber",
  ]);
  assertEquals(rows.has("active"), false);
});

/** What directories say about a value that must be unique, or about another value. */
const CONSTRAINTS: readonly (readonly [text: string, isTaken: boolean])[] = [
  ["some attributes not unique", true],
  ['Another entry with the same attribute value already exists (attribute: "mail")', true],
  ["A unique attribute conflict was detected for attribute mail", true],
  ["000021C8: AtrErr: DSID-03200BBA, data 0, Att 90290 (userPrincipalName)", true],
  ["mail: value is too long", false],
];

Deno.test("LdapRefusal knows a value that another entry has", () => {
  for (const [text, isTaken] of CONSTRAINTS) {
    assertEquals(new LdapRefusal(19, text).fault.isTaken ?? false, isTaken, text);
  }
});

const CODES: readonly (readonly [number, string, boolean])[] = [
  [19, "refused", false],
  [32, "refused", true],
  [49, "refused", true],
  [50, "refused", true],
  [51, "busy", true],
  [52, "unreachable", true],
  [53, "refused", false],
  [68, "refused", true],
  [9999, "refused", true],
];

for (const [code, kind, retry] of CODES) {
  Deno.test(`LdapRefusal maps code ${code} to ${kind}`, () => {
    const { fault } = new LdapRefusal(code, "server\nwords");
    assertEquals([fault.kind, fault.retry, fault.unsure], [kind, retry, false]);
    assertEquals(fault.detail.includes("server words"), true);
  });
}

// The LDAP backend with Active Directory's tables, against a slapd that imitates it.

const PEERS_WITH_TLS = { peers: ["slapd", "ldapUtils", "opensslProgram"] } as const;
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
  register: (name, body) => testNeeding(PEERS_WITH_TLS, name, body),
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
  PEERS_WITH_TLS,
  "put() over TLS sets unicodePwd, enables the account last, and gives a new account a password",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "certificates-" });
    const authority = await makeAuthority(folder);
    const slapd = await startSlapd({ ...LOOKS, tls: await authority.issue(["IP:127.0.0.1"]) });
    const backend = open(slapd, { url: [slapd.tlsUrl], caPem: authority.caPem });
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

testNeeding(
  PEERS_WITH_TLS,
  "put() refuses a password without TLS before it writes anything",
  async () => {
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
  },
);

testNeeding(
  PEERS_WITH_TLS,
  "put() stores further numbers and addresses in the attributes for others",
  async () => {
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
  },
);

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

// Why an LDAP server refused the bind of a user: the words of its answer, and a real slapd with a password policy.

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
    const settings = { url: server.url, startTls: false, caPem: "" };
    const deadlineMs = systemClock.nowMs() + 5000;
    const connection = await openLdapConnection(settings, { clock: systemClock, deadlineMs });
    try {
      assertEquals(await connection.bindUser("cn=anna", "right"), expected);
    } finally {
      connection.close();
    }
  });
}
