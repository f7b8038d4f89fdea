// The LDAP backend against a real slapd: outages, time limits, refusals, certificates, passwords, unmanaged attributes.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import { type Clock, createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { guardBackend } from "../../../scim/backends/guarded_backend.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import { BackendListError } from "../../../scim/backends/backend_error.ts";
import type { Backend, BackendFault, BackendOutcome } from "../../../scim/backend_port.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { runProgram } from "../../support/child.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { type Slapd, type SlapdOptions, startSlapd } from "../../support/slapd.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";
import { group, listAll, readContent, user, value } from "./suite.ts";

const NEEDS = { peers: ["slapd", "ldapUtils", "opensslProgram"] } as const;
const mapping = createMapping({ user: {}, group: {} });

type BackendOptions = Partial<LdapBackendSettings> & { readonly clock?: Clock };

function open(
  slapd: Slapd,
  { clock = systemClock, ...more }: BackendOptions = {},
): Backend {
  const settings = ldapSettings(slapd, more);
  const log = silentLog();
  const { connections } = settings;
  const backend = createLdapBackend({ settings, mapping, clock, log });
  return guardBackend(backend, { connections, clock, random: createSystemRandom(), log }).backend;
}

async function withSlapd(options: SlapdOptions, body: (slapd: Slapd) => Promise<void>): Promise<void> {
  const slapd = await startSlapd(options);
  try {
    await body(slapd);
  } finally {
    await slapd.dispose();
  }
}

async function withBackend(backend: Backend, body: (backend: Backend) => Promise<void>): Promise<void> {
  try {
    await body(backend);
  } finally {
    await backend.close();
  }
}

/** Runs `body` with its own slapd and a backend of it. */
function testBackend(
  { title, slapd: options = {}, settings = {} }: {
    readonly title: string;
    readonly slapd?: SlapdOptions;
    readonly settings?: BackendOptions;
  },
  body: (given: { readonly slapd: Slapd; readonly backend: Backend }) => Promise<void>,
): void {
  const withOne = (slapd: Slapd) => withBackend(open(slapd, settings), (backend) => body({ slapd, backend }));
  testNeeding(NEEDS, title, () => withSlapd(options, withOne));
}

function faultOf(outcome: BackendOutcome<unknown>): BackendFault {
  if (outcome.ok) throw new Error("a fault was expected");
  return outcome.fault;
}

async function verdictOf(backend: Backend, name: string, password: Uint8Array) {
  const verdict = await backend.verify?.(name, password);
  return verdict?.ok === true ? verdict.value : "unavailable";
}

const octets = (text: string) => new TextEncoder().encode(text);

testBackend(
  { title: "createLdapBackend() connects again to a slapd that restarts" },
  async ({ backend, slapd }) => {
    value(await backend.put({ content: user("anna") }));
    await slapd.stop();
    const fault = faultOf(await backend.put({ content: user("berta") }));
    assertEquals([fault.kind, fault.unsure, fault.retry], ["unreachable", false, true]);
    await assertRejects(() => listAll(backend, "user"), BackendListError);
    await slapd.start();
    value(await backend.put({ content: user("berta") }));
    // The directory restarted between two requests: the kept connection is dead, and this is not noticed.
    await slapd.stop();
    await slapd.start();
    value(await backend.put({ content: user("berta", { title: "Chief" }) }));
    assertEquals((await listAll(backend, "user")).map(({ content }) => content.name), ["anna", "berta"]);
  },
);

testBackend({
  title: "createLdapBackend() sends nothing to an unreachable directory after three failures",
  // The pause is half a second, which does not pass on this clock.
  settings: { clock: createManualClock() },
}, async ({ backend, slapd }) => {
  await slapd.stop();
  for (let count = 0; count < 3; count++) faultOf(await backend.probe());
  const fault = faultOf(await backend.probe());
  assertEquals([fault.kind, fault.unsure], ["unreachable", false]);
  assert((fault.retryAfterMs ?? 0) > 0);
});

testBackend({
  title: "createLdapBackend() reports a wrong bind password and never shows it",
  settings: { bindPassword: "planted-secret-1" },
}, async ({ backend }) => {
  const fault = faultOf(await backend.put({ content: user("anna"), password: "planted-secret-2" }));
  assertEquals([fault.kind, fault.unsure], ["refused", false]);
  assert(!JSON.stringify(fault).includes("planted-secret"));
});

testNeeding(NEEDS, "createLdapBackend() ends its wait for a server that never answers", async () => {
  await withSlapd({}, async (slapd) => {
    const deaf = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const accepted: Deno.Conn[] = [];
    const accepting = (async () => {
      for await (const connection of deaf) accepted.push(connection);
    })();
    const { port } = deaf.addr as Deno.NetAddr;
    const backend = open(slapd, { url: [`ldap://127.0.0.1:${port}`], timeoutMs: 150 });
    await withBackend(backend, async () => {
      assertEquals(faultOf(await backend.read("user", "anna")).kind, "unreachable");
      assertEquals(await verdictOf(backend, "anna", octets("x")), "unavailable");
    });
    deaf.close();
    await accepting;
    for (const connection of accepted) connection.close();
  });
});

testNeeding(
  NEEDS,
  "createLdapBackend() accepts only valid certificates over StartTLS and ldaps",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "certificates-" });
    const authority = await makeAuthority(folder);
    const other = await makeAuthority(await Deno.makeTempDir({ dir: folder }));
    const good = await authority.issue(["DNS:localhost", "IP:127.0.0.1"]);
    await withSlapd({ tls: good }, async (slapd) => {
      for (const way of [{ url: [slapd.tlsUrl] }, { url: [slapd.url], startTls: true }]) {
        await withBackend(open(slapd, { ...way, caPem: authority.caPem }), async (backend) => {
          value(await backend.put({ content: user("anna"), password: "right" }));
          assertEquals(await verdictOf(backend, "anna", octets("right")), "right");
        });
        await withBackend(open(slapd, { ...way, caPem: other.caPem }), async (backend) => {
          const fault = faultOf(await backend.probe());
          assertEquals([fault.kind, fault.unsure], ["unreachable", false]);
          assert(fault.detail.includes("certificate"), fault.detail);
        });
        await withBackend(open(slapd, way), async (backend) => void faultOf(await backend.probe()));
      }
    });
    await withSlapd({ tls: await authority.issue(["DNS:other.example"]) }, async (slapd) => {
      for (const way of [{ url: [slapd.tlsUrl] }, { url: [slapd.url], startTls: true }]) {
        await withBackend(open(slapd, { ...way, caPem: authority.caPem }), async (backend) => {
          assert(faultOf(await backend.probe()).detail.includes("certificate"));
        });
      }
    });
    await Deno.remove(folder, { recursive: true });
  },
);

testBackend(
  { title: "verify() returns right, wrong or unavailable, and never binds without a password" },
  async ({ backend, slapd }) => {
    value(await backend.put({ content: user("anna"), password: "ßecret *)(uid=*" }));
    value(await backend.put({ content: user("nopass") }));
    const cases: readonly (readonly [string, Uint8Array, string])[] = [
      ["anna", octets("ßecret *)(uid=*"), "right"],
      ["ANNA", octets("ßecret *)(uid=*"), "right"],
      ["anna", octets("wrong"), "wrong"],
      ["anna", octets(""), "wrong"],
      ["anna", Uint8Array.of(0xff, 0xfe), "wrong"],
      ["anna", octets("x".repeat(5000)), "wrong"],
      ["*", octets("ßecret *)(uid=*"), "wrong"],
      ["nobody", octets("x"), "wrong"],
      ["nopass", octets("x"), "wrong"],
    ];
    for (const [name, password, expected] of cases) {
      assertEquals(await verdictOf(backend, name, password), expected, name);
    }
    const passwords = Array.from({ length: 50 }, (_, n) => octets(n % 2 === 0 ? "ßecret *)(uid=*" : "no"));
    const burst = await Promise.all(passwords.map((password) => verdictOf(backend, "anna", password)));
    assertEquals(burst.filter((one) => one === "right").length, 25);
    value(await backend.put({ content: user("anna"), password: "next" }));
    assertEquals(await verdictOf(backend, "anna", octets("next")), "right");
    await slapd.stop();
    assertEquals(await verdictOf(backend, "anna", octets("next")), "unavailable");
  },
);

testBackend({ title: "put() lets the directory hash a password" }, async ({ backend, slapd }) => {
  value(await backend.put({ content: user("anna"), password: "planted-secret-3" }));
  const { stdout } = await search(slapd, "(uid=anna)", ["userPassword"]);
  const encoded = /userPassword:: (\S+)/.exec(stdout)?.[1] ?? "";
  assert(atob(encoded).startsWith("{SSHA}"), stdout);
});

testBackend({ title: "put() writes 1,001 users at once: three pages" }, async ({ backend }) => {
  const names = Array.from({ length: 1001 }, (_, n) => `user-${n}`);
  const outcomes = await Promise.all(names.map((name) => backend.put({ content: user(name) })));
  assertEquals(outcomes.filter(({ ok }) => !ok), []);
  assertEquals((await listAll(backend, "user")).length, 1001);
});

testBackend({
  title: "put() keeps attributes that it does not manage, and fills those that the class requires",
  slapd: {
    entries: `dn: cn=Anna M,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Anna M
cn: Anna Maria
sn: Old
uid: anna
description: keep me
givenName;lang-de: Änne
roomNumber: 7
`,
  },
}, async ({ backend, slapd }) => {
  const content = user("anna", { name: { familyName: "New", givenName: "A" } });
  value(await backend.put({ content }));
  const { stdout } = await search(slapd, "(uid=anna)", ["*"]);
  for (const line of ["description: keep me", "roomNumber: 7", "sn: New", "cn: Anna M", "givenName: A"]) {
    assert(stdout.includes(`\n${line}\n`), `${line}\n${stdout}`);
  }
  assert(stdout.includes("givenName;lang-de"));
  const team = group("team", ["anna", "stranger"]);
  value(await backend.put({ content: team }));
  const members = await search(slapd, "(cn=team)", ["member"]);
  assert(members.stdout.includes("member: cn=Anna M,ou=people,dc=example,dc=org"), members.stdout);
  assertEquals(await readContent(backend, { kind: "group", name: "team" }), team);
  value(await backend.put({ content: user("bare") }));
  const bare = await search(slapd, "(uid=bare)", ["sn", "cn"]);
  assert(bare.stdout.includes("sn: bare") && bare.stdout.includes("cn: bare"));
  assertEquals(await readContent(backend, { kind: "user", name: "bare" }), user("bare"));
});

testBackend(
  { title: "remove() removes a user from the groups, and no group is left without a member" },
  async ({ backend }) => {
    for (const name of ["anna", "berta"]) value(await backend.put({ content: user(name) }));
    value(await backend.put({ content: group("both", ["anna", "berta"]) }));
    value(await backend.put({ content: group("alone", ["anna"]) }));
    value(await backend.remove("user", "anna"));
    assertEquals(await readContent(backend, { kind: "group", name: "both" }), group("both", ["berta"]));
    assertEquals(await readContent(backend, { kind: "group", name: "alone" }), group("alone"));
  },
);

testBackend({
  title: "put() reports the result code when the directory refuses",
  slapd: { database: `limits * size=unlimited\nrestrict add` },
}, async ({ backend, slapd }) => {
  const fault = faultOf(await backend.put({ content: user("anna") }));
  assertEquals([fault.kind, fault.unsure, fault.retry], ["refused", false, false]);
  assert(fault.detail.includes("unwillingToPerform"), fault.detail);
  const nowhere = open(slapd, { usersDn: "ou=nowhere,dc=example,dc=org" });
  await withBackend(nowhere, async () => {
    assert(faultOf(await nowhere.read("user", "anna")).detail.includes("noSuchObject"));
  });
});

testBackend(
  { title: "put() refuses a name that the directory treats as the name of another user" },
  async ({ backend }) => {
    const first = user("anna b", { title: "first" });
    value(await backend.put({ content: first }));
    const second = await backend.put({ content: user("anna  b", { title: "second" }) });
    assertEquals(faultOf(second).kind, "refused");
    assertEquals(await readContent(backend, { kind: "user", name: "anna b" }), first);
    assertEquals(await readContent(backend, { kind: "user", name: "anna  b" }), null);
  },
);

testBackend({
  title: "createLdapBackend() stores no groups without groupsDn",
  settings: { groupsDn: "" },
}, async ({ backend }) => {
  assertEquals(backend.holds.groups, false);
  assertEquals(faultOf(await backend.put({ content: group("g") })).kind, "unsupported");
  assertEquals(value(await backend.read("group", "g")), null);
  assertEquals(value(await backend.remove("group", "g")), null);
  assertEquals(await listAll(backend, "group"), []);
});

function search(slapd: Slapd, filter: string, attributes: readonly string[]) {
  return runProgram("ldapsearch", {
    args: [
      ...["-x", "-LLL", "-o", "ldif-wrap=no", "-H", slapd.url, "-D", slapd.bindDn, "-w", slapd.bindPassword],
      ...["-b", slapd.baseDn, filter, ...attributes],
    ],
  });
}

testBackend(
  { title: "createLdapBackend() accepts 256 KiB where one user is expected, and more for a group or a list" },
  async ({ backend, slapd }) => {
    value(await backend.put({ content: user("anna", { title: "x".repeat(200_000) }) }));
    value(await backend.put({ content: user("berta", { title: "x".repeat(300_000) }) }));
    value(await backend.put({ content: user("cleo") }));
    assertEquals(value(await backend.read("user", "anna"))?.content.name, "anna");
    const fault = faultOf(await backend.read("user", "berta"));
    assertEquals([fault.kind, fault.detail], ["nonsense", "the directory's response is too long"]);
    assertEquals(await verdictOf(backend, "berta", octets("pw")), "unavailable");
    assertEquals(value(await backend.read("user", "cleo"))?.content.name, "cleo", "the next request works");
    const names = Array.from({ length: 6000 }, (_, n) => `member-${n}-of-${slapd.usersDn.length}`);
    value(await backend.put({ content: group("team", names) }));
    const read = value(await backend.read("group", "team"))?.content;
    assertEquals(read?.kind === "group" ? read.members.length : 0, 6000);
    assertEquals((await listAll(backend, "user")).length, 3);
  },
);
