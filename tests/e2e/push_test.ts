// The installed phone page: notifications, passcodes without the network, updates, and logins by push from end to end.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { eventually } from "../upstream/manual_clock.ts";
import type { RadclientLogin } from "../interop/peers/radclient.ts";
import { type FakePushService, startPushService } from "../fakes/push_service.ts";
import { APP_ICONS, drawAppIcons } from "../screenshots/app_icons.ts";
import { browserTest, currentDist, holds } from "./browser.ts";
import { assertHolds } from "./page_checks.ts";
import {
  offlineCopies,
  openPushPhone,
  type PushPhone,
  type PushSite,
  pushTest,
  storedKeys,
  withPushSite,
  worksOffline,
} from "./push_browser.ts";
import { pairPhone, startFirstProgram } from "./console_program.ts";

// The installed phone page: notifications while requests end and while the push service has problems, no second alert beside an
// open page, passcodes without the network, updates, and what unpairing leaves.

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
    await holds(async () => [await storedKeys(page), await page.getByText("ada").count()], [[], 0]);
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

// Logins with push messages from end to end: radclient, the real program, a push service that checks and decrypts, and the
// service worker of a closed phone page in Chromium.

const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the push test"
`;
const REDIRECT = new URL("../fakes/redirect_push.ts", import.meta.url).pathname;

/** Starts the program with a push service, and a phone whose page is closed. */
async function startClosedPhone(use: (site: ClosedPhone) => Promise<void>): Promise<void> {
  await using service = startPushService();
  await using program = await startFirstProgram({
    toml: SETTINGS,
    preload: REDIRECT,
    env: { TEST_PUSH_SERVICE: service.address },
  });
  await using phone = await openPushPhone({ origin: program.origin, service });
  const page = await pairPhone(phone.context, { program, user: "ada" });
  await page.getByRole("button", { name: "Turn on notifications" }).click();
  await page.getByText("This phone shows a notification for each request").waitFor();
  await worksOffline(page);
  await phone.closePage(page);
  service.onDelivery(({ text }) => void phone.deliver(text));
  await using peer = program.radclient();
  await use({
    service,
    phone,
    origin: program.origin,
    login: () => peer.login({ name: "ada", password: "pw" }),
  });
  assertEquals(service.refused, []);
  assertEquals(phone.complaints, []);
}

interface ClosedPhone {
  readonly service: FakePushService;
  readonly phone: PushPhone;
  readonly origin: string;
  readonly login: () => Promise<RadclientLogin>;
}

pushTest(
  "logins by radclient ask a phone whose page is closed",
  (context) =>
    startClosedPhone(async ({ phone, origin, login }) => {
      await context.step("a request notifies it and is approved with the number: Access-Accept", async () => {
        const waiting = await login();
        const [notification] = await phone.shows(1);
        assertEquals([notification?.title, notification?.actions], ["Is this you signing in?", ["Deny"]]);
        assertMatch(notification?.body ?? "", /^ada · .+\nvpn-1/);
        await waiting.shows("Authorize this login on your device with the number");
        const number = /with the number (\d\d)/.exec(waiting.message())?.[1] ?? "";
        const page = await phone.context.newPage();
        await page.goto(origin + await phone.choose());
        await page.locator("input:focus").waitFor();
        await page.keyboard.type(number);
        await page.keyboard.press("Enter");
        await page.getByText("Approved. Return to your sign-in.").waitFor();
        await phone.shows(0);
        await waiting.answer("");
        assertEquals((await waiting.end()).verdict, "accept");
        await page.close();
      });
      await context.step("Deny in the notification rejects the login", async () => {
        const denied = await login();
        await phone.shows(1);
        assertEquals(await phone.choose("deny"), "", "no page is opened");
        const [question] = await phone.shows(1);
        assertEquals([question?.title, question?.actions], ["Did you start this sign-in?", [
          "This was not me",
        ]]);
        assertMatch(await phone.choose(), /#denied=/);
        await phone.shows(0);
        await denied.answer("");
        assertEquals((await denied.end()).verdict, "reject");
      });
      await context.step("a passcode of the page without the network is accepted", async () => {
        await phone.context.setOffline(true);
        const page = await phone.context.newPage();
        await page.goto(`${origin}/device/`);
        await page.getByRole("button", { name: "Show passcode for ada" }).click();
        const code = (await page.locator(".digits").innerText()).replace(/\D/g, "");
        const byCode = await login();
        await byCode.answer(code);
        assertEquals((await byCode.end()).verdict, "accept");
      });
    }),
);

// The icons of the installed phone page are drawings of the product's icon: `tests/screenshots/app_icons.ts` writes them.

/** The part of pixels that may differ: another version of Chromium draws edges slightly differently. */
const MAX_DIFFERENT = 0.01;
const FOLDER = new URL("../../console/device/icons/", import.meta.url);

browserTest("each icon has its size and shows the product's icon", async ({ page }) => {
  const drawn = await drawAppIcons();
  for (const [name, png] of drawn) {
    const stored = await Deno.readFile(new URL(name, FOLDER));
    const result = await page.evaluate(compare, [stored.toBase64(), png.toBase64()]);
    const { size } = APP_ICONS[name];
    assertEquals([result.width, result.height, result.different <= MAX_DIFFERENT], [size, size, true], name);
  }
});

/** Runs in the page: the size of the first picture, and the part of the pixels in which the second differs. */
async function compare(
  [first = "", second = ""]: readonly string[],
): Promise<{ width: number; height: number; different: number }> {
  const read = async (base64: string) => {
    const octets = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([octets], { type: "image/png" }));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const context = canvas.getContext("2d");
    context?.drawImage(picture, 0, 0);
    const { data = new Uint8ClampedArray() } = context?.getImageData(0, 0, picture.width, picture.height) ??
      {};
    return { data, width: picture.width, height: picture.height };
  };
  const [a, b] = [await read(first), await read(second)];
  const far = a.data.filter((value, at) => Math.abs(value - (b.data[at] ?? 0)) > 16).length;
  return { width: a.width, height: a.height, different: far / a.data.length };
}
