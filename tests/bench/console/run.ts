// Measures the console against its limits (`deno task console-bars`): size, first view, ten thousand rows, a thousand
// events a second. Times are medians of interleaved rounds, and depend on the machine.

import { type Browser, chromium } from "../../packages/playwright.ts";
import { type Dist, loadDist } from "../../../console/assets.ts";
import { build } from "../../../console/build/build.ts";
import { CHROMIUM_FLAGS, CHROMIUM_PATH } from "../../e2e/browser.ts";
import { startConsole } from "../../fakes/console_app.ts";
import { startLargeTown } from "../../screenshots/large_town.ts";
import { type Figure, figureLine, isMet, largestLine, medianFigures, type Speed } from "./bars.ts";
import { byteFigures, firstViewFigures, liveFigures, rowFigures } from "./figures.ts";
import { type BarsOptions, readOptions } from "./options.ts";

const HELP = `Measures the console against its limits, in Chromium over loopback, without TLS.

deno task console-bars [--bytes] [--slow] [--rounds <n>] [--seconds <s> | --minutes <m>]

  --bytes        Measure only the size of the built files.
  --slow         Measure also with a quarter of the processor, 1.6 Mbit/s and 150 ms of delay.
  --rounds <n>   Rounds of each measurement (default: 3). Their medians are compared with the limits.
  --seconds <s>  Length of the live load in each round (default: 10).
  --minutes <m>  The same in minutes, for example --rounds 1 --minutes 10.
  --help         Show this help.

The exit code is 1 if a limit is not met.`;

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === null) {
    console.log(HELP);
    return args.includes("--help") ? 0 : 2;
  }
  await build({ isRelease: true });
  const dist = await loadDist(new URL("../../../console/dist", import.meta.url));
  const weighed = byteFigures(dist);
  print(weighed);
  const timed = options.bytes ? [] : await timedFigures(dist, options);
  print(timed);
  for (const kind of options.bytes ? ["messages"] : ["first view", "first view, requests"]) {
    console.log(largestLine([...weighed, ...timed], kind));
  }
  const missed = [...weighed, ...timed].filter((figure) => !isMet(figure));
  console.log(`\n${weighed.length + timed.length - missed.length} met, ${missed.length} not met`);
  return missed.length === 0 ? 0 : 1;
}

function print(figures: readonly Figure[]): void {
  for (const figure of figures) console.log(figureLine(figure));
}

/** The medians of all rounds. */
async function timedFigures(dist: Dist, options: BarsOptions): Promise<Figure[]> {
  const speeds: readonly Speed[] = options.slow ? ["normal", "slow"] : ["normal"];
  const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: CHROMIUM_FLAGS });
  const rounds: Figure[][] = [];
  try {
    rounds.push(...await firstViewRounds(browser, { speeds, count: options.rounds }));
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const speed of speeds) {
        console.error(`round ${round} of ${options.rounds}, ${speed}`);
        rounds.push(await oneRound(browser, { dist, speed, seconds: options.seconds }));
      }
    }
  } finally {
    await browser.close();
  }
  return medianFigures(rounds);
}

/** With the program and its 10,000 users. It ends before the other measurements, which its sign-ins would disturb. */
async function firstViewRounds(
  browser: Browser,
  { speeds, count }: { speeds: readonly Speed[]; count: number },
): Promise<Figure[][]> {
  await using town = await startLargeTown((line) => console.error(line));
  const site = town.program;
  const rounds: Figure[][] = [];
  for (let round = 1; round <= count; round += 1) {
    for (const speed of speeds) {
      console.error(`first views, round ${round} of ${count}, ${speed}`);
      await using opened = await openContext(browser, site);
      rounds.push(await firstViewFigures({ context: opened.context, origin: site.origin, speed }));
    }
  }
  return rounds;
}

/** A profile of the browser in which the owner is signed in. */
async function openContext(
  browser: Browser,
  { origin, signIn }: { readonly origin: string; signIn(role: "owner"): Promise<string> },
) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, locale: "en-GB" });
  const [name = "", value = ""] = (await signIn("owner")).split("=");
  await context.addCookies([{ name, value, url: origin }]);
  return { context, [Symbol.asyncDispose]: () => context.close() };
}

interface RoundOptions {
  readonly dist: Dist;
  readonly speed: Speed;
  readonly seconds: number;
}

/** A server, a profile and a session for one measurement. */
async function oneRound(browser: Browser, { dist, speed, seconds }: RoundOptions): Promise<Figure[]> {
  await using site = await startConsole({ dist });
  await using opened = await openContext(browser, site);
  const ground = { context: opened.context, site, speed };
  return [...await rowFigures(ground), ...await liveFigures(ground, seconds)];
}

if (import.meta.main) Deno.exit(await main(Deno.args));
