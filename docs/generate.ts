// Writes the pages under docs/ that are generated from tables (`deno task docs`), or with --check only compares them.

import { auditPage } from "./audit_page.ts";
import { configurationPage } from "./configuration_page.ts";
import { conversationPage } from "./conversation_page.ts";
import { dropsPage } from "./drops_page.ts";
import { scimPage } from "./scim_page.ts";

/** File names, and what belongs into them. */
export const PAGES: Readonly<Record<string, () => string>> = {
  "audit.md": auditPage,
  "configuration.md": configurationPage,
  "conversation.md": conversationPage,
  "drops.md": dropsPage,
  "scim.md": scimPage,
};

const HELP = `Writes the pages under docs/ that are generated from tables.

  deno task docs [--check]

  --check  write nothing; exit 1 when a page is not what the tables say
  --help   this text`;

const HERE = new URL("./", import.meta.url);

async function isCurrent(name: string, page: string): Promise<boolean> {
  try {
    return await Deno.readTextFile(new URL(name, HERE)) === page;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw fault;
  }
}

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== "--check" && arg !== "--help");
  if (unknown !== undefined || args.includes("--help")) {
    console.log(HELP);
    return unknown === undefined ? 0 : 2;
  }
  let stale = 0;
  for (const [name, write] of Object.entries(PAGES)) {
    const page = write();
    if (await isCurrent(name, page)) continue;
    stale++;
    if (args.includes("--check")) {
      console.error(`docs/${name} is not what the tables say: run \`deno task docs\``);
      continue;
    }
    await Deno.writeTextFile(new URL(name, HERE), page);
    console.log(`docs/${name} is written`);
  }
  return args.includes("--check") && stale > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
