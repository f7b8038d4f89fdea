// The installed phone page: notifications while requests end and while the push service has problems, no second alert beside an
// open page, passcodes without the network, updates, and what unpairing leaves.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { currentDist } from "./browser.ts";
import { assertHolds } from "./page_checks.ts";
import { offlineCopies, pushTest, storedKeys, worksOffline } from "./push_browser.ts";
import { type PushSite, withPushSite } from "./push_site.ts";

const TITLE = "Is this you signing in?";
const site = (use: (site: PushSite) => Promise<void>) => () => withPushSite(use);
const card = (page: Page) => page.getByRole("form", { name: TITLE });

pushTest(
  "a visible page shows the request itself; a closed one shows a notification, which a visit removes",
  site(async ({ pair, ask, sent, phone, origin, service, composition: { clock } }) => {
    const page = await pair();
    await page.getByRole("button", { name: "Turn on notifications" }).click();
    await page.getByText("This phone shows a notification for each request").waitFor();
    await ask();
    await sent({ accepted: 1 });
    // The stream of the page sends changes after a moment of the server's clock.
    clock.advance(1000);
    await card(page).waitFor();
    assertEquals(await phone.notifications(), []);
    // The visible page had the message of the first request, so no message about its end follows.
    await card(page).getByRole("button", { name: "Deny" }).click();
    await card(page).waitFor({ state: "detached" });
    await phone.closePage(page);
    await ask();
    await sent({ accepted: 2 });
    await phone.shows(1);
    const next = await phone.context.newPage();
    await next.goto(`${origin}/device/`);
    await card(next).waitFor();
    await phone.shows(0);
    assertEquals(service.delivered.map(({ payload }) => payload.kind), ["request", "request"]);
  }),
);

pushTest(
  "a request that ended before its notification was chosen says so",
  site(async ({ subscribe, ask, phone, origin, embedded }) => {
    await subscribe();
    const { id } = await ask();
    await phone.shows(1);
    const address = await phone.choose();
    assertMatch(address, /^\/device\/#request=/);
    await embedded.admin.cancel(id);
    const page = await phone.context.newPage();
    await page.goto(origin + address);
    await page.getByText("This request has ended").waitFor();
  }),
);

pushTest(
  "without a connection, Deny in the notification says that the sign-in was not denied",
  site(async ({ subscribe, ask, phone, embedded }) => {
    await subscribe();
    const { id } = await ask();
    await phone.shows(1);
    const worker = await phone.worker();
    await worker.evaluate(() => {
      globalThis.fetch = () => Promise.reject(new TypeError("no network"));
    });
    await phone.choose("deny");
    const [shown] = await phone.shows(1);
    assertEquals(shown?.title, "The sign-in was not denied.");
    assertEquals(embedded.admin.request(id)?.state, "waiting");
  }),
);

pushTest(
  "the installed page opens without the network and shows passcodes that the gateway accepts",
  site(async ({ pair, phone, origin, embedded, composition }) => {
    const page = await pair();
    await worksOffline(page);
    await phone.context.setOffline(true);
    await page.goto(`${origin}/device/`);
    await page.getByRole("heading", { name: "Passcodes without a connection" }).waitFor();
    await page.getByText(/^The clock of this phone is \d+ d behind the server\.$/).waitFor();
    await page.getByRole("button", { name: "Show passcode for ada" }).click();
    const code = (await page.locator(".digits").innerText()).replace(/\D/g, "");
    await assertHolds(page);
    const [pairing] = composition.radius.pairings.of("ada");
    assertEquals(await embedded.admin.usePasscode(pairing?.id ?? "", code), true);
    assertEquals(await embedded.admin.usePasscode(pairing?.id ?? "", code), false, "each code once");
    const records = await composition.audits();
    assertEquals(records.filter(({ action }) => action === "pairing.passcode_seed").length, 1);
  }),
);

pushTest(
  "the key of the passcodes cannot be read, and no secret is in the caches",
  site(async ({ pair, phone }) => {
    const page = await pair();
    await offlineCopies(page, 1);
    const cached = await page.evaluate(async () => {
      const cache = await caches.open((await caches.keys())[0] ?? "");
      return (await cache.keys()).map(({ url }) => new URL(url).pathname);
    });
    assertEquals(cached.filter((path) => !/^\/(assets\/|device\/$|device\/manifest)/.test(path)), []);
    const keys = await storedKeys(page);
    assertEquals(keys, [{ type: "secret", extractable: false, usages: ["sign"] }]);
    await page.getByRole("button", { name: "Unpair from ada" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unpair" }).click();
    await page.getByRole("button", { name: "Show pairing phrase" }).waitFor();
    await offlineCopies(page, 0);
    assertEquals(await storedKeys(page), []);
    const left = await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length);
    assertEquals([left, await phone.context.cookies()], [0, []]);
  }),
);

pushTest(
  "an administrator revokes a closed phone while it shows a request: the notification and the passcodes disappear",
  site(async ({ subscribe, ask, sent, phone, origin, embedded, composition }) => {
    await subscribe();
    const { id } = await ask();
    await phone.shows(1);
    const [pairing] = composition.radius.pairings.of("ada");
    assertEquals((await composition.ask("DELETE", `/devices/${pairing?.id}`, {})).code, null);
    await sent({ accepted: 2 });
    await phone.shows(0);
    const status = await embedded.service.status(id);
    assertEquals(status.ok && status.value.cancelled, true);
    await phone.context.setOffline(true);
    const page = await phone.context.newPage();
    await page.goto(`${origin}/device/`);
    await page.getByRole("button", { name: "Try again" }).waitFor();
    assertEquals([await storedKeys(page), await page.getByText("ada").count()], [[], 0]);
    // The page tries again by itself.
    await phone.context.setOffline(false);
    await page.getByRole("button", { name: "Show pairing phrase" }).waitFor();
    await offlineCopies(page, 0);
  }),
);

pushTest(
  "a new build replaces the worker and its cache in the background, and the page at the next visit",
  site(async ({ pair, files }) => {
    const page = await pair();
    const NEXT = "countersign-phone-next-build";
    const cacheNames = () => page.evaluate(() => caches.keys());
    await offlineCopies(page, 1);
    const [before = ""] = await cacheNames();
    const { manifest, read } = await currentDist();
    const worker = read(manifest.phoneApp.worker);
    if (worker === null) throw new Error("The pages are not built");
    const version = before.replace("countersign-phone-", "");
    const script = new TextDecoder().decode(worker.body).replace(version, "next-build");
    const { packed: _old, ...plain } = worker;
    files.set(manifest.phoneApp.worker, { ...plain, body: new TextEncoder().encode(script), etag: '"next"' });
    // Browsers look for it after a visit, Chromium after a second or more.
    await page.evaluate(async () => {
      await (await navigator.serviceWorker.getRegistration("/device/"))?.update();
    });
    await eventually("the next build", async () => (await cacheNames()).join() === NEXT);
    await page.reload();
    await page.getByText("No requests").waitFor();
    assertEquals(await cacheNames(), [NEXT]);
  }),
);

pushTest(
  "the notification of a request that expired, or that an administrator denied, disappears",
  site(async ({ subscribe, ask, sent, phone, embedded, composition: { clock, config } }) => {
    await subscribe();
    await ask();
    await phone.shows(1);
    clock.advance(config.radius.conversationTtlMs);
    await sent({ accepted: 2 });
    await phone.shows(0);
    const { id } = await ask();
    await phone.shows(1);
    assertEquals(await embedded.admin.deny(id), true);
    await sent({ accepted: 4 });
    await phone.shows(0);
  }),
);

pushTest(
  "a push service that is down, slow or limits the rate delivers the request as soon as it answers",
  site(async ({ subscribe, ask, sent, phone, service, embedded, composition: { clock } }) => {
    await subscribe();
    for (
      const answer of [
        { status: 503 },
        { status: 429, headers: { "retry-after": "3" } },
        "hang",
      ] as const
    ) {
      const before = service.requests.length;
      service.answers.push(answer);
      const { id } = await ask();
      await sent({ requests: before + 1 });
      assertEquals(await phone.notifications(), []);
      await eventually("another attempt", () => {
        // Small steps, so that the deadline of the request is far while the attempt is on its way.
        clock.advance(50);
        return service.requests.length > before + 1;
      });
      const [shown] = await phone.shows(1);
      assertEquals(shown?.title, TITLE);
      const accepted = service.delivered.length;
      await embedded.admin.deny(id);
      await sent({ accepted: accepted + 1 });
      await phone.shows(0);
      service.release();
    }
  }),
);

pushTest(
  "a subscription that the push service ended is repaired at the next visit",
  site(async ({ subscribe, ask, sent, phone, service, origin, embedded }) => {
    await subscribe();
    for (const status of [404, 410]) {
      const before = service.requests.length;
      service.answers.push({ status });
      const { id } = await ask();
      await sent({ requests: before + 1 });
      // Until then, the end of the request would go to the old subscription, which this service still has.
      await eventually("the subscription is removed", () => embedded.pages?.status().subscribed === 0);
      await embedded.admin.deny(id);
      const page = await phone.context.newPage();
      await page.goto(`${origin}/device/`);
      await page.getByText("This phone shows a notification for each request").waitFor();
      await phone.closePage(page);
      const next = await ask();
      const [shown] = await phone.shows(1);
      assertEquals(shown?.title, TITLE, `after ${status}`);
      await embedded.admin.deny(next.id);
      await sent({ accepted: service.delivered.length + 1 });
      await phone.shows(0);
    }
  }),
);
