// The API of the phone page: pairing by invitation and by phrase, decisions, the cookie, and refused calls.

import { assertEquals, assertMatch } from "@std/assert";
import { FAKE_INVITATION, FAKE_NUMBER, FAKE_TOKEN, phoneRequest } from "../fakes/console_phone.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";

const COOKIE = `countersign-phone=${FAKE_TOKEN}`;

async function post(
  site: TestConsole,
  path: string,
  { json = {}, cookie = COOKIE }: { json?: unknown; cookie?: string } = {},
) {
  const response = await site.call(`/device/api${path}`, { method: "POST", json, cookie });
  return {
    status: response.status,
    body: await response.json(),
    setCookie: response.headers.get("set-cookie"),
  };
}

Deno.test("createDeviceApi() pairs by invitation: viewing it changes nothing, accepting it sets the cookie", async () => {
  await using site = await startConsole();
  const invitation = { invitation: FAKE_INVITATION };
  for (let round = 0; round < 2; round += 1) {
    const seen = await post(site, "/invitation/look", { json: invitation, cookie: "" });
    assertEquals([seen.body.userName, seen.setCookie], ["ada", null]);
  }
  const done = await post(site, "/invitation/accept", { json: invitation, cookie: "" });
  assertEquals(done.body, { pairingId: "p1" });
  assertMatch(
    done.setCookie ?? "",
    /^countersign-phone=[^;]+; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  assertEquals(JSON.stringify(done.body).includes(FAKE_TOKEN), false);
  const again = await post(site, "/invitation/accept", { json: invitation });
  assertEquals([again.status, again.body.error.code], [410, "already_used"]);
});

Deno.test("createDeviceApi() pairs by phrase: the phone confirms the question of the login", async () => {
  await using site = await startConsole();
  const started = await post(site, "/phrase", { cookie: "" });
  assertEquals(started.body.phrase, "amber fox river stone");
  assertMatch(started.setCookie ?? "", /^countersign-phone=/);
  const further = await post(site, "/phrase");
  assertEquals([further.status, further.setCookie], [200, null]);
  site.phone.typePhrase();
  const asked = await (await site.call("/device/api/view", { cookie: COOKIE })).json();
  assertEquals(asked.view.pairings[0].status, "asks_approval");
  assertEquals((await post(site, "/pairings/p1", { json: { approve: true } })).body, { done: true });
  assertEquals((await post(site, "/pairings/p1/passcode")).body.code, "492817");
});

Deno.test("createDeviceApi() accepts a name for the phone, and refuses names that cannot be shown", async () => {
  await using site = await startConsole();
  const accept = (name: string) =>
    post(site, "/invitation/accept", { json: { invitation: FAKE_INVITATION, name }, cookie: "" });
  for (const name of ["Pixel\u202e", "a\nb", "\u200b", "x".repeat(61)]) {
    const { status, body } = await accept(name);
    assertEquals([status, body.error.code], [400, "bad_phone_name"], name);
  }
  await accept(" Pixel of Ada ");
  assertEquals(site.phone.named(), "Pixel of Ada");
  site.phone.typePhrase();
  await post(site, "/pairings/p1", { json: { approve: true, name: " " } });
  assertEquals(site.phone.named(), null);
});

Deno.test("createDeviceApi() approves with the number, denies without it, and reports a wrong number", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  for (const id of ["r1", "r2", "r3"]) site.phone.ask(phoneRequest(id));
  const right = await post(site, "/requests/r1", { json: { approve: true, number: FAKE_NUMBER } });
  assertEquals(right.body, { done: true });
  const wrong = await post(site, "/requests/r2", { json: { approve: true, number: "00" } });
  assertEquals([wrong.status, wrong.body.error.code], [403, "wrong_number"]);
  const denied = await post(site, "/requests/r3", { json: { approve: false, number: null } });
  assertEquals(denied.status, 200);
  assertEquals(site.phone.decided, [
    { id: "r1", approve: true, number: FAKE_NUMBER },
    { id: "r2", approve: true, number: "00" },
    { id: "r3", approve: false, number: null },
  ]);
  const late = await post(site, "/requests/r1", { json: { approve: true, number: FAKE_NUMBER } });
  assertEquals([late.status, late.body.error.code], [409, "already_decided"]);
});

Deno.test("createDeviceApi() requires the cookie of the phone for every decision", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  site.phone.ask(phoneRequest("r1"));
  for (
    const cookie of [
      "",
      "countersign-phone=other",
      `countersign=${FAKE_TOKEN}`,
      `countersign-phone=${"x".repeat(500)}`,
    ]
  ) {
    const answers = await Promise.all([
      post(site, "/requests/r1", { json: { approve: true, number: FAKE_NUMBER }, cookie }),
      post(site, "/pairings/p1", { json: { approve: true }, cookie }),
      post(site, "/pairings/p1/passcode", { cookie }),
    ]);
    for (const { status, body } of answers) assertEquals([status, body.error.code], [401, "unknown_token"]);
    const stream = await site.call("/device/api/stream", { cookie });
    await stream.body?.cancel();
    assertEquals(stream.status, 401);
  }
  assertEquals(site.phone.decided, []);
});

Deno.test("createDeviceApi() accepts no decision from another site, nor by GET", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  site.phone.ask(phoneRequest("r1"));
  const foreign = await site.call("/device/api/requests/r1", {
    method: "POST",
    json: { approve: true, number: FAKE_NUMBER },
    cookie: COOKIE,
    headers: { origin: "https://evil.test" },
  });
  await foreign.body?.cancel();
  const byGet = await site.call("/device/api/requests/r1?approve=true", { cookie: COOKIE });
  await byGet.body?.cancel();
  assertEquals([foreign.status, byGet.status], [403, 404]);
  assertEquals(site.phone.decided, []);
});

Deno.test("createDeviceApi() streams the view, and sends it again after each change", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  const response = await site.call("/device/api/stream", { cookie: COOKIE });
  const reader = response.body?.getReader();
  let text = "";
  const until = async (mark: string) => {
    while (!text.includes(mark)) {
      const step = await reader?.read();
      if (step === undefined || step.done) throw new Error(`ended before ${mark}`);
      text += new TextDecoder().decode(step.value);
    }
  };
  await until('"phrase":{');
  site.phone.ask(phoneRequest("r-new"));
  await until('"r-new"');
  await reader?.cancel();
});

Deno.test("createDeviceApi() deletes the cookie with the last pairing", async () => {
  await using site = await startConsole();
  await post(site, "/invitation/accept", { json: { invitation: FAKE_INVITATION }, cookie: "" });
  const gone = await site.call("/device/api/pairings/p1", { method: "DELETE", cookie: COOKIE });
  await gone.body?.cancel();
  assertMatch(gone.headers.get("set-cookie") ?? "", /^countersign-phone=; Max-Age=0/);
});

Deno.test("createHttpApp() answers 404 with a message at /device/ when an external service is used", async () => {
  await using site = await startConsole({ change: (deps) => ({ ...deps, phone: () => null }) });
  const page = await site.call("/device/");
  assertEquals(page.status, 404);
  assertMatch(await page.text(), /external second-factor service/);
  const { status, body } = await post(site, "/phrase");
  assertEquals([status, body.error.code], [404, "no_phone_page"]);
  const view = await site.call("/device/api/view", { cookie: COOKIE });
  assertEquals((await view.json()).error.code, "no_phone_page");
});
