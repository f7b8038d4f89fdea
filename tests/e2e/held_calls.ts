// Holds the calls of a page, so that a test can act while they run.

import type { Page } from "../packages/playwright.ts";

export interface HeldCalls {
  /** The number of calls of the page. */
  count(): number;
  /** Resolves when the first call is made. */
  readonly begun: Promise<void>;
  /** Releases the held calls and all later ones. */
  release(): void;
}

/** Holds the calls to a path. */
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
