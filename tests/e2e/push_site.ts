// All services with their own clock behind an HTTP listener, a push service, and a phone in Chromium: for what a login by a real
// client would only repeat, and for deadlines.

import type { Page } from "../packages/playwright.ts";
import type { Asset } from "../../console/assets.ts";
import type { ApprovalRequest } from "../../radius/ports.ts";
import type { EmbeddedSecondFactor } from "../../upstream/embedded/second_factor/second_factor.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { type FakePushService, startPushService } from "../fakes/push_service.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { right } from "../upstream/start_services.ts";
import { currentDist } from "./browser.ts";
import { openPushPhone, type PushPhone } from "./push_browser.ts";

/** An address that is public. */
const PUBLIC_ADDRESS = "142.250.74.10";

export interface PushSite {
  /** The built pages. A test may replace a file, as the next build does. */
  readonly files: Map<string, Asset>;
  readonly origin: string;
  readonly composition: TestComposition;
  readonly embedded: EmbeddedSecondFactor;
  readonly service: FakePushService;
  readonly phone: PushPhone;
  /** Opens an invitation for ada on the phone. */
  invite(): Promise<Page>;
  /** Pairs the phone with ada. Returns the open page. */
  pair(): Promise<Page>;
  /** Pairs the phone, turns notifications on, and closes the page. */
  subscribe(): Promise<void>;
  /** A login of ada that asks her phone. */
  ask(): Promise<ApprovalRequest>;
  /** Waits for this many messages that the push service accepted, and for `requests` in all. */
  sent(count: { accepted?: number; requests?: number }): Promise<void>;
}

/** Starts a site for `use`, and ends it. An error of the page fails the test. */
export async function withPushSite(use: (site: PushSite) => Promise<void>): Promise<void> {
  await using service = startPushService();
  const pushNetwork = { fetch: service.fetch, lookUp: () => Promise.resolve([PUBLIC_ADDRESS]) };
  const built = await currentDist();
  const files = new Map<string, Asset>();
  const dist = { ...built, read: (name: string) => files.get(name) ?? built.read(name) };
  await using composition = await openComposition("", { dist, pushNetwork });
  const { clock, services: { embedded } } = composition;
  if (embedded === null) throw new Error("The services were started without the embedded one");
  // The push service compares `exp` with the same clock.
  service.nowMs = clock.nowMs;
  const listening = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
  await using server = Deno.serve(
    listening,
    (request, { remoteAddr }) =>
      composition.app(request, { remoteAddress: (remoteAddr as Deno.NetAddr).hostname }),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await using phone = await openPushPhone({ origin, service });
  service.onDelivery(({ text }) => void phone.deliver(text));
  const invite = async () => {
    const { invitation } = await embedded.admin.invite("ada");
    await phone.page.goto(`${origin}/device#invite=${invitation}`);
    return phone.page;
  };
  const pair = async () => {
    const page = await invite();
    await page.getByRole("button", { name: /^(Pair this phone|Telefon koppeln)$/ }).click();
    await page.getByRole("heading", { name: /^(Notifications|Benachrichtigungen)$/ }).waitFor();
    return page;
  };
  await use({
    ...{ files, origin, composition, embedded, service, phone, invite, pair },
    async subscribe() {
      const page = await pair();
      await page.getByRole("button", { name: "Turn on notifications" }).click();
      await page.getByText("This phone shows a notification for each request").waitFor();
      await phone.closePage(page);
    },
    async ask() {
      const [pairing] = composition.radius.pairings.of("ada");
      const context = { client: "vpn-1", place: "198.51.100.23", hasPrompt: true };
      const asked = await embedded.service.initiate({
        pairingId: pairing?.id ?? "",
        terminalName: "Company VPN",
        context,
      });
      clock.advance(0);
      return right(asked);
    },
    sent: ({ accepted = 0, requests = 0 }) =>
      eventually(`${accepted} accepted messages of ${requests}`, () => {
        // Messages are sent by timers.
        clock.advance(0);
        return service.delivered.length >= accepted && service.requests.length >= requests;
      }),
  });
  if (phone.complaints.length > 0) throw new Error(`The page reported: ${phone.complaints.join(" | ")}`);
}
