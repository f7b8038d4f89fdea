// Logins with push messages from end to end: radclient, the real program, a push service that checks and decrypts, and the
// service worker of a closed phone page in Chromium.

import { assertEquals, assertMatch } from "@std/assert";
import type { RadclientLogin } from "../interop/peers/radclient.ts";
import { type FakePushService, startPushService } from "../fakes/push_service.ts";
import { pairPhone, startFirstProgram } from "./console_program.ts";
import { openPushPhone, type PushPhone, pushTest, worksOffline } from "./push_browser.ts";

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
