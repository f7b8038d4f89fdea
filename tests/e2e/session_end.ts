// Ends a session in the middle of work, so that their next deed is what meets the end.

import type { Page } from "../packages/playwright.ts";

/** Calls that change something by their method, but that pages send by themselves: for the session's end, for what was heard. */
const SENT_BY_PAGES = /\/(session\/stay|clients\/heard)$/;

/**
 * Does `end`, by default by taking the cookie. Pages ask for things by themselves (parts that come late, the stream, what is
 * asked again every few seconds); what they ask from now on is sent after the next deed is, or else the sign-in dialog that
 * their answer brings would lie over the button that the test is about to press.
 */
export async function endSession(
  page: Page,
  end: () => Promise<void> = () => page.context().clearCookies(),
): Promise<void> {
  const deed = Promise.withResolvers<void>();
  await page.route(/\/(console|me)\/api\//, async (route) => {
    const request = route.request();
    const isDeed = request.method() !== "GET" && !SENT_BY_PAGES.test(new URL(request.url()).pathname);
    if (isDeed) deed.resolve();
    else await deed.promise;
    await route.fallback();
  });
  await end();
}
