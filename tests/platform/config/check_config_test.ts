// `deno task check-config`: its output and its exit code.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { checkConfig, printFaults, replyAttributeProblem } from "../../../cli/check_config.ts";

function run(toml: string, args: readonly string[] = []) {
  return checkConfig(args, {
    env: () => undefined,
    readTextFile: () => toml,
    cwd: "/srv",
    checkReplyAttribute: replyAttributeProblem,
  });
}

const CLIENT = '[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "planted-secret-0123"\n';

Deno.test("checkConfig() reports valid settings with a summary", () => {
  const { out, err, exitCode } = run(`${CLIENT}[radius.reply.default]\nSession-Timeout = 28800\n`);
  assertEquals([exitCode, err], [0, ""]);
  assertStringIncludes(out, "countersign.toml is valid.\n");
  for (const part of ["[::]:1812", "vpn", "127.0.0.1:8080", "embedded outbox", "/srv/data", "1 warning"]) {
    assertStringIncludes(out, part);
  }
  assert(!out.includes("planted"));
});

Deno.test("checkConfig() reports clients whose unsigned requests are accepted, and whose unknown users are rejected", () => {
  const any = run("").out;
  assertStringIncludes(any, "unsigned requests from any address are accepted\n");
  assertStringIncludes(any, "users who are not in the directory are allowed from any address\n");
  const wifi = CLIENT.replace("vpn", "wifi").replace("192.0.2.1", "192.0.2.2");
  const { out } = run(`${CLIENT}first_factor = "directory"\n${wifi}message_authenticator = "off"\n`);
  assertStringIncludes(
    out,
    "unsigned requests from wifi are accepted; unsigned requests from vpn are accepted until the address sends a signed one\n",
  );
  assertStringIncludes(out, "rejected from vpn; allowed from wifi\n");
  const signed = run(`${CLIENT}message_authenticator = "require"\n`).out;
  assertStringIncludes(signed, "unsigned requests are not accepted\n");
  const tls = run('[[radius.client]]\nname = "ap"\ntls.san = "ap.example.org"\n').out;
  assertStringIncludes(tls, "unsigned requests are not accepted\n");
});

Deno.test("checkConfig() lists targets, backends and credentials, without their secrets", () => {
  const { out, err, exitCode } = run(
    'radius.directory = "corp"\n[targets.corp.backends.directory]\nkind = "ldap"\nurl = "ldap://127.0.0.1"\n' +
      'users_dn = "ou=people"\nbind_dn = "cn=a"\nbind_password = "planted-password"\n' +
      '[targets.corp.backends.saas]\nkind = "scim"\nmode = "async"\nurl = "https://a"\ntoken = "planted-token"\n' +
      '[[scim.credential]]\nname = "hr"\npassword = "planted-password"\ntargets = ["corp", "default"]\naccess = "read"\n',
  );
  assertEquals([exitCode, err], [0, ""]);
  for (
    const part of [
      "default (local: store)",
      "corp (directory: ldap; saas: scim, async) for sign-ins",
      "hr (read: corp, default)",
    ]
  ) assertStringIncludes(out, part);
  assert(!out.includes("planted"));
});

Deno.test("checkConfig() prints every fault and ends with 1", () => {
  const { out, err, exitCode } = run(
    'server.log_format = "xml"\n[radius.reply.default]\nNo-Such-Thing = 1\n',
  );
  assertEquals([exitCode, out], [1, ""]);
  assertStringIncludes(err, "2 errors");
  assertStringIncludes(err, '  server.log_format: "xml" is not allowed; it must be "text" or "json"\n');
  assertStringIncludes(err, "No-Such-Thing");
});

Deno.test("checkConfig() explains itself, and refuses arguments that it does not know", () => {
  assertStringIncludes(run("", ["--help"]).out, "deno task check-config");
  assertEquals(run("", ["--help"]).exitCode, 0);
  assertEquals(run("", ["--nope"]).exitCode, 2);
});

Deno.test("printFaults() escapes control characters of a key", () => {
  const text = printFaults([{ key: "a\u001b[2J\u202e", problem: "line\nbreak" }]);
  assertEquals(text, "Cannot use the settings: 1 error\n  a\\u001b[2J\\u202e: line\\u000abreak\n");
});

Deno.test("checkConfig() names the clients of its errors and warnings by name, else by address", () => {
  const off = 'message_authenticator = "off"\n';
  const other = CLIENT.replaceAll("vpn", "wifi").replaceAll("192.0.2.1", "192.0.2.2");
  const { out } = run(
    `${CLIENT}${off}${other}${off}[[radius.client]]\nname = "ap"\ntls.san = "ap.example.org"\n${off}`,
  );
  assertStringIncludes(out, '  radius.client["vpn"].message_authenticator: ');
  assertStringIncludes(out, '  radius.client["wifi"].message_authenticator: ');
  // TLS protects each packet.
  assert(!out.includes('["ap"].message_authenticator'), out);
  const { err } = run(other.replace('name = "wifi"\n', "") + 'nope = 1\n[[scim.credential]]\nname = "hr"\n');
  assertStringIncludes(err, '  radius.client["192.0.2.2"].name: ');
  assertStringIncludes(err, '  radius.client["192.0.2.2"].nope: ');
  assertStringIncludes(err, '  scim.credential["hr"].password: ');
});

Deno.test('checkConfig() warns that "reply" may name the outer identity, and where to verify it', () => {
  const relay =
    `${CLIENT}first_factor = "radius"\nfirst_factor_server = { address = "192.0.2.20:1812", secret = "0123456789abcdef" }\n`;
  const { out } = run(`${relay}eap_outer_identity = "reply"\n`);
  assertStringIncludes(out, '  radius.client["vpn"].eap_outer_identity: "reply" takes');
  assertStringIncludes(out, "another user");
  assertStringIncludes(out, 'docs/vpn-methods.md, "Check it"');
  for (
    const more of [
      "",
      'eap = "gtc"\neap_outer_identity = "reply"\n',
      'eap = "refuse"\neap_outer_identity = "trust"\n',
    ]
  ) {
    assert(!run(relay + more).out.includes("eap_outer_identity"), more);
  }
});
