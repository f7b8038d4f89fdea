// Screenshots of every page of the console, at five widths, light and dark, with the data of a large organization
// (`deno task docs --screens <directory>`). The run fails if a page is wider than its window or reports an error.

import type { Page } from "../packages/playwright.ts";
import { PAGE_ROUTES, type RouteName } from "../../console/web/app/routes.ts";
import { build } from "../../console/build/build.ts";
import { closeBrowser, enterAs, openTab } from "../e2e/browser.ts";
import { laidOut, scrollsSideways } from "../e2e/page_checks.ts";
import { startLargeTown, TOWN_CONNECTION, TOWN_GROUP, TOWN_USER } from "./large_town.ts";

const WIDTHS = [[320, 640], [800, 900], [1024, 768], [1440, 900], [1920, 1080]] as const;
/** So many sign-ins end before the first screenshot. */
const MIN_ACCEPTS = 40;
const THEMES = ["light", "dark"] as const;

const USER = `/users/${encodeURIComponent(TOWN_USER)}`;

/** The addresses of the screenshots of a route: one, or several states of its page. */
const PATHS: Readonly<Partial<Record<RouteName, readonly string[]>>> = {
  users: ["/users", "/users?q=mari"],
  user: [USER, `${USER}#profile`, `${USER}#devices`, `${USER}#backends`, `${USER}#timeline`],
  group: [`/groups/${TOWN_GROUP}`],
  client: ["/clients/vpn-frankfurt"],
  connection: [
    `/connections/${TOWN_CONNECTION}`,
    ...["users", "secrets", "settings", "setup"].map((tab) => `/connections/${TOWN_CONNECTION}#${tab}`),
  ],
  target: ["/targets/default", "/targets/contractors"],
  mail: ["/mail", "/mail#failed", "/mail#templates"],
  settings_topic: ["/settings/mail", "/settings/limits", "/settings/radius", "/settings/console"],
  live: ["/live", "/live?approvals=open"],
  charts: ["/charts?range=24h", "/charts?range=30d"],
};

/** Routes that need a state which this gateway does not have: a first start, and the sign-in that the page shows. */
const WITHOUT: ReadonlySet<RouteName> = new Set<RouteName>(["set_up", "conversation"]);

function pathsOf(name: RouteName): readonly string[] {
  if (WITHOUT.has(name)) return [];
  const { pattern } = PAGE_ROUTES[name];
  const paths = PATHS[name] ?? (pattern.includes(":") ? null : [pattern]);
  if (paths === null) throw new Error(`Cannot take a screenshot of ${name}: add its address to PATHS`);
  return paths;
}

const fileName = (path: string): string =>
  path.slice(1).replaceAll(encodeURIComponent(TOWN_USER), "user").replaceAll(/[^a-z0-9-]+/gi, "_");

interface Shot {
  readonly file: string;
  readonly width: number;
  readonly theme: string;
}

/** Takes the screenshots of one address. Returns the files, and the problems as lines. */
async function shoot(
  page: Page,
  { origin, path, directory }: { origin: string; path: string; directory: string },
): Promise<{ shots: Shot[]; problems: string[] }> {
  const shots: Shot[] = [];
  const problems: string[] = [];
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("about:blank");
  await page.goto(origin + path);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.waitForFunction(() => document.querySelector("main [data-busy], main .skeleton") === null);
  for (const [width, height] of WIDTHS) {
    await page.setViewportSize({ width, height });
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await laidOut(page);
      const file = `${fileName(path)}-${width}-${theme}.png`;
      await page.screenshot({ path: `${directory}/${file}` });
      shots.push({ file, width, theme });
    }
    if (await scrollsSideways(page)) problems.push(`${path} scrolls sideways at ${width} px`);
  }
  return { shots, problems };
}

function indexPage(groups: readonly (readonly [path: string, shots: readonly Shot[]])[]): string {
  const sections = groups.map(([path, shots]) => {
    const images = shots.map(({ file, width, theme }) =>
      `<figure><a href="${file}"><img src="${file}" alt="" loading="lazy"></a><figcaption>${width} ${theme}</figcaption></figure>`
    );
    return `<h2>${path.replaceAll("<", "&lt;")}</h2><div>${images.join("")}</div>`;
  });
  return `<!doctype html><meta charset="utf-8"><title>Screenshots</title>
<style>div{display:flex;flex-wrap:wrap;gap:8px}img{height:220px;border:1px solid #999}figure{margin:0}</style>
${sections.join("\n")}
`;
}

async function main(directory: string, only: readonly string[]): Promise<number> {
  await Deno.mkdir(directory, { recursive: true });
  await build();
  const report = (line: string) => console.log(line);
  const routes = (Object.keys(PAGE_ROUTES) as RouteName[]).filter((name) =>
    only.length === 0 || only.includes(name)
  );
  await using town = await startLargeTown(report);
  const { origin } = town.program;
  report("waiting for sign-ins");
  while (await town.program.metric("accepts_total") < MIN_ACCEPTS) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const { page, context, complaints } = await openTab({ viewport: { width: 1440, height: 900 } });
  await enterAs(page, { site: town.program, role: "owner", heading: /\w/ });
  const groups: [string, Shot[]][] = [];
  const problems: string[] = [];
  for (const path of routes.flatMap(pathsOf)) {
    const taken = await shoot(page, { origin, path, directory });
    groups.push([path, taken.shots]);
    problems.push(...taken.problems, ...complaints.splice(0).map((line) => `${path}: ${line}`));
    report(`${path}: ${taken.shots.length} screenshots`);
  }
  await context.close();
  await Deno.writeTextFile(`${directory}/index.html`, indexPage(groups));
  report(`${directory}/index.html shows all of them`);
  for (const line of problems) console.error(line);
  return problems.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  const [directory, ...only] = Deno.args;
  if (directory === undefined) {
    console.error("The directory is missing: deno task docs --screens <directory> [page ...]");
    Deno.exit(2);
  }
  const code = await main(directory, only).finally(closeBrowser);
  Deno.exit(code);
}
