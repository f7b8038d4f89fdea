// The sample files of the pages "Move from …", imported with the commands that the pages show.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openOperator, openStandIn, type Operator } from "./operator.ts";

const SAMPLES = new URL("../../docs/samples/", import.meta.url).pathname;
const PAGES = ["move-from-duo", "move-from-privacyidea", "move-from-nps-extension"];
/** Of docs/samples/privacyidea-tokens.pskc. */
const KEY = "31323334353637383930616263646566";

const pageOf = (name: string) => Deno.readTextFile(new URL(`../../docs/${name}.md`, import.meta.url));

/** Runs a command of a page, and returns what it prints. */
async function ran(operator: Operator, line: string, stdin = ""): Promise<string> {
  const [command = "", ...args] = line.split(" ").map((word) => word.replace(/^docs\/samples\//, SAMPLES));
  const { code, stdout, stderr } = await operator.type(stdin, command, ...args);
  assertEquals([code, stderr], [0, ""], `${line}: ${stdout}`);
  return stdout;
}

interface Sample {
  readonly page: string;
  /** As the page shows it, behind `deno task`. */
  readonly line: string;
  readonly stdin?: string;
  readonly prints: string;
}

const SAMPLES_OF_PAGES: readonly Sample[] = [
  { page: "move-from-nps-extension", line: "import default docs/samples/ad-users.csv", prints: "2 created" },
  {
    page: "move-from-duo",
    line: "tokens import docs/samples/duo-tokens.csv --kind hotp",
    prints: "2 rows: 2 new, 0 known, 0 refused",
  },
  {
    page: "move-from-privacyidea",
    line: "tokens import docs/samples/privacyidea-tokens.pskc --key",
    stdin: `${KEY}\n`,
    prints: "3 rows: 3 new, 0 known, 0 refused",
  },
  {
    page: "move-from-nps-extension",
    line: "tokens import docs/samples/entra-tokens.csv --assign",
    prints: "2 rows: 2 new, 0 known, 0 refused, 1 assigned",
  },
];

Deno.test("the sample files of the pages about moving are imported by the commands that the pages show", async (t) => {
  await using operator = await openOperator();
  await using _server = await openStandIn(operator);
  for (const { page, line, stdin, prints } of SAMPLES_OF_PAGES) {
    await t.step(line, async () => {
      assertStringIncludes(await pageOf(page), `deno task ${line}`);
      assertStringIncludes(await ran(operator, line, stdin), prints);
    });
  }
  await t.step("PSKC of privacyIDEA keeps type, digits, time step, hash and counter", async () => {
    const rows = (await ran(operator, "tokens list --free")).split("\n");
    const row = (serial: string) => rows.find((one) => one.includes(serial)) ?? "";
    assertStringIncludes(row("OATH0001A2B3"), "HOTP, 6 digits");
    assertStringIncludes(row("TOTP0002C4D5"), "TOTP, 8 digits, 30 s");
    assertStringIncludes(row("TOTP0003E6F7"), "TOTP, 6 digits, 60 s");
    // RFC 4226 Appendix D: the counter of the file is 7, and this is the code of 8.
    assertStringIncludes(await ran(operator, "tokens test OATH0001A2B3 399871"), "It is 1 ahead");
  });
  await t.step("the table of privacyIDEA names the users of its tokens", async () => {
    const text = await Deno.readTextFile(`${SAMPLES}privacyidea-tokens.csv`);
    const renamed = `${operator.home}/renamed.csv`;
    await Deno.writeTextFile(renamed, text.replaceAll(/(?<=, )(TOTP|OATH)000/g, "NEW-$1000"));
    const out = await ran(operator, `tokens import ${renamed} --assign`);
    assertStringIncludes(out, "3 rows: 3 new, 0 known, 0 refused, 2 assigned");
    const listed = await ran(operator, "tokens list bob@example.com");
    assertStringIncludes(listed, "NEW-OATH0001A2B3");
  });
  await t.step("the table of privacyIDEA, as it is, assigns no token that exists", async () => {
    const out = await ran(operator, "tokens import docs/samples/privacyidea-tokens.csv --dry-run --assign");
    assertStringIncludes(out, "3 rows: 1 new, 2 known, 0 refused");
  });
});

Deno.test("each sample file is on a page about moving", async () => {
  const pages = (await Promise.all(PAGES.map(pageOf))).join("\n");
  for await (const { name } of Deno.readDir(SAMPLES)) assert(pages.includes(`docs/samples/${name}`), name);
});
