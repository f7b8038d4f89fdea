// Logins at two LDAP servers with the real program: other names of a user, the change of a password that is over, and the second server.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { makeAuthority } from "../support/certificates.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { type Slapd, type SlapdOptions, startSlapd } from "../support/slapd.ts";
import { totpCode } from "../support/totp.ts";
import { clients, newPort, send } from "./radclient_login.ts";

const SEED = "twenty octets of seed";
const SEED_BASE32 = "OR3WK3TUPEQG6Y3UMV2HGIDPMYQHGZLFMQ";
const UPN = "anna.smith@corp.example";
const NAMES = ["anna", UPN, "CORP\\\\anna"];
const [OLD, NEW, AT_SECOND] = ["Old-Pa55word", "New-Pa55word", "Other-Pa55word"];

/** A password that an administrator set must be changed (slapo-ppolicy, pwdMustChange). */
const POLICY: SlapdOptions = {
  global: "moduleload ppolicy",
  database: `overlay ppolicy
ppolicy_default "cn=policy,dc=example,dc=org"
access to attrs=userPassword by self write by anonymous auth
access to * by * read`,
  entries: `
dn: cn=policy,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdMustChange: TRUE
pwdMinLength: 8
pwdCheckQuality: 2
`,
};
const ANNA = `
dn: uid=anna,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: anna
cn: anna
sn: anna
mail: ${UPN}
userPassword: ${AT_SECOND}
`;

const target = (first: Slapd, second: Slapd, caFile: string) => `
[targets.default.backends.local]
kind = "store"

[targets.default.backends.directory]
kind = "ldap"
url = ["${first.tlsUrl}", "${second.tlsUrl}"]
ca_cert = "${caFile}"
bind_dn = "${first.bindDn}"
bind_password = "${first.bindPassword}"
users_dn = "${first.usersDn}"
user_filter = "(|(uid={account})(mail={name}))"
user_domains = ["CORP"]
password_change = true
timeout_ms = 20000
`;

async function createAnna(scim: Caller): Promise<void> {
  const created = await scim.post("/Users", { userName: "anna", emails: [{ value: UPN }], password: OLD });
  assertEquals(created.status, 201, created.text);
}

testNeeding(
  { peers: ["slapd", "radclient", "opensslProgram"] },
  "a user signs in by each name, changes a password that is over, and signs in at the second server",
  async (context) => {
    const folder = await Deno.makeTempDir({ prefix: "certificates-" });
    const authority = await makeAuthority(folder);
    const tls = await authority.issue(["IP:127.0.0.1"]);
    await Deno.writeTextFile(`${folder}/ca-to-trust.pem`, authority.caPem);
    const first = await startSlapd({ ...POLICY, tls });
    const second = await startSlapd({ tls, entries: ANNA });
    const toml = credentialsToml(["default"]) + clients(["ldap"]) +
      target(first, second, `${folder}/ca-to-trust.pem`);
    await using world = await startProgramWithServices({ toml });
    const scim = createCaller(world.gateway, { account: WRITER, target: "default" });
    /** Types the texts one after the other. Resolves to the last reply. */
    const login = async (user: string, ...texts: string[]) => {
      const place = newPort();
      let reply = { code: "", state: "", message: "" };
      for (const password of texts) {
        const state = reply.state === "" ? {} : { state: reply.state };
        reply = await send(world, { user, password, factor: "ldap", place, ...state });
      }
      return reply;
    };
    const code = () => totpCode(SEED, Date.now());
    try {
      await createAnna(scim);
      await world.pair("anna", "--totp", SEED_BASE32);

      await context.step("the new password twice, the second factor, and then the change", async () => {
        const asked = await login(UPN, OLD);
        assertStringIncludes(asked.message, "Your password has expired. Enter a new password.");
        const refused = await login(UPN, OLD, "short", "short", code());
        assertStringIncludes(refused.message, "The new password is not allowed");
        // A code is valid once. After a refused password, none is asked for.
        const nextCode = totpCode(SEED, Date.now() + 30_000);
        assertEquals((await login(UPN, OLD, "short", "short", nextCode, NEW, NEW)).code, "Accept");
        assertEquals((await login("anna", OLD)).code, "Reject");
      });

      await context.step("each name finds the user, and no other one does", async () => {
        const replies = await Promise.all(NAMES.map((user) => login(user, NEW)));
        assertEquals(replies.map(({ message }) => message.includes("passcode")), [true, true, true]);
        const others = ["OTHER\\\\anna", "anna@corp.example", "*", "anna)(mail=*"];
        const codes = await Promise.all(others.map(async (user) => (await login(user, NEW)).code));
        assertEquals(codes, others.map(() => "Reject"));
      });

      await context.step("the second server checks passwords while the first one is down", async () => {
        await first.stop();
        const replies = await Promise.all(NAMES.map((user) => login(user, AT_SECOND)));
        assertEquals(replies.map(({ message }) => message.includes("passcode")), [true, true, true]);
        assertEquals((await login("anna", NEW)).code, "Reject");
        const metrics = await (await fetch(new URL("/metrics", world.gateway.httpUrl))).text();
        assertStringIncludes(metrics, "countersign_directory_servers 2\n");
        assertStringIncludes(metrics, "countersign_directory_servers_down 1\n");
      });
    } finally {
      await Promise.all([first.dispose(), second.dispose()]);
      await Deno.remove(folder, { recursive: true });
    }
  },
);
