// The page that confirms one login, in a browser without JavaScript: real packets cause requests, a form answers them.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { BrowserContextOptions, Page } from "../packages/playwright.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { CODES } from "../support/radius_packets.ts";
import { assertHoldsInBothLooks, findAccessibilityProblems } from "./page_checks.ts";
import { holds, LOOKS, openTab, type Tab } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";

const PHONE = "Pixel of <b>Ada</b>";
const HOSTILE = `ada"><img src=x onerror=alert(1)>`;
const SETTINGS = `[radius]
conversation_ttl_s = 3600

[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the approval page"
`;

/** Calls the server like a page of its own. */
async function call<T>(
  gateway: ConsoleProgram,
  path: string,
  { json, cookie = "" }: { json: unknown; cookie?: string },
): Promise<{ body: T; cookie: string }> {
  const response = await fetch(gateway.origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin: gateway.origin, cookie },
    body: JSON.stringify(json),
  });
  const text = await response.text();
  assertEquals(response.status, 200, `${path}: ${text}`);
  return {
    body: JSON.parse(text) as T,
    cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "",
  };
}

const test = consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS, isShared: true });

/** The gateway, its client, and the cookie of a phone that is paired with `user`. Each test has a user of its own. */
async function openWorld(gateway: ConsoleProgram, user: string) {
  const admin = await gateway.signIn("owner");
  const path = `/console/api/users/${encodeURIComponent(user)}`;
  const { body: { link } } = await call<{ link: string }>(gateway, `${path}/invitation`, {
    json: {},
    cookie: admin,
  });
  const { cookie: phone } = await call(gateway, "/device/api/invitation/accept", {
    json: { invitation: new URL(link).hash.replace("#invite=", ""), name: PHONE },
  });
  const client = gateway.client();
  return {
    gateway,
    admin,
    phone,
    client,
    user,
    /** The requests that wait for the phone, newest last. */
    async requestIds(): Promise<string[]> {
      const response = await fetch(`${gateway.origin}/device/api/view`, { headers: { cookie: phone } });
      const { view }: { view: { requests: { requestId: string }[] } } = await response.json();
      return view.requests.map(({ requestId }) => requestId);
    },
    [Symbol.dispose]: () => client.close(),
  };
}
type World = Awaited<ReturnType<typeof openWorld>>;

let ports = 5000;

/** A login that waits for the phone: the address of its page, the number in its prompt, and its result. */
async function login(world: World) {
  const nasPort = ports++;
  const known = new Set(await world.requestIds());
  const parts = { userName: world.user, password: "pw", nasPort, callingStationId: "198.51.100.23" };
  const challenge = await world.client.ask(parts);
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  const state = challenge.state ?? new Uint8Array();
  const [id = ""] = (await world.requestIds()).filter((one) => !known.has(one));
  return {
    path: `/me/approve/${id}`,
    number: /with the number (\d\d)/.exec(challenge.message)?.[1] ?? "",
    answer: async () => (await world.client.ask({ ...parts, password: "", state })).code,
  };
}

/** A browser without JavaScript, with cookies. */
async function scriptless(
  world: World,
  { cookie = "", ...options }: BrowserContextOptions & { cookie?: string },
): Promise<Tab> {
  const tab = await openTab({ ...LOOKS.wide, javaScriptEnabled: false, ...options });
  const [name = "", value = ""] = cookie.split("=");
  if (name !== "") await tab.context.addCookies([{ name, value, url: world.gateway.origin }]);
  return tab;
}

const question = (page: Page) => page.getByRole("heading", { name: "Is this you signing in?", level: 1 });

test("opening the page decides nothing; the number and Approve accept the login", async ({ site }) => {
  using world = await openWorld(site, "ada");
  const { page } = await scriptless(world, { cookie: world.phone });
  const { path, number, answer } = await login(world);
  for (let count = 0; count < 2; count += 1) await page.goto(world.gateway.origin + path);
  await question(page).waitFor();
  for (const fact of ["ada", "vpn-1", "198.51.100.23", PHONE]) {
    await page.getByText(fact, { exact: true })
      .waitFor();
  }
  await holds(() => page.getByRole("definition").last().textContent(), /^\d+ seconds when/);
  await page.getByLabel("Number shown at your sign-in").fill(number);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "Approved", level: 1 }).waitFor();
  await page.waitForURL((url) => url.pathname === path);
  assertEquals(await answer(), CODES.accessAccept);
  await page.reload();
  await page.getByRole("heading", { name: "Approved", level: 1 }).waitFor();
});

test("Deny rejects the login without a number; a wrong number rejects it, too", async ({ site }) => {
  using world = await openWorld(site, "bea");
  const { page } = await scriptless(world, { cookie: world.phone });
  const first = await login(world);
  await page.goto(world.gateway.origin + first.path);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByRole("heading", { name: "Denied", level: 1 }).waitFor();
  assertEquals(await first.answer(), CODES.accessReject);
  const second = await login(world);
  await page.goto(world.gateway.origin + second.path);
  const wrong = second.number === "10" ? "11" : "10";
  await page.getByLabel("Number shown at your sign-in").fill(wrong);
  await page.getByLabel("Number shown at your sign-in").press("Enter");
  await page.getByText("The number was wrong, so the sign-in was denied.").waitFor();
  assertEquals(await second.answer(), CODES.accessReject);
});

test(
  "“this was not me” denies, locks for an hour, and the console shows it until it is dismissed",
  async ({ site, ...tab }) => {
    using world = await openWorld(site, "cyd");
    const { page } = await scriptless(world, { cookie: world.phone });
    const { path, answer } = await login(world);
    await page.goto(world.gateway.origin + path);
    await page.getByRole("button", { name: "This was not me" }).click();
    await page.getByRole("heading", { name: "Denied", level: 1 }).waitFor();
    await page.getByText("Your administrators were notified.").waitFor();
    await page.getByText("Sign-ins with your name are blocked until").waitFor();
    assertEquals(await answer(), CODES.accessReject);
    const again = await world.client.ask({ userName: "cyd", password: "pw", nasPort: ports++ });
    assertEquals(again.code, CODES.accessReject);
    await world.gateway.logged("a user says that a login was not theirs");

    const [name = "", value = ""] = world.admin.split("=");
    await tab.context.addCookies([{ name, value, url: world.gateway.origin }]);
    await tab.page.goto(`${world.gateway.origin}/live`);
    const notice = tab.page.getByRole("alert").filter({ hasText: "cyd reported: this was not me." });
    await notice.waitFor();
    assertEquals(await findAccessibilityProblems(tab.page, { within: ".notices" }), []);
    await notice.getByRole("link", { name: "Open cyd" }).click();
    await tab.page.getByRole("heading", { name: "cyd", level: 1 }).waitFor();
    await notice.waitFor();
    await notice.getByRole("button", { name: "Dismiss the notice of cyd" }).click();
    await notice.waitFor({ state: "detached" });
  },
);

test(
  "a one-time link confirms only the user's own login, and a session is required",
  async ({ site }) => {
    using world = await openWorld(site, "dora");
    const linkOf = async (user: string) => {
      const made = await call<{ url: string }>(world.gateway, `/console/api/users/${user}/me-link`, {
        json: {},
        cookie: world.admin,
      });
      const link = new URL(made.body.url).hash.slice(1);
      return (await call(world.gateway, "/me/api/session", { json: { link } })).cookie;
    };
    const { path, number, answer } = await login(world);
    const address = world.gateway.origin + path;

    const stranger = await scriptless(world, {});
    await stranger.page.goto(address);
    await stranger.page.getByRole("heading", { name: "Open this page on your phone" }).waitFor();
    await holds(() => stranger.page.getByRole("link", { name: "Open again" }).getAttribute("href"), path);

    const bert = await scriptless(world, { cookie: await linkOf("bert") });
    await bert.page.goto(address);
    await bert.page.getByRole("heading", { name: "Sign-in not found" }).waitFor();
    assertEquals(await bert.page.getByText("vpn-1").count(), 0);

    const dora = await scriptless(world, { cookie: await linkOf("dora") });
    await dora.page.goto(address);
    await dora.page.getByLabel("Number shown at your sign-in").fill(number);
    await dora.page.getByRole("button", { name: "Approve" }).click();
    await dora.page.getByRole("heading", { name: "Approved" }).waitFor();
    assertEquals(await answer(), CODES.accessAccept);
  },
);

test("another site's form decides nothing, and a form without a number is shown again", async ({ site }) => {
  using world = await openWorld(site, "erin");
  const { path } = await login(world);
  const address = world.gateway.origin + path;
  const send = async (headers: Record<string, string>, body: string) => {
    const response = await fetch(address, {
      method: "POST",
      redirect: "manual",
      headers: { cookie: world.phone, "content-type": "application/x-www-form-urlencoded", ...headers },
      body,
    });
    return [response.status, await response.text()] as const;
  };
  const foreign: Record<string, string>[] = [{ origin: "https://elsewhere.example" }, {
    origin: world.gateway.origin,
    "sec-fetch-site": "cross-site",
  }, {}];
  for (const headers of foreign) {
    for (const decision of ["approve", "deny", "not_me"]) {
      assertEquals((await send(headers, `decision=${decision}&number=11`))[0], 403);
    }
  }
  const [status, text] = await send({ origin: world.gateway.origin }, "decision=approve&number=");
  assertEquals(status, 400);
  assertMatch(text, /Enter the two digits that your sign-in shows\./);
  assertEquals((await send({ origin: world.gateway.origin }, "decision=dance"))[0], 303);
  const { page } = await scriptless(world, { cookie: world.phone });
  await page.goto(address);
  await question(page).waitFor();
});

test("the page is German in a German browser, and hostile names are text", async ({ site }) => {
  using world = await openWorld(site, HOSTILE);
  const { path } = await login(world);
  const { page } = await scriptless(world, { cookie: world.phone, locale: "de-DE" });
  const response = await page.goto(world.gateway.origin + path);
  await page.getByRole("heading", { name: "Melden Sie sich gerade an?" }).waitFor();
  await holds(() => page.locator("html").getAttribute("lang"), "de");
  await page.getByText(HOSTILE, { exact: true }).waitFor();
  assertEquals(await page.locator("img, script").count(), 0);
  const policy = response?.headers()["content-security-policy"] ?? "";
  assertMatch(policy, /^default-src 'none'/);
  assert(!policy.includes("script-src"), "no script may run");
});

test("the page has no problem wide in light and at 320 px in dark, in every state", async ({ site }) => {
  using world = await openWorld(
    site,
    "a-very-long-user-name-with-a-department-behind-it@research.example.org",
  );
  const open = await login(world);
  const answered = await login(world);
  await fetch(world.gateway.origin + answered.path, {
    method: "POST",
    redirect: "manual",
    headers: {
      cookie: world.phone,
      origin: world.gateway.origin,
      "content-type": "application/x-www-form-urlencoded",
    },
    body: "decision=deny",
  }).then((response) => response.body?.cancel());
  const visits = [
    { path: open.path, cookie: world.phone, heading: "Is this you signing in?" },
    { path: answered.path, cookie: world.phone, heading: "Denied" },
    { path: "/me/approve/unknown", cookie: world.phone, heading: "Sign-in not found" },
    { path: open.path, cookie: "", heading: "Open this page on your phone" },
  ];
  // The page is the same with JavaScript, which axe needs.
  for (const { path, cookie, heading } of visits) {
    const { page, context } = await scriptless(world, { cookie, javaScriptEnabled: true });
    await page.goto(world.gateway.origin + path);
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    await assertHoldsInBothLooks(page);
    await context.close();
  }
});
