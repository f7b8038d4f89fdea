// Malicious names, and names that LDAP or slapd treat differently from SCIM.

import { assert, assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { basic, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { textsAt } from "../scim/rows/document_tables.ts";
import { eventuallyPasses, sendRaw, shareIdentityWorld, userBody } from "./identity_world.ts";
import { unhandledLines } from "./unhandled_lines.ts";

// Malicious names and values, with the real listener: each is stored completely and found again, or refused clearly.

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: `${credentialsToml(["default"])}[server]\nlog_level = "debug"` });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
});
Deno.test.afterAll(() => gateway.dispose());

const COLLECTIONS = [["/Users", "userName"], ["/Groups", "displayName"]] as const;

/** Names that no user can have. */
const REFUSED: Readonly<Record<string, string>> = {
  "a step upwards beside a slash": "a/../b",
  "a path": "../../etc/passwd",
  "a step up": "..",
  "a step nowhere": ".",
  "NUL": "a\u0000b",
  "a tab": "a\tb",
  "a line end": "a\r\nX-Evil: 1",
  "DEL": "a\u007f",
  "a C1 control": "a\u0085b",
  "a line separator": "a\u2028b",
  "a bidi override": "anna\u202etxt.exe",
  "a bidi isolate": "a\u2066b\u2069",
  "a lone high surrogate": "a\ud800b",
  "a lone low surrogate": "\udc00",
  "257 characters": "x".repeat(257),
  "257 characters of two code units": "🦊".repeat(257),
  "a megabyte": "x".repeat(1_000_000),
};
for (const [title, name] of Object.entries(REFUSED)) {
  Deno.test(`a name with ${title} is refused: 400 invalidValue, in body, path and members`, async () => {
    for (const [collection, field] of COLLECTIONS) {
      const { status, json, text } = await scim.post(collection, { [field]: name });
      assertEquals([status, json.scimType], [400, "invalidValue"], text.slice(0, 500));
      assert(text.length < 1000 && !/[\p{Cc}\u202e]/u.test(text), text.slice(0, 500));
    }
    for (const sub of ["display", "value"]) {
      const group = await scim.post("/Groups", { displayName: "never", members: [{ [sub]: name }] });
      assertEquals([group.status, group.json.scimType], [400, "invalidValue"]);
    }
    assertEquals((await scim.get("/Groups/never")).status, 404);
  });
}

/** Names that look unusual and are valid. */
const TAKEN: readonly string[] = [
  "日本語のユーザー",
  "Ελλάδα",
  "пользователь",
  "مستخدم",
  "משתמש",
  "e\u0301\u0302\u0303combining",
  "a".repeat(256),
  "🦊".repeat(256),
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "undefined",
  "true",
  "0",
  "-1",
  "NaN",
  ".search.",
  ".hidden",
  "...",
  "a b",
  "a+b@example.org",
  "100%",
  "%2F",
  "%00",
  "%",
  "%ZZ",
  "a?b=c&d",
  "a#b",
  "a;b,c",
  'a"b',
  "a'b",
  "a\\b",
  "back`tick",
  "<script>alert(1)</script>".replace("/", ""),
  "{{7*7}}",
  "${jndi:ldap:x}",
  "*)(uid=*",
  "' OR 1=1 --",
  "Users",
  "Me",
  "~",
  "[a]",
  "Sales/EMEA",
  "a/b/c",
  "/",
  "//",
  "|",
];
for (const name of TAKEN) {
  Deno.test(`the name ${JSON.stringify(name.slice(0, 40))} is stored, found by its path and by a filter, and deleted`, async () => {
    for (const [collection, field] of COLLECTIONS) {
      const created = await scim.post(collection, { [field]: name });
      assertEquals([created.status, created.json[field]], [201, name.normalize("NFC")], created.text);
      const path = `${collection}/${encodeURIComponent(name)}`;
      assertEquals((await scim.get(path)).text, created.text);
      // The returned address leads to it.
      const location = new URL(created.headers.get("location") ?? "");
      assertEquals((await scim.get(`!${location.pathname}`)).text, created.text);
      const filter = `${field} eq ${JSON.stringify(name.normalize("NFC"))}`;
      const found = await scim.get(`${collection}?q=${encodeURIComponent(filter)}`);
      assertEquals(found.json.totalResults, 1, found.text);
      assertEquals((await scim.put(path, { [field]: name, nickName: "x" })).json.nickName, "x");
      assertEquals((await scim.remove(path)).status, 204);
      assertEquals((await scim.get(path)).status, 404);
    }
  });
}

/** Names that no new user or group can have, because they look like other names. */
const DECEPTIVE: readonly string[] = [
  "👩‍👩‍👧‍👦",
  " leading and trailing ",
  "\u200bzero width",
  "\ufeffmark",
  "soft\u00adhyphen",
  "vpn ",
  "v\u200bpn",
];
for (const name of DECEPTIVE) {
  Deno.test(`the name ${JSON.stringify(name)} is refused for a new user and a new group`, async () => {
    for (const [path, field] of [["/Users", "userName"], ["/Groups", "displayName"]] as const) {
      const refused = await scim.post(path, { [field]: name });
      assertEquals([refused.status, refused.json.scimType], [400, "invalidValue"], refused.text);
    }
  });
}

/** Pairs of spellings that are one name. */
const SAME: Readonly<Record<string, readonly [string, string]>> = {
  "case": ["Anna", "ANNA"],
  "NFC and NFD": ["Zo\u00eb", "Zoe\u0308"],
  "case in another script": ["Ελλάς", "ΕΛΛΆΣ"],
  "a Kelvin sign and a k": ["\u212a9", "k9"],
  "an Ångström sign and an å": ["\u212b1", "\u00e51"],
  "Hangul in syllables and in letters": ["한글", "한글".normalize("NFD")],
};
for (const [title, [one, other]] of Object.entries(SAME)) {
  Deno.test(`names that differ in ${title} are one name`, async () => {
    assertEquals((await scim.post("/Users", { userName: one })).status, 201);
    const taken = await scim.post("/Users", { userName: other });
    assertEquals([taken.status, taken.json.scimType], [409, "uniqueness"]);
    assertEquals((await scim.get(`/Users/${encodeURIComponent(other)}`)).json.userName, one.normalize("NFC"));
    const renamed = await scim.put(`/Users/${encodeURIComponent(one)}`, { userName: other });
    assertEquals([renamed.status, renamed.json.userName], [200, other.normalize("NFC")]);
    assertEquals((await scim.remove(`/Users/${encodeURIComponent(one)}`)).status, 204);
  });
}

/** Pairs of spellings that look alike and are two names. */
const DIFFERENT: Readonly<Record<string, readonly [string, string]>> = {
  "Latin a and Cyrillic а": ["anna1", "\u0430nna1"],
  "a dotless ı": ["ipek", "\u0131pek"],
  "full width": ["anna2", "\uff41nna2"],
  "a blank": ["anna 3", "anna  3"],
};
for (const [title, [one, other]] of Object.entries(DIFFERENT)) {
  Deno.test(`names that differ in ${title} are two`, async () => {
    for (const userName of [one, other]) assertEquals((await scim.post("/Users", { userName })).status, 201);
    assertEquals((await scim.remove(`/Users/${encodeURIComponent(one)}`)).status, 204);
    assertEquals((await scim.get(`/Users/${encodeURIComponent(other)}`)).status, 200);
  });
}

for (const name of ["İstanbul", "straße", "STRASSE", "ŉ", "ǰ", "ﬀ", "Ω\u0345"]) {
  Deno.test(`${name}, which has special case rules, is found by its own spelling and counted once`, async () => {
    assertEquals((await scim.post("/Users", { userName: name })).status, 201);
    assertEquals((await scim.post("/Users", { userName: name })).status, 409);
    const path = `/Users/${encodeURIComponent(name)}`;
    assertEquals((await scim.get(path)).json.userName, name.normalize("NFC"));
    assertEquals((await scim.get(`/Users/${encodeURIComponent(name.normalize("NFD"))}`)).status, 200);
    const found = await scim.get(`/Users?q=${encodeURIComponent(name)}`);
    assert(
      (found.json.Resources as { id: string }[]).some(({ id }) => id === name.normalize("NFC")),
      found.text,
    );
  });
}

/** Paths as sent on the wire, and the status of a GET. */
const PATHS: readonly (readonly [path: string, status: number])[] = [
  ["/Users/a%2Fb", 404],
  ["/Users/a%2fb", 404],
  ["/Users/%2F", 404],
  ["/Users/%00", 400],
  ["/Users/a%00b", 400],
  ["/Users/a%0d%0aX-Evil:%201", 400],
  ["/Users/%ff%fe", 400],
  ["/Users/%c0%af", 400],
  ["/Users/%ed%a0%80", 400],
  ["/Users/%", 400],
  ["/Users/%zz", 400],
  ["/Users/%e2%80%ae", 400],
  [`/Users/${"x".repeat(257)}`, 400],
  ["/Users/%2e%2e", 404],
  ["/Users/..%2f..%2f", 400],
  ["/Users//", 404],
  ["/Groups/a/b", 404],
  ["/Users/;x=1", 404],
  ["/%55sers", 200],
  ["/Users?page=1&page=2", 400],
  ["/Users?q=%ff", 200],
  ["/Users?q=%00", 200],
  ["/Users?%", 200],
  ["/Users?=&&&=", 200],
];
for (const [path, status] of PATHS) {
  Deno.test(`GET ${path.slice(0, 60)}, unchanged on the wire, is answered ${status}`, async () => {
    const answer = await sendRaw({
      httpUrl: gateway.httpUrl,
      head: `GET /idm/scim/default${path} HTTP/1.1\r\nAuthorization: ${basic(WRITER)}\r\n`,
    });
    assertEquals(answer.status, status, answer.text.slice(-300));
    assert(!/^x-evil/im.test(answer.text));
    if (status >= 400) assert(answer.text.includes(`"status":"${status}"`), answer.text.slice(-300));
  });
}

/** A client that sends them would get another resource than it names. */
for (const path of ["/Groups/%2e%2e/Groups", "/Groups/../Groups", "/Groups/x/%2E/..", "/./Groups"]) {
  Deno.test(`GET ${path} of the full interface, unchanged on the wire, is answered 404`, async () => {
    const answer = await sendRaw({
      httpUrl: gateway.httpUrl,
      head: `GET /scim/v2/default${path} HTTP/1.1\r\nAuthorization: ${basic(WRITER)}\r\n`,
    });
    assertEquals(answer.status, 404, answer.text.slice(-300));
  });
}

Deno.test("the log of all this has intact lines", () => {
  const broken = gateway.logLines().filter((line) => /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u.test(line));
  assertEquals(broken, []);
  const bad = unhandledLines(gateway.logLines());
  assertEquals(bad, []);
});

// Names that LDAP, a DN or slapd treat differently from SCIM, with the real program and a real slapd.

const NEEDS = { peers: ["slapd"] } as const;
const openWorld = shareIdentityWorld("sync");
const pathOf = (collection: string, name: string) => `${collection}/${encodeURIComponent(name)}`;

/** Names with a meaning in a DN, a filter or slapd's matching. */
const NAMES: readonly string[] = [
  "comma, inside",
  "plus+sign",
  'quote"d',
  "back\\slash",
  "equals=sign",
  "less<more>",
  "semi;colon",
  "#hash first",
  "two  blanks",
  "star*",
  "paren(theses)",
  "uid=x,ou=people",
  "\\2a",
  "日本語",
  "Zo\u00eb",
  "İstanbul",
  "straße",
  "🦊",
  "x".repeat(200),
];

testNeeding(
  NEEDS,
  "names with a meaning in LDAP are created, found, made members, refreshed and deleted",
  async (context) => {
    const world = await openWorld();
    const { scim, ldap, slapd } = world;
    for (const name of NAMES) {
      await context.step(JSON.stringify(name.slice(0, 30)), async () => {
        const created = await scim.post("/Users", { ...userBody(name, "first") });
        assertEquals(created.status, 201, created.text);
        const people = Object.values(await ldap.below(slapd.usersDn));
        assertEquals(people.map(({ uid }) => uid), [[name]]);
        const group = await scim.post("/Groups", { displayName: name, members: [{ display: name }] });
        assertEquals(group.status, 201, group.text);
        const path = pathOf("/Users", name);
        assertEquals((await scim.put(path, userBody(name, "second"))).status, 200);
        const refreshed = await scim.get(`${path}?refresh=true`);
        assertEquals([refreshed.json.userName, refreshed.json.title], [name, "second"], refreshed.text);
        const team = await scim.get(`${pathOf("/Groups", name)}?refresh=true`);
        assertEquals(
          [team.json.displayName, textsAt(team.json, "members[].display")],
          [name, [name]],
          team.text,
        );
        assertEquals((await scim.remove(path)).status, 204);
        assertEquals(await ldap.below(slapd.usersDn), {});
        assertEquals(
          textsAt((await scim.get(`${pathOf("/Groups", name)}?refresh=true`)).json, "members[].display"),
          [],
        );
        assertEquals((await scim.remove(pathOf("/Groups", name))).status, 204);
        assertEquals(await ldap.below(slapd.groupsDn), {});
      });
    }
  },
);

/** Pairs of names that are different here and equal in slapd. */
const ALIKE: readonly (readonly [string, string])[] = [
  ["anna b", "anna  b"],
  ["straße", "strasse"],
  ["anna", "\uff41nna"],
];
for (const [first, second] of ALIKE) {
  testNeeding(
    NEEDS,
    `${JSON.stringify(first)} and ${
      JSON.stringify(second)
    }: slapd cannot hold both, or does; the first suffers nothing`,
    async () => {
      const world = await openWorld();
      const { scim, ldap } = world;
      await scim.post("/Users", userBody(first, "first"));
      await scim.post("/Groups", { displayName: "team", members: [{ display: first }] });
      const before = await ldap.entry(world.groupDn("team"));
      const created = await scim.post("/Users", userBody(second, "second"));
      assert([201, 409, 502].includes(created.status), created.text);
      assertEquals((await scim.get(pathOf("/Users", second))).status, created.status === 201 ? 200 : 404);
      if (created.status === 201) assertEquals((await scim.remove(pathOf("/Users", second))).status, 204);
      // Neither the attempt nor a removal of the other name changed the first.
      await scim.post("/Users?backends=local", userBody(second, "second"));
      assertEquals((await scim.remove(pathOf("/Users", second))).status, 204);
      const held = await scim.get(`${pathOf("/Users", first)}?refresh=true`);
      assertEquals([held.status, held.json.title], [200, "first"]);
      assertEquals(await ldap.entry(world.groupDn("team")), before);
      assertEquals(textsAt(held.json, "groups[].display"), ["team"]);
    },
  );
}

for (const delayMs of [0, 300]) {
  testNeeding(
    NEEDS,
    `a deactivated user is in no group of any backend, and stays out after a reactivation: slapd gets the group ${delayMs} ms later`,
    async () => {
      const world = await openWorld();
      const { scim, ldap, wire } = world;
      for (const name of ["stays", "rests"]) await scim.post("/Users", userBody(name, "x"));
      await scim.post("/Groups", {
        displayName: "team",
        members: ["stays", "rests"].map((display) => ({ display })),
      });
      wire.decide(async ({ dn }) => {
        if (dn === world.groupDn("team")) await new Promise((resolve) => setTimeout(resolve, delayMs));
        return "pass" as const;
      });
      const off = await scim.put("/Users/rests", { ...userBody("rests", "x"), active: false });
      assertEquals(off.status, 200);
      const shown = async () => textsAt((await scim.get("/Groups/team")).json, "members[].display");
      assertEquals(await shown(), ["stays"]);
      await scim.get("/Groups/team?refresh=true");
      await scim.get("/Users?refresh=true");
      assertEquals(await shown(), ["stays"]);
      assertEquals((await scim.put("/Users/rests", userBody("rests", "x"))).json.active, true);
      await scim.get("/Groups?refresh=true");
      assertEquals([await shown(), (await scim.get("/Users/rests")).json.groups], [["stays"], undefined]);
      await eventuallyPasses("slapd has the group without the user", async () => {
        assertEquals((await ldap.entry(world.groupDn("team")))?.member, [world.userDn("stays")]);
      });
      await scim.get("/Groups?refresh=true");
      assertEquals([await shown(), (await scim.get("/Users/rests")).json.groups], [["stays"], undefined]);
    },
  );
}

testNeeding(NEEDS, "another spelling of a name is the same entry: replaced, a member, deleted", async () => {
  const world = await openWorld();
  const { scim, ldap, slapd } = world;
  await scim.post("/Users", userBody("anna", "first"));
  const replaced = await scim.put("/Users/ANNA", userBody("Anna", "second"));
  assertEquals([replaced.status, replaced.json.userName], [200, "Anna"]);
  assertEquals(Object.values(await ldap.below(slapd.usersDn)).map(({ title }) => title), [["second"]]);
  await scim.post("/Groups", { displayName: "team", members: [{ display: "aNNa" }, { value: "ANNA" }] });
  assertEquals(textsAt((await scim.get("/Groups/team?refresh=true")).json, "members[].display").length, 1);
  assertEquals((await scim.remove("/Users/anna")).status, 204);
  assertEquals(await ldap.below(slapd.usersDn), {});
});
