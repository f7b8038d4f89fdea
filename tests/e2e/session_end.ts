// Ends a session during work, so that the next write of the test is the first request that is refused.

import type { Page } from "../packages/playwright.ts";

/** Writes that pages send without an action of the user: to extend the session, and to read discovered clients. */
const SENT_BY_PAGES = /\/(session\/stay|clients\/heard)$/;

/**
 * Calls `end`, which deletes the cookies by default. Pages also send requests without an action (lazy parts, the
 * stream, polling). They wait until the next write: otherwise their refusal opens the sign-in dialog over the button
 * that the test presses next.
 */
export async function endSession(
  page: Page,
  end: () => Promise<void> = () => page.context().clearCookies(),
): Promise<void> {
  const write = Promise.withResolvers<void>();
  await page.route(/\/(console|me)\/api\//, async (route) => {
    const request = route.request();
    const isWrite = request.method() !== "GET" && !SENT_BY_PAGES.test(new URL(request.url()).pathname);
    if (isWrite) write.resolve();
    else await write.promise;
    await route.fallback();
  });
  await end();
}
