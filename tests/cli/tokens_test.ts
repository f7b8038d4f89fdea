// `deno task tokens`: the arguments, and an import with a refused row.

import { assertEquals } from "@std/assert";
import { planTokens, type TokenPlan } from "../../cli/tokens.ts";
import { openOperator } from "./operator.ts";

const IMPORT = {
  kind: null,
  algorithm: null,
  digits: null,
  periodS: null,
  encoding: "auto",
  manufacturer: "",
  assigns: false,
  ignoreValidity: false,
} as const;

/** Arguments, and the plan or the problem with them. */
const ROWS: readonly (readonly [string, TokenPlan | string])[] = [
  ["", "the action is missing"],
  ["erase T-1", 'there is no action "erase"'],
  ["list", { does: "list", text: "", isFree: false }],
  ["list T- --free", { does: "list", text: "T-", isFree: true }],
  ["list a b", "there is more than one text"],
  ["assign T-1 ada", { does: "assign", serial: "T-1", user: "ada" }],
  ["assign T-1", "the user is missing"],
  ["assign", "the serial number is missing"],
  ["remove T-1", { does: "remove", serial: "T-1" }],
  ["remove T-1 T-2", "there is more than one serial number"],
  ["resync T-1 123456 234567", { does: "resync", serial: "T-1", codes: ["123456", "234567"] }],
  ["resync T-1 123456", "two codes are required"],
  ["test T-1 123456", { does: "test", serial: "T-1", code: "123456" }],
  ["import", "the file is missing"],
  ["import a.csv b.csv", "there is more than one file"],
  ["import a.csv --password --key", "--password and --key exclude each other"],
  ["import a.csv --digits 5", "--digits must be one of 6, 7, 8"],
  ["import a.csv --period no", "--period must be a number of seconds"],
  [
    "import a.csv",
    { does: "import", plan: { file: "a.csv", isDryRun: false, secret: null, options: IMPORT } },
  ],
  [
    "import a.xml --dry-run --key --assign --kind totp --digits 8 --period 60 --algorithm sha256",
    {
      does: "import",
      plan: {
        ...{ file: "a.xml", isDryRun: true, secret: "key" },
        options: { ...IMPORT, assigns: true, kind: "totp", digits: 8, periodS: 60, algorithm: "SHA256" },
      },
    },
  ],
];
for (const [text, expected] of ROWS) {
  Deno.test(`planTokens() reads "${text}"`, () => {
    assertEquals(planTokens(text.split(" ").filter((word) => word !== "")), expected);
  });
}

Deno.test("deno task tokens: an import ends with 1 if a row was refused, also in a dry run, and a test if the code was", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/seeds.csv`;
  await Deno.writeTextFile(file, "H1,3132333435363738393031323334353637383930\nH2,zz\n");
  const counts = "2 rows: 1 new, 0 known, 1 refused, 0 assigned.";
  const tried = await operator.run("tokens", "import", file, "--dry-run");
  assertEquals([tried.code, tried.stdout.split("\n")[0]], [1, `${counts} Nothing was changed.`]);
  const done = await operator.run("tokens", "import", file);
  assertEquals([done.code, done.stdout.split("\n")[0]], [1, `${counts} Imported 1 token.`]);
  // RFC 4226, appendix D: the secret has these codes at the counters 0 and 1.
  for (const [code, exitCode] of [["755224", 0], ["000000", 1]] as const) {
    assertEquals((await operator.run("tokens", "test", "H1", code)).code, exitCode);
  }
});
