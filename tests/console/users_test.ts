// The API of users: permissions, responses, and secrets that never appear.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { UserChange, UserPage, UserView } from "../../console/api/users/user_types.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { apiCaller } from "../fakes/console_caller.ts";

const USERS = "/console/api/users";

/** Every route that changes data, with a valid body. */
const CHANGES: readonly { method: string; path: string; json: unknown }[] = [
  { method: "POST", path: USERS, json: { user: { userName: "grace" } } },
  { method: "PUT", path: `${USERS}/ada`, json: { user: {}, version: "1" } },
  { method: "DELETE", path: `${USERS}/ada`, json: {} },
  { method: "PUT", path: `${USERS}/ada/active`, json: { active: false } },
  { method: "PUT", path: `${USERS}/ada/password`, json: { password: "a long password" } },
  { method: "PUT", path: `${USERS}/ada/groups`, json: { add: ["staff"], remove: [] } },
  { method: "POST", path: `${USERS}/ada/retry`, json: { backend: "local" } },
  { method: "POST", path: `${USERS}/ada/invitation`, json: {} },
  { method: "POST", path: `${USERS}/ada/pairings`, json: { kind: "sms", number: "+4915112345678" } },
  { method: "DELETE", path: `${USERS}/ada/pairings/x`, json: {} },
  { method: "POST", path: `${USERS}/ada/totp`, json: {} },
  { method: "POST", path: `${USERS}/ada/totp/confirm`, json: { id: "x", code: "123456" } },
  { method: "PUT", path: `${USERS}/ada/preference`, json: { factor: "totp" } },
  { method: "POST", path: `${USERS}/ada/unlock`, json: {} },
];

async function codeOf(response: Response): Promise<string> {
  const body: { error?: { code: string } } = await response.json();
  return body.error?.code ?? "";
}

Deno.test("users: viewers and operators can read, and change nothing", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  for (const role of ["viewer", "operator"]) {
    const cookie = await site.signIn(role);
    for (const { method, path, json } of CHANGES) {
      const response = await site.call(path, { method, json, cookie });
      assertEquals([response.status, await codeOf(response)], [403, "role"], `${role} ${method} ${path}`);
    }
    const get = apiCaller(site, cookie);
    assertEquals((await get<UserPage>(USERS)).rows.map(({ name }) => name), ["ada"]);
    assertEquals((await get<UserView>(`${USERS}/ada`)).record?.active, true);
  }
  const refresh = { method: "POST", json: {} };
  const [viewer, operator] = [await site.signIn("viewer"), await site.signIn("operator")];
  assertEquals(await codeOf(await site.call(`${USERS}/ada/refresh`, { ...refresh, cookie: viewer })), "role");
  await apiCaller(site, operator)(`${USERS}/ada/refresh`, refresh);
  assertEquals(
    (await site.audits()).map(({ action }) => action),
    ["user.created", "user.refresh"],
    "the user who was put there, and what the operator may ask for",
  );
});

Deno.test("users: create, read, change, deactivate and delete; each change has its record", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const created = await ask<UserChange>(USERS, {
    method: "POST",
    json: { user: { userName: "Ada", displayName: "Ada L", password: "a long password", active: true } },
  });
  assertEquals(created.receipt.entries, [{ backend: "local", outcome: "done" }]);
  const version = created.user?.record?.version ?? "";
  assert(version !== "");
  const changed = await ask<UserChange>(`${USERS}/ada`, {
    method: "PUT",
    json: { user: { displayName: "Ada Lovelace", emails: [{ value: "ada@example.org" }] }, version },
  });
  assertEquals(changed.user?.name, "ada");
  await ask(`${USERS}/ada/active`, { method: "PUT", json: { active: false } });
  const page = await ask<UserPage>(USERS);
  assertEquals(page.rows, [{
    name: "ada",
    displayName: "Ada Lovelace",
    mail: "ada@example.org",
    active: false,
    groups: 0,
    lastSignInMs: null,
    factors: [],
    unverified: [],
    locked: false,
    backends: [{ name: "local", state: "present", differs: false }],
  }]);
  const removed = await ask<UserChange>(`${USERS}/ada`, { method: "DELETE", json: {} });
  assertEquals(removed.user, null);
  assertEquals((await ask<UserView>(`${USERS}/ada`)).record, null);
  const audits = await site.audits();
  assertEquals(audits.map(({ action, actor }) => [action, actor]), [
    ["user.created", "console:user_manager"],
    ["user.replaced", "console:user_manager"],
    ["user.replaced", "console:user_manager"],
    ["user.deleted", "console:user_manager"],
  ]);
  assertNotMatch(JSON.stringify(audits), /a long password/);
});

Deno.test("users: of two simultaneous edits of a user the second is refused, and nothing is lost", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const version = (await ask<UserView>(`${USERS}/ada`)).record?.version;
  await ask(`${USERS}/ada`, { method: "PUT", json: { user: { title: "first" }, version } });
  const late = { method: "PUT", json: { user: { title: "second" }, version }, cookie };
  const response = await site.call(`${USERS}/ada`, late);
  assertEquals([response.status, await codeOf(response)], [409, "changed_meanwhile"]);
  assertEquals((await ask<UserView>(`${USERS}/ada`)).record?.attributes.title, "first");
});

Deno.test("users: invalid bodies, names, filters and targets are refused with a reason", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const cookie = await site.signIn("owner");
  const cases: readonly [string, string, unknown, string][] = [
    ["POST", USERS, { user: { userName: "a/.." } }, "bad_value"],
    ["POST", USERS, { user: { userName: "x", emails: 7 } }, "bad_value"],
    ["POST", USERS, { user: [] }, "malformed"],
    ["POST", USERS, { user: {}, more: 1 }, "malformed"],
    ["POST", USERS, { user: { userName: "ADA" } }, "object_exists"],
    ["POST", USERS, { user: { userName: "x" }, backends: ["nowhere"] }, "bad_value"],
    ["PUT", `${USERS}/nobody/active`, { active: true }, "unknown_object"],
    ["PUT", `${USERS}/ada/password`, { password: "" }, "malformed"],
    ["POST", `${USERS}/ada/pairings`, { kind: "sms", number: "12" }, "bad_number"],
    ["DELETE", `${USERS}/ada/pairings/none`, {}, "unknown_pairing"],
    ["PUT", `${USERS}/ada/pairings/none`, { name: "Pixel" }, "unknown_pairing"],
    ["PUT", `${USERS}/ada/pairings/none`, { name: "\u2066" }, "bad_phone_name"],
    ["POST", `${USERS}/ada/totp/confirm`, { id: "x", code: "123456" }, "no_totp_begun"],
    ["POST", `${USERS}/ada/trial`, { client: "none", password: "right" }, "unknown_client"],
    ["GET", `${USERS}?target=none`, undefined, "unknown_target"],
    ["GET", `${USERS}?page=0`, undefined, "bad_query"],
    ["GET", `${USERS}?status=odd`, undefined, "bad_query"],
    ["GET", `${USERS}?q=${encodeURIComponent('nowhere eq "x"')}`, undefined, "bad_filter"],
  ];
  for (const [method, path, json, code] of cases) {
    const response = await site.call(path, { method, cookie, ...(json === undefined ? {} : { json }) });
    assertEquals(await codeOf(response), code, `${method} ${path} ${JSON.stringify(json)}`);
  }
});

Deno.test("users: the list has pages and a search, and is filtered by status, factors and backends", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "async" } });
  for (let number = 1; number <= 7; number += 1) {
    await site.put(`user${number}`, { active: number !== 2, displayName: `Number ${number}` });
  }
  const { mutation, pairing } = site.pairings.prepare({ canonical: "user3", shown: "user3" }, {
    kind: "sms",
    number: "+4915112345678",
  });
  await site.store.commit({ mutations: [mutation] });
  site.pairings.adopt(pairing);
  const list = async (query: string) => {
    const page = await apiCaller(site, cookie)<UserPage>(`${USERS}?${query}`);
    return [page.total, page.rows.map(({ name }) => name).join()] as const;
  };
  const cookie = await site.signIn("viewer");
  assertEquals(await list("size=3&page=2"), [7, "user4,user5,user6"]);
  assertEquals(await list("size=3&page=9"), [7, ""]);
  assertEquals(await list("q=user5"), [1, "user5"]);
  assertEquals(await list("status=inactive"), [1, "user2"]);
  assertEquals(await list("enrolled=yes"), [1, "user3"]);
  assertEquals(await list("enrolled=no&status=active&size=2&page=2"), [5, "user5,user6"]);
  assertEquals(await list("backend=ldap&sync=absent"), [0, ""]);
});

Deno.test("users: a number of the directory is an unverified factor, in list, page and filters", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada", { phoneNumbers: [{ value: "+49 151 12345678", type: "work" }] });
  await site.put("bob");
  await site.put("carl", { phoneNumbers: [{ value: "call me" }] });
  const cookie = await site.signIn("viewer");
  const ask = apiCaller(site, cookie);
  const list = async (query: string) =>
    (await ask<UserPage>(`${USERS}?${query}`)).rows.map(({ name, factors, unverified }) => [
      name,
      factors.join(),
      unverified.join(),
    ]);
  assertEquals(await list(""), [["ada", "", "sms,voice"], ["bob", "", ""], ["carl", "", ""]]);
  assertEquals(await list("enrolled=yes"), [["ada", "", "sms,voice"]]);
  assertEquals((await list("enrolled=no")).map(([name]) => name), ["bob", "carl"]);
  const { login } = await ask<UserView>(`${USERS}/ada`);
  assertEquals(login?.directoryNumbers.map(({ kinds }) => kinds), [["sms", "voice"]]);
  assertNotMatch(JSON.stringify(login), /15112345678/);
  const { mutation, pairing } = site.pairings.prepare({ canonical: "ada", shown: "ada" }, {
    kind: "sms",
    number: "+4915112345678",
  });
  await site.store.commit({ mutations: [mutation] });
  site.pairings.adopt(pairing);
  assertEquals((await list("q=ada"))[0], ["ada", "sms", "voice"]);
  assertEquals((await ask<UserView>(`${USERS}/ada`)).login?.directoryNumbers.map(({ kinds }) => kinds), [[
    "voice",
  ]]);
});

Deno.test("users: a number of the directory is no factor if the settings exclude it", async () => {
  for (const toml of ['[factors]\nenabled = ["device", "totp"]', '[factors]\ncountry_codes = ["1"]']) {
    await using site = await startPeopleConsole({ toml });
    await site.put("ada", { phoneNumbers: [{ value: "+4915112345678" }] });
    const ask = apiCaller(site, await site.signIn("viewer"));
    assertEquals((await ask<UserPage>(USERS)).rows.map(({ unverified }) => unverified), [[]], toml);
    assertEquals((await ask<UserView>(`${USERS}/ada`)).login?.directoryNumbers, [], toml);
  }
});

Deno.test("users: a new address or number must be valid; a stored one may stay", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada", { emails: [{ value: "not-a-mail" }], phoneNumbers: [{ value: "555-CALL-ME" }] });
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const stored = async () => (await ask<UserView>(`${USERS}/ada`)).record;
  const kept = { emails: [{ value: "not-a-mail" }], phoneNumbers: [{ value: "555-CALL-ME" }] };
  const put = async (user: Record<string, unknown>) => {
    const json = { user, version: (await stored())?.version };
    return await site.call(`${USERS}/ada`, { method: "PUT", json, cookie });
  };
  assertEquals((await put({ ...kept, title: "Countess" })).status, 200);
  assertEquals((await stored())?.attributes.title, "Countess");
  for (
    const [user, message] of [
      [
        { ...kept, emails: [...kept.emails, { value: "broken mail" }] },
        /"broken mail" is not an e-mail address/,
      ],
      [{ ...kept, phoneNumbers: [{ value: "call me" }] }, /"call me" is not a phone number/],
    ] as const
  ) {
    const refused = await put(user);
    const { error } = await refused.json();
    assertEquals([refused.status, error.code], [400, "bad_contact"]);
    assertMatch(error.message, message);
  }
  const created = await site.call(USERS, {
    method: "POST",
    json: { user: { userName: "grace", emails: [{ value: "grace@" }] } },
    cookie,
  });
  assertEquals(await codeOf(created), "bad_contact");
});

Deno.test("users: a paired name without a directory entry is on the first page of the list and of a search", async () => {
  await using site = await startPeopleConsole();
  await site.put("alovelace", { displayName: "Ada Lovelace" });
  await site.pairings.addDevice({ id: "p1", userName: "Ada", totpLength: 6 });
  await site.pairings.addDevice({ id: "p2", userName: "alovelace", totpLength: 6 });
  const ask = apiCaller(site, await site.signIn("viewer"));
  const outside = async (query: string) => (await ask<UserPage>(`${USERS}?${query}`)).outside;
  assertEquals(await outside(""), ["Ada"]);
  assertEquals(await outside("q=ada"), ["Ada"]);
  assertEquals(await outside("q=zoe"), []);
  assertEquals(await outside("status=active"), []);
  assertEquals((await ask<UserView>(`${USERS}/ada`)).record, null);
  await site.put("ada");
  assertEquals(await outside("q=ada"), []);
});

Deno.test("users and groups whose names have a slash are read, changed, put into groups, enrolled and deleted", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const [path, group] = [`${USERS}/Sales%2Fada`, "/console/api/groups/Sales%2FEMEA"];
  await ask(USERS, { method: "POST", json: { user: { userName: "Sales/ada" } } });
  await ask("/console/api/groups", { method: "POST", json: { name: "Sales/EMEA", members: ["Sales/ada"] } });
  const { record } = await ask<UserView>(path);
  assertEquals(record?.groups, ["Sales/EMEA"]);
  await ask(`${path}/groups`, { method: "PUT", json: { add: [], remove: ["Sales/EMEA"] } });
  await ask(`${path}/pairings`, { method: "POST", json: { kind: "sms", number: "+4915112345678" } });
  assertEquals((await ask<UserPage>(`${USERS}?q=sales`)).rows.map(({ name }) => name), ["Sales/ada"]);
  await ask(group, { method: "DELETE", json: {} });
  await ask(path, { method: "DELETE", json: {} });
  assertEquals((await ask<UserPage>(USERS)).rows, []);
});
