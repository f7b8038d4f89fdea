// Writes the pages under docs/ that are generated from tables (`deno task docs`), or with --check only compares them.

import { clientGuidesPage } from "./client_guides_page.ts";
import { configurationPage } from "./configuration_page.ts";
import { conversationPage } from "./conversation_page.ts";
import { identityProvidersPage } from "./identity_providers_page.ts";
import { scimPage } from "./scim_page.ts";
import { ECS_FIELDS, ecsEventRows } from "../platform/log_export/ecs_fields.ts";

import en from "../console/web/i18n/en.json" with { type: "json" };
import { AUDIT_ACTIONS, type AuditObjectKind } from "../platform/audit_actions.ts";
import { REQUEST_REFUSALS } from "../radius/server/request.ts";
import { DROP_REASONS } from "../radius/protocol/drop_reasons.ts";
import { PROMPTS } from "../radius/flow/prompts.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# Dropped packets and refused requests

Generated from the tables of reasons by \`deno task docs\`; do not edit.

## Dropped

The gateway does not answer a dropped packet. The log has a \`dropped:\` line with the reason, the client and the source.

- A packet that is dropped on arrival is logged at most once a minute for each reason and source.
- A request that is dropped later, as part of a login, has a line of its own: \`too_busy\`, \`rate_limited\`, \`first_factor_busy\`,
  \`store_failed\` and \`overtaken\`. In a flood, after 1,000 lines of one reason, the log has 100 lines a second of it. One more line a second
  has the number of the others in \`folded\`.
- An Accounting-Request that the store could not record has the line \`an Accounting-Request could not be recorded\` instead. It counts as
  \`store_failed\`.
- A reply that the gateway cannot write has the reason \`reply_not_written\` in the log. Proxy-State may leave no room for the prompt. It counts
  as \`too_busy\`.
- Lines of level \`debug\` appear only at that log level.

\`/metrics\` and the console count all dropped packets.
`;

const REFUSED = `## Refused

The gateway answers a valid packet that it cannot process with an Access-Reject, at least one second after its arrival. The log has a
\`request refused:\` line.
`;

function dropped(): string {
  return Object.entries(DROP_REASONS)
    .map(([reason, { level, sentence, ref }]) => `### ${reason}\n\n${sentence} (\`${level}\`; ${ref}).\n`)
    .join("\n");
}

function refused(): string {
  return Object.entries(REQUEST_REFUSALS)
    .map(([reason, { sentence, prompt, ref }]) =>
      `### ${reason}\n\n${sentence} (${ref}). The user sees: "${PROMPTS[prompt].text}"\n`
    )
    .join("\n");
}

/** The page: a heading for each reason, so that a link can point at it. */
function dropsPage(): string {
  return [INTRODUCTION, dropped(), REFUSED, refused()].join("\n");
}

const PAGE = new URL("audit.md", import.meta.url);
const BEGIN = "<!-- The table is written by `deno task docs` from platform/audit_actions.ts. -->\n";
const END = "<!-- end of the table -->\n";

/** The page with the table as the actions are now. */
function auditPage(): string {
  const text = Deno.readTextFileSync(PAGE);
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("Cannot write docs/audit.md: it has no place for the table");
  return `${text.slice(0, begin)}${BEGIN}\n${actionTable()}\n${text.slice(end)}`;
}

function actionTable(): string {
  const rows = Object.entries<{ about: AuditObjectKind }>(AUDIT_ACTIONS).map(([action, { about }]) => [
    labelOf(action),
    `\`${action}\``,
    about,
  ]);
  return tableText(["event", "action", "target"], rows);
}

function labelOf(action: string): string {
  const key = `audit.event_${action.replaceAll(".", "_")}`;
  const label: unknown = Object.entries(en).find(([one]) => one === key)?.[1];
  if (typeof label !== "string") throw new Error(`Cannot write docs/audit.md: ${action} has no label`);
  return label;
}

/** A table as `deno fmt` writes it. */
function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((cells) => cells[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  return line(head) + rule + rows.map(line).join("");
}

/** File names, and what belongs into them. */
const PAGES: Readonly<Record<string, () => string>> = {
  "audit.md": auditPage,
  "client-guides.md": clientGuidesPage,
  "configuration.md": configurationPage,
  "conversation.md": conversationPage,
  "drops.md": dropsPage,
  "identity-providers.md": identityProvidersPage,
  "log-export.md": logExportPage,
  "scim.md": scimPage,
};

const HELP = `Writes the pages under docs/ that are generated from tables.

  deno task docs [--check | --images [name ...]]
  deno task docs --screens <directory> [page ...]

  --check    write nothing; exit 1 when a page is not what the tables say
  --images   also write the screenshots of docs/images, or those with these names, with Chromium
  --screens  write screenshots of every page of the console, at five widths, light and dark, with 10,000 users;
             index.html shows them. Pages are named as in console/web/app/routes.ts
  --help     show this help`;

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
  if (args[0] === "--screens") return await runScreenshots("screens.ts", args.slice(1));
  const at = args.indexOf("--images");
  const [own, images] = at < 0 ? [args, []] : [args.slice(0, at + 1), args.slice(at + 1)];
  const unknown = own.find((arg) => !["--check", "--help", "--images"].includes(arg));
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
  if (args.includes("--images")) return await runScreenshots("write.ts", images);
  return args.includes("--check") && stale > 0 ? 1 : 0;
}

/** Runs the screenshots in a process of their own: the packages of the tests have another lock file. */
async function runScreenshots(name: string, rest: readonly string[] = []): Promise<number> {
  const script = new URL(`../tests/screenshots/${name}`, HERE).pathname;
  const args = ["run", "--quiet", "-A", "--lock=tests/deno.lock", script, ...rest];
  const { code } = await new Deno.Command("deno", { args, cwd: new URL("..", HERE) }).spawn().status;
  return code;
}

/** docs/log-export.md: the text, with the tables of the fields and of the actions. */
function logExportPage(): string {
  const fields = tableText(
    ["field", "meaning"],
    Object.entries(ECS_FIELDS).map(([name, { meaning }]) => [`\`${name}\``, meaning]),
  );
  const actions = tableText(
    ["action", "category", "type", "outcome", "kind"],
    ecsEventRows().map(({ action, event: { category, type, outcome, kind } }) => [
      ...[`\`${action}\``, category.join(", "), type.join(", "), outcome, kind],
    ]),
  );
  const text = Deno.readTextFileSync(new URL("log-export.md", import.meta.url));
  return withTable(withTable(text, "fields", fields), "actions", actions);
}

function withTable(text: string, what: string, table: string): string {
  const begin =
    `<!-- The table of the ${what} is written by \`deno task docs\` from platform/log_export/ecs_fields.ts. -->\n`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- end of the ${what} -->\n`);
  if (from < 0 || to < from) {
    throw new Error(`Cannot write docs/log-export.md: it has no place for the ${what}`);
  }
  return `${text.slice(0, from)}${begin}\n${table}\n${text.slice(to)}`;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
