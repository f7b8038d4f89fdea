// Calls of a page that a test holds back, so that it can act while they run.

import type { Page } from "../packages/playwright.ts";

export interface HeldCalls {
  /** How many calls the page has made. */
  count(): number;
  /** Resolves when the first call is made. */
  readonly begun: Promise<void>;
  /** Lets the held calls and all later ones go on. */
  release(): void;
}

/** Holds the calls to a path back. */
export async function holdCalls(page: Page, path: RegExp): Promise<HeldCalls> {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let count = 0;
  await page.route(path, async (route) => {
    count += 1;
    begun.resolve();
    await released.promise;
    await route.continue();
  });
  return { count: () => count, begun: begun.promise, release: released.resolve };
}
