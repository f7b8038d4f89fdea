// Browser tests of the console: each test has its own console, or one for its file, and opens pages with a prepared session.

import { createManualClock } from "../fakes/console_app.ts";
import {
  browserTest,
  type BrowserTestOptions,
  type ConsoleSite,
  currentDist,
  enterAs,
  type Tab,
} from "./browser.ts";

/** The arguments of a console test. */
export interface ConsoleTab<Site> extends Tab {
  readonly site: Site;
  /** The clock of a console that was started with `manualClock`. */
  readonly clock: ReturnType<typeof createManualClock>;
  /** Opens a page with a session of the role, and waits for its heading. */
  open(path: string, heading: string | RegExp, options?: { role?: string }): Promise<void>;
  /** A step of the test, reported by its name. The steps after a failed one still run. */
  step(name: string, body: () => Promise<void>): Promise<boolean>;
}

/** Starts a console. Its options are those of the tests, plus the built pages. */
type StartConsole = (options: never) => Promise<ConsoleSite>;
type SiteOf<Start extends StartConsole> = Awaited<ReturnType<Start>>;
type OptionsOf<Start extends StartConsole> =
  & Omit<NonNullable<Parameters<Start>[0]>, "dist">
  & BrowserTestOptions
  & {
    readonly role?: string;
    readonly manualClock?: true;
    /** All tests use one console, each with users of its own. For programs, which take a second to start. */
    readonly isShared?: true;
  };
type ConsoleTestBody<Start extends StartConsole> = (tab: ConsoleTab<SiteOf<Start>>) => Promise<void>;

export interface ConsoleTest<Start extends StartConsole> {
  (name: string, body: ConsoleTestBody<Start>): void;
  (name: string, options: OptionsOf<Start>, body: ConsoleTestBody<Start>): void;
}

/**
 * Returns a function like `Deno.test`, for one kind of console.
 *
 * @example const test = consoleTests(startPeopleConsole, { role: "user_manager" });
 *   test("a user is there", { look: "narrow" }, async ({ site, open }) => { … });
 */
export function consoleTests<Start extends StartConsole>(
  start: Start,
  defaults: OptionsOf<Start>,
): ConsoleTest<Start> {
  let shared: Promise<SiteOf<Start>> | null = null;
  if (defaults.isShared === true) {
    Deno.test.afterAll(async () => await (await shared)?.[Symbol.asyncDispose]());
  }
  return (name: string, ...rest: [ConsoleTestBody<Start>] | [OptionsOf<Start>, ConsoleTestBody<Start>]) => {
    const [given, body] = rest.length === 1 ? [{}, rest[0]] : rest;
    const wanted: BrowserTestOptions & { role?: string; manualClock?: true; isShared?: true } = {
      ...defaults,
      ...given,
    };
    const { look, peers, role = "owner", manualClock, isShared, ...options } = wanted;
    browserTest(name, async (tab, context) => {
      const clock = createManualClock(Date.now());
      const all = { ...options, ...(manualClock === true ? { clock } : {}), dist: await currentDist() };
      await using own = new AsyncDisposableStack();
      const begin = () => start(all as never) as Promise<SiteOf<Start>>;
      const site = isShared === true ? await (shared ??= begin()) : own.use(await begin());
      await body({
        ...tab,
        site,
        clock,
        step: (title, run) => context.step(title, run),
        open: (path, heading, { role: other = role } = {}) =>
          enterAs(tab.page, { site, role: other, path, heading }),
      });
    }, { look, peers });
  };
}
