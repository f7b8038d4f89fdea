// Style rules: text that no file of the project may contain, as rows.

import { isModule, type SourceFile } from "./sources.ts";
import { parseModule } from "./syntax.ts";

/** One rule. `problem` gives the line number of the first breach, or `null`. */
export interface StyleRow {
  readonly applies: (path: string) => boolean;
  readonly problem: (file: SourceFile) => number | null;
  /** Text that breaks the rule, so that the rule itself is proven. */
  readonly breach: SourceFile;
}

/** Where tests that need a foreign program are skipped without it; with CI=true tests/run.ts calls that a failure. */
const SKIPS_WITH_REASON = new Set(["tests/support/skip_unless.ts", "tests/e2e/browser.ts"]);
const inTests = (path: string) => path.startsWith("tests/");
const inBrowser = (path: string) =>
  ["console/web/", "console/device/", "console/account/"].some((room) => path.startsWith(room));
const isProse = (path: string) => path.endsWith(".md");
const isCode = (path: string) =>
  isModule(path) || path.endsWith(".c") || path.endsWith(".h") || path.endsWith(".css");

/** Where texts for administrators are. */
const SAYS_COMMANDS = /^(cli|console|platform|radius|scim|upstream)\/|^[a-z]+\.ts$/;
/** The spelling of a checkout itself, also of the build, and of the console until the server sends its own. */
const IN_A_CHECKOUT = new Set([
  "platform/command_name.ts",
  "console/assets.ts",
  "console/web/app/login_state_labels.ts",
]);

/** The same words in every language. */
const UNTRANSLATED = new Set(["Countersign", "Ctrl", "Ctrl K", "SHA-256", "curl"]);

/** The first text in JSX that is not from a catalogue, and so has no translation. */
function untranslatedText(file: SourceFile): number | null {
  const found = parseModule(file).texts.find(({ kind, text }) =>
    kind === "drawn" && /\p{L}{2}/u.test(text) && !UNTRANSLATED.has(text.trim())
  );
  return found?.line ?? null;
}

function matches(pattern: RegExp): (file: SourceFile) => number | null {
  return ({ text }) => {
    const at = text.search(pattern);
    return at < 0 ? null : text.slice(0, at).split("\n").length;
  };
}

const planted = (path: string, text: string): SourceFile => ({ path, text });

/** By the sentence that a breach is reported with. */
export const STYLE_RULES = {
  "does not begin by saying what it is for": {
    applies: isCode,
    problem: ({ text }) => /^(\/\/|\/\*) ?\S/.test(text) ? null : 1,
    breach: planted("radius/mute.ts", "export const x = 1;\n"),
  },
  "runs one test alone": {
    applies: (path) => isModule(path) && inTests(path),
    problem: matches(/\.only\(|\bonly: true/),
    breach: planted("tests/a_test.ts", "Deno.test.only(() => {});"),
  },
  "skips a test without a reason (tests/support/skip_unless.ts gives one)": {
    applies: (path) => isModule(path) && inTests(path) && !SKIPS_WITH_REASON.has(path),
    problem: matches(/\.skip\(|\.ignore\(|\bignore: (true|!)/),
    breach: planted("tests/a_test.ts", "Deno.test.ignore(() => {});"),
  },
  "reads a value of a page once, where the page may follow later (holds() waits)": {
    applies: (path) => path.startsWith("tests/e2e/") && path.endsWith("_test.ts"),
    problem: matches(
      /\bassert(Equals|Match)\(\s*[[(]?\s*await (?![^;>]*=>)[^;]*?\.((allInnerTexts|allTextContents|isDisabled|isEnabled|isChecked|inputValue|getAttribute|innerText)\(|count\(\), [1-9])/,
    ),
    breach: planted("tests/e2e/a_test.ts", 'assertEquals(await rows.allInnerTexts(), ["ada"]);'),
  },
  "leaves something to be done": {
    applies: (path) => isCode(path) || isProse(path),
    problem: matches(/\b(TODO|FIXME|XXX|HACK)\b/),
    breach: planted("radius/a.ts", "// TODO: later"),
  },
  "turns the type checker off": {
    applies: isModule,
    problem: matches(
      /\bas any\b|: any(\[\])?[;,)=|&{]|: any(\[\])? [=|&{]|<any>|@ts-(ignore|nocheck|expect-error)|deno-lint-ignore-file/,
    ),
    breach: planted("radius/a.ts", "const x = y as any;"),
  },
  "catches and says nothing": {
    applies: isModule,
    problem: matches(/\bcatch( \(\w+\))? \{\s*\}|\.catch\(\(\w*\) => \{\s*\}\)/),
    breach: planted("radius/a.ts", "try { f(); } catch (fault) {\n}"),
  },
  "uses Deno in the browser": {
    applies: (path) => isModule(path) && inBrowser(path),
    problem: matches(/\bDeno\./),
    breach: planted("console/web/a.ts", "const x = Deno.env;"),
  },
  "draws a text that is in no catalogue": {
    applies: (path) => inBrowser(path) && path.endsWith(".tsx"),
    problem: untranslatedText,
    breach: planted("console/web/a.tsx", "const Save = () => <button>Save now</button>;"),
  },
  "imports a package by its address instead of its name in deno.json": {
    // tests/packages pins the packages of the tests: a name in deno.json would make every start install them.
    applies: (path) => isModule(path) && !path.startsWith("tests/packages/"),
    problem: matches(/from "(npm|jsr|https?):/),
    breach: planted("radius/a.ts", 'import { x } from "npm:y@1.0.0";'),
  },
  "names a path of one machine or a package registry's host": {
    applies: () => true,
    problem: matches(
      /(^|[\s"'`(=])\/(home|work|root|Users\/[\w.-]+)\/|\.\.\/(spec|shared|facts|design)\/\S*\.md|registry\.npmjs/m,
    ),
    breach: planted("docs/a.md", "see `/home/user/notes`"),
  },
  "spells how a command is called (COMMAND of platform/command_name.ts does)": {
    applies: (path) => isModule(path) && SAYS_COMMANDS.test(path) && !IN_A_CHECKOUT.has(path),
    problem: matches(/^(?!\s*(?:\/\/|\/?\*)).*\bdeno task\b/m),
    breach: planted("cli/a.ts", "// Help.\nconst x = `deno task pair`;"),
  },
  "is named for what it is not": {
    applies: isModule,
    problem: ({ path }) => /(^|\/)(utils?|helpers?|common|types|index|misc)\.tsx?$/.test(path) ? 1 : null,
    breach: planted("radius/utils.ts", "// Helps."),
  },
  "is not named in snake_case": {
    applies: isModule,
    problem: ({ path }) => /[^a-z0-9_./]/.test(path) ? 1 : null,
    breach: planted("radius/dropReasons.ts", "// Reasons."),
  },
} as const satisfies Record<string, StyleRow>;

/** Every breach in a file, as `path:line sentence`. */
export function styleProblems(file: SourceFile): string[] {
  const rules: [string, StyleRow][] = Object.entries(STYLE_RULES);
  return rules.filter(([, rule]) => rule.applies(file.path)).flatMap(([sentence, rule]) => {
    const line = rule.problem(file);
    return line === null ? [] : [`${file.path}:${line} ${sentence}`];
  });
}
