// Tests of single states of pages: each state is checked in a wide window, and at 320 px in dark colors.

import type { Page } from "../packages/playwright.ts";
import { browserTest } from "./browser.ts";
import { assertHoldsInBothLooks } from "./page_checks.ts";

/** How a state is reached. */
export type ReachState<Site> = (page: Page, site: Site) => Promise<void>;

export interface StateTests<Site> {
  /** The prefix of the test names. */
  readonly subject: string;
  readonly start: () => Promise<Site>;
  readonly states: Readonly<Record<string, ReachState<Site>>>;
  /** The names of states of which only a part is checked. */
  readonly within?: Readonly<Record<string, string>>;
  /** Additional checks in both looks. */
  readonly check?: (page: Page) => Promise<void>;
}

/** Registers one test for each state. */
export function stateTests<Site extends AsyncDisposable>(tests: StateTests<Site>): void {
  const { subject, start, states, within = {}, check } = tests;
  for (const [name, reach] of Object.entries(states)) {
    browserTest(
      `${subject}: ${name} has no problem, wide in light and at 320 px in dark`,
      async ({ page }) => {
        await using stack = new AsyncDisposableStack();
        const site = stack.use(await start());
        await reach(page, site);
        await assertHoldsInBothLooks(page, { within: within[name], check });
      },
    );
  }
}
