// Users of an LDAP directory by the names that they type: user principal name, account name, and DOMAIN\name.

import { assertEquals } from "@std/assert";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import { systemClock } from "../../../platform/runtime.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import { LoginNames } from "../../../scim/backends/login_names.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { unreachableError } from "../../../scim/backends/backend_error.ts";
import { ACTIVE_DIRECTORY_SCHEMA } from "../../support/active_directory_schema.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { type Slapd, startSlapd } from "../../support/slapd.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";
import { user, value } from "./suite.ts";

const FILTER = "(|(sAMAccountName={account})(userPrincipalName={name}))";
/** So that users of the tests have one. */
const ATTRIBUTES = { mail: "userPrincipalName" };

function open(slapd: Slapd, more: Partial<LdapBackendSettings> = {}): Backend {
  const settings = ldapSettings(slapd, {
    ...{ schema: "active_directory", userFilter: FILTER, userDomains: ["CORP", "corp.example"] },
    ...{ attributes: ATTRIBUTES, ...more },
  });
  const mapping = createMapping({ user: {}, group: {} });
  return createLdapBackend({ settings, mapping, clock: systemClock, log: silentLog() });
}

const mail = (address: string) => ({ emails: [{ value: address }] });

const TYPED: readonly (readonly [typed: string, names: readonly string[]])[] = [
  ["alovelace", ["alovelace"]],
  ["ALovelace", ["alovelace"]],
  ["CORP\\alovelace", ["alovelace"]],
  ["ada.lovelace@corp.example", ["alovelace"]],
  // The account of one user is the user principal name of another.
  ["bert@corp.example", ["bert", "carl"]],
  ["OTHER\\alovelace", []],
  ["alovelace@other.example", []],
  // Hostile names are compared as they are.
  ...[
    "*",
    "a*",
    "alovelace)(cn=*",
    "*)(|(cn=*",
    "\\2a",
    "a\\00",
    "{account}",
    "(",
    ")",
    "\\",
    "",
    "CORP\\",
    "CORP\\*",
  ]
    .map((typed) => [typed, []] as const),
];

testNeeding(
  { peers: ["slapd"] },
  "findNames() finds each user by every name, and none by a hostile name",
  async () => {
    const slapd = await startSlapd({ schema: ACTIVE_DIRECTORY_SCHEMA, lenientPerson: true });
    const backend = open(slapd);
    const vpnOnly = open(slapd, { userFilter: `(&${FILTER}(title=vpn))` });
    const octets = new TextEncoder().encode("any");
    try {
      value(await backend.put({ content: user("alovelace", mail("ada.lovelace@corp.example")) }));
      value(await backend.put({ content: user("bert", { title: "vpn" }) }));
      value(await backend.put({ content: user("carl", mail("bert@corp.example")) }));
      for (const [typed, names] of TYPED) {
        const outcome = await backend.findNames?.(typed);
        if (outcome === undefined) throw new Error("the backend finds no names");
        assertEquals(value(outcome).toSorted(), names, typed);
      }
      // The first factor: the filter must find the user by the name, and no other one.
      const verdict = async (one: Backend, name: string) => {
        const outcome = await one.verify?.(name, octets);
        return outcome?.ok === true ? outcome.value : outcome?.fault.kind;
      };
      assertEquals(await verdict(backend, "alovelace"), "wrong");
      assertEquals(await verdict(backend, "ada.lovelace@corp.example"), "wrong");
      assertEquals(await verdict(backend, "bert@corp.example"), "refused");
      assertEquals(value(await vpnOnly.findNames?.("bert") ?? { ok: true, value: [] }), ["bert"]);
      assertEquals(value(await vpnOnly.findNames?.("alovelace") ?? { ok: true, value: ["?"] }), []);
    } finally {
      await backend.close();
      await vpnOnly.close();
      await slapd.dispose();
    }
  },
);

testNeeding(
  { peers: ["slapd"] },
  "verify() checks the password of the user with that name, not of one with another name",
  async () => {
    const slapd = await startSlapd();
    const backend = open(slapd, {
      ...{ schema: "openldap", attributes: {}, userFilter: "(|(uid={account})(mail={name}))" },
    });
    const verdict = async (name: string) => {
      const outcome = await backend.verify?.(name, new TextEncoder().encode("right"));
      return outcome?.ok === true ? outcome.value : outcome?.fault.kind;
    };
    try {
      value(await backend.put({ content: user("anna", mail("bert")), password: "right" }));
      assertEquals([await verdict("anna"), await verdict("bert")], ["right", "wrong"]);
    } finally {
      await backend.close();
      await slapd.dispose();
    }
  },
);

/** A backend that finds these names, or fails. */
function fakeBackend(names: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const backend = {
    name: "corp",
    isDown: false,
    findNames(typed: string) {
      asked.push(typed);
      return Promise.resolve(
        backend.isDown
          ? { ok: false, fault: unreachableError("no answer").fault } as const
          : { ok: true, value: names[typed] ?? [] } as const,
      );
    },
  };
  return { backend, asked };
}

function loginNames(backends: ReturnType<typeof fakeBackend>["backend"][]) {
  const clock = createManualClock();
  return { clock, names: new LoginNames({ backends: () => backends, clock, log: silentLog() }) };
}

Deno.test("LoginNames remembers whom a name means, and asks again after five minutes", async () => {
  const { backend, asked } = fakeBackend({ "Ada@corp": ["alovelace"] });
  const { names, clock } = loginNames([backend]);
  await names.prepare("Ada@corp");
  assertEquals([names.find("ada@CORP"), names.prepare("ada@corp")], [{ name: "alovelace" }, null]);
  clock.advance(300_000);
  await names.prepare("Ada@corp");
  assertEquals(asked, ["Ada@corp", "Ada@corp"]);
});

Deno.test("LoginNames fails while the directory is down, except for a name that it found within the hour", async () => {
  const { backend } = fakeBackend({ "ada@corp": ["alovelace"] });
  const { names, clock } = loginNames([backend]);
  await names.prepare("ada@corp");
  backend.isDown = true;
  clock.advance(1_800_000);
  await names.prepare("ada@corp");
  assertEquals(names.find("ada@corp"), { name: "alovelace" });
  let fault = "";
  for (const typed of ["other@corp", "ada@corp"]) {
    await names.prepare(typed)?.catch((thrown: unknown) => fault = String(thrown));
    assertEquals(fault, "Error: Cannot find the user of a typed name: corp: no answer");
    clock.advance(3_600_000);
  }
});

Deno.test("LoginNames refuses a name that finds several users, at one backend or at two", async () => {
  const two = [fakeBackend({ b: ["bert"], a: ["ada"] }), fakeBackend({ b: ["carl"], a: ["ADA"] })];
  const one = fakeBackend({ x: ["ada", "bert"] });
  const { names } = loginNames([...two, one].map(({ backend }) => backend));
  for (const typed of ["x", "b", "a", "nobody"]) await names.prepare(typed);
  assertEquals(["x", "b", "a", "nobody"].map((typed) => names.find(typed)), [
    ...["several", "several"] as const,
    { name: "ada" },
    null,
  ]);
});

Deno.test("LoginNames lets at most two searches run, and 256 wait", async () => {
  const clock = createManualClock();
  let running = 0;
  let most = 0;
  const release = Promise.withResolvers<void>();
  const backend = {
    name: "corp",
    async findNames() {
      most = Math.max(most, ++running);
      await release.promise;
      running--;
      return { ok: true, value: [] } as const;
    },
  };
  const names = new LoginNames({ backends: () => backends, clock, log: silentLog() });
  const backends = [backend];
  const searches = Array.from({ length: 300 }, (_, at) => names.prepare(`name${at}`));
  release.resolve();
  const results = await Promise.allSettled(searches);
  assertEquals([most, results.filter(({ status }) => status === "rejected").length], [2, 42]);
});
