// The API of hardware tokens: import with a dry run, assignment, resynchronization, tests of codes, removal, and what the audit log says.

import { assertEquals, assertNotMatch } from "@std/assert";
import type {
  HardwareTokenPage,
  HardwareTokenView,
  TokenBulkResult,
  TokenCodeAnswer,
  TokenImportView,
} from "../../console/api/tokens/token_types.ts";
import { tokenCode } from "../radius/rows/tokens.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { becomes } from "../radius/rows/passing_time.ts";

const BASE = "/console/api/hardware-tokens";
const SEED_HEX = "3132333435363738393031323334353637383930";
const FILE = [
  "upn,serial number,secret key,time interval,manufacturer,model",
  "ada,1000001,GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ,30,Contoso,Key",
  "missing@example.com,1000002,GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ,60,Contoso,Key",
  ",1000003,not a seed,30,Contoso,Key",
].join("\n");

type Ask = ReturnType<typeof apiCaller>;

/** Uploads, checks and waits for the preview. */
async function preview(
  ask: Ask,
  text: string,
  options: Record<string, unknown> = {},
): Promise<TokenImportView> {
  const { id } = await ask<TokenImportView>(`${BASE}/imports`, {
    method: "POST",
    json: { file: "seeds.csv" },
  });
  await ask(`${BASE}/imports/${id}/text`, { method: "POST", json: { text } });
  await ask(`${BASE}/imports/${id}/check`, { method: "POST", json: options });
  return await whenState(ask, id, "checked");
}

async function whenState(ask: Ask, id: string, state: TokenImportView["state"]): Promise<TokenImportView> {
  let view = await ask<TokenImportView>(`${BASE}/imports/${id}`);
  await becomes(state, async () => {
    view = await ask<TokenImportView>(`${BASE}/imports/${id}`);
    return view.state === state;
  });
  return view;
}

async function importAll(
  ask: Ask,
  text: string,
  options: Record<string, unknown> = {},
): Promise<TokenImportView> {
  const { id } = await preview(ask, text, options);
  await ask(`${BASE}/imports/${id}/apply`, { method: "POST", json: {} });
  return await whenState(ask, id, "applied");
}

Deno.test("hardware tokens: a dry run reports each row and stores nothing, and the import adds the new tokens", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const { id, rows, counts, form } = await preview(ask, FILE, { assigns: true });
  assertEquals([form, counts], ["header", { new: 2, known: 0, refused: 1 }]);
  assertEquals(rows.map(({ line, verdict, problem, assignment }) => [line, verdict, problem, assignment]), [
    [2, "new", null, "assigns"],
    [3, "new", null, "unknown_user"],
    [4, "refused", "short_seed", "none"],
  ]);
  assertEquals((await ask<HardwareTokenPage>(BASE)).total, 0);
  await ask(`${BASE}/imports/${id}/apply`, { method: "POST", json: {} });
  assertEquals((await whenState(ask, id, "applied")).imported, 2);
  const page = await ask<HardwareTokenPage>(BASE);
  assertEquals(page.rows.map(({ serial, user, state }) => [serial, user, state]), [
    ["1000001", "ada", "assigned"],
    ["1000002", null, "free"],
  ]);
  const again = await preview(ask, FILE);
  assertEquals(again.counts, { new: 0, known: 2, refused: 1 });
});

Deno.test("hardware tokens: an import assigns in the directory's spelling, with a record and a notice for the user", async () => {
  await using site = await startPeopleConsole();
  await site.put("Ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await importAll(ask, FILE, { assigns: true });
  assertEquals((await ask<HardwareTokenView>(`${BASE}/1000001`)).user, "Ada");
  const records = (await site.audits()).filter(({ action }) => action === "hardware_token.assign");
  assertEquals(records.map(({ object, token }) => [object, token]), [["user:Ada", "1000001"]]);
  const notices = await Array.fromAsync(site.store.list<{ what: string }>(["user_notice", "ada"]));
  assertEquals(notices.map(({ value }) => value?.what), ["token"]);
});

Deno.test("hardware tokens: a user who left after the dry run gets no token of the import", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const { id, rows } = await preview(ask, FILE, { assigns: true });
  assertEquals(rows[0]?.assignment, "assigns");
  await ask("/console/api/users/ada/active", { method: "PUT", json: { active: false } });
  await ask(`${BASE}/imports/${id}/apply`, { method: "POST", json: {} });
  assertEquals((await whenState(ask, id, "applied")).imported, 2);
  assertEquals((await ask<HardwareTokenView>(`${BASE}/1000001`)).user, null);
  assertEquals((await site.audits()).filter(({ action }) => action === "hardware_token.assign"), []);
});

Deno.test("hardware tokens: no answer, log line or audit record has a seed, a key or a code", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const swapped = "secret key,serial number\n1000009,GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  const answers = [
    await importAll(ask, FILE),
    await preview(ask, `${SEED_HEX},1000007\n`),
    await preview(ask, swapped),
    await ask(BASE),
    await ask(`${BASE}/1000001/test`, { method: "POST", json: { code: "755224" } }),
    await site.audits(),
  ];
  const text = JSON.stringify(answers);
  assertNotMatch(text, /GEZDGNBV|3132333435|12345678901234567890|755224/i);
});

Deno.test("hardware tokens: assign, unassign, disable and enable change the token, each with a record about its user", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.put("bob");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await importAll(ask, FILE);
  const change = (path: string, json: unknown, method = "POST") =>
    ask<HardwareTokenView>(`${BASE}/1000001/${path}`, { method, json });
  assertEquals((await change("assign", { user: "Ada" })).user, "ada");
  const taken = { method: "POST", json: { user: "bob" }, cookie: await site.signIn("user_manager") };
  assertEquals(await codeOf(await site.call(`${BASE}/1000001/assign`, taken)), "hardware_token_taken");
  assertEquals((await change("enabled", { enabled: false }, "PUT")).state, "disabled");
  assertEquals((await change("enabled", { enabled: true }, "PUT")).state, "assigned");
  assertEquals((await change("unassign", {})).state, "free");
  const records = (await site.audits()).filter(({ token }) => token === "1000001");
  assertEquals(
    records.map(({ action, object }) => `${action} ${object}`).toSorted(),
    ["assign", "disable", "enable", "unassign"].map((did) => `hardware_token.${did} user:ada`),
  );
});

Deno.test("hardware tokens: two consecutive codes resynchronize a token, and a test of a code does not use it", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await importAll(ask, `T-1,${SEED_HEX},hotp,6,0\n`);
  const test = async (at: number) => {
    const json = { code: tokenCode(at) };
    return (await ask<TokenCodeAnswer>(`${BASE}/T-1/test`, { method: "POST", json })).check;
  };
  assertEquals(await test(0), { kind: "valid", ahead: 0 });
  assertEquals(await test(0), { kind: "valid", ahead: 0 });
  assertEquals(await test(500), { kind: "out_of_sync", ahead: 500 });
  const cookie = await site.signIn("user_manager");
  const resync = (first: number, second: number) =>
    site.call(`${BASE}/t-1/resynchronize`, {
      method: "POST",
      json: { codes: [tokenCode(first), tokenCode(second)] },
      cookie,
    });
  for (const [first, second] of [[500, 502], [501, 500], [1500, 1501]] as const) {
    assertEquals(await codeOf(await resync(first, second)), "hardware_token_codes_wrong");
  }
  assertEquals((await resync(500, 501)).status, 200);
  assertEquals([await test(501), await test(502)], [{ kind: "used" }, { kind: "valid", ahead: 0 }]);
});

Deno.test("hardware tokens: wrong codes are limited for each token", async () => {
  await using site = await startPeopleConsole();
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  await importAll(ask, `T-1,${SEED_HEX},hotp,6,0\nT-2,${SEED_HEX},hotp,6,0\n`);
  const statuses = [];
  for (let count = 0; count < 7; count++) {
    const json = { code: tokenCode(5000 + count) };
    statuses.push((await site.call(`${BASE}/T-1/test`, { method: "POST", json, cookie })).status);
  }
  assertEquals(statuses, [200, 200, 200, 200, 200, 429, 429]);
  const json = { code: tokenCode(0) };
  assertEquals((await site.call(`${BASE}/T-2/test`, { method: "POST", json, cookie })).status, 200);
});

Deno.test("hardware tokens: a removed token is gone with its position, and one that is gone does not keep the others", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await importAll(ask, `T-1,${SEED_HEX},hotp,6,0\nT-2,${SEED_HEX},hotp,6,0\n`);
  const json = { does: "remove", ids: ["T-1", "T-9"] };
  const { done, failed } = await ask<TokenBulkResult>(`${BASE}/bulk`, { method: "POST", json });
  assertEquals([done, failed.map(({ id }) => id)], [["T-1"], ["T-9"]]);
  assertEquals((await ask<HardwareTokenPage>(BASE)).rows.map(({ id }) => id), ["T-2"]);
  assertEquals((await Array.fromAsync(site.store.list(["token"]))).length, 1);
});

Deno.test("hardware tokens: several are unassigned, disabled and enabled at once, each with a record", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await importAll(ask, `T-1,${SEED_HEX},hotp,6,0\nT-2,${SEED_HEX},hotp,6,0\nT-3,${SEED_HEX},hotp,6,0\n`);
  const ids = ["T-1", "T-2"];
  for (const id of ids) await ask(`${BASE}/${id}/assign`, { method: "POST", json: { user: "ada" } });
  const states = async (does: string) => {
    await ask<TokenBulkResult>(`${BASE}/bulk`, { method: "POST", json: { does, ids: [...ids, ...ids] } });
    return (await ask<HardwareTokenPage>(BASE)).rows.map(({ state }) => state);
  };
  assertEquals(await states("disable"), ["disabled", "disabled", "free"]);
  assertEquals(await states("enable"), ["assigned", "assigned", "free"]);
  assertEquals(await states("unassign"), ["free", "free", "free"]);
  const records = (await site.audits()).map(({ action }) => String(action));
  for (const did of ["disable", "enable", "unassign"]) {
    assertEquals(records.filter((action) => action === `hardware_token.${did}`).length, 2, did);
  }
});

Deno.test("hardware tokens: a file that cannot be read says why, and can be checked again with its key", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const text = await Deno.readTextFile(new URL("../vectors/pskc/rfc6030_figure_6.xml", import.meta.url));
  const { id, problem } = await preview(ask, text);
  assertEquals(problem, "needs_key");
  const check = async (key: string) => {
    await ask(`${BASE}/imports/${id}/check`, { method: "POST", json: { key } });
    const { problem, counts } = await whenState(ask, id, "checked");
    return [problem, counts.new];
  };
  assertEquals(await check("00".repeat(16)), ["wrong_key", 0]);
  assertEquals(await check("12345678901234567890123456789012"), [null, 1]);
});
