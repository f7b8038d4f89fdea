// The build refuses lazy modules that it would put into the wrong file, names the module, and says what to do.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { lazyModuleProblems, readWebModules, type WebModule } from "../../console/lazy_modules.ts";
import { PLACES } from "../../console/web/places.ts";

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const places = Object.keys(PLACES);
const modules = await readWebModules(`${root}console/web/`);

Deno.test("lazyModuleProblems() finds nothing in the console", () => {
  assertEquals(lazyModuleProblems(modules, places), []);
});

/** The console with some modules changed or added. */
function withText(changes: Readonly<Record<string, (text: string) => string>>): WebModule[] {
  const known = new Map(modules.map(({ path, text }) => [path, text]));
  for (const [path, change] of Object.entries(changes)) known.set(path, change(known.get(path) ?? ""));
  return [...known].map(([path, text]) => ({ path, text }));
}

const MODULE = () => "export function Clock() {\n  return null;\n}\n";
const loading = (line: string) => (text: string) => `${text}\nexport const more = () => ${line};\n`;

const PROBLEMS: Readonly<
  Record<string, { changes: Parameters<typeof withText>[0]; problems: readonly string[] }>
> = {
  "an unknown module under parts": {
    changes: {
      "parts/clocks/clock.tsx": MODULE,
      "pages/live_page.tsx": loading('import("../parts/clocks/clock.tsx")'),
    },
    problems: [
      "web/parts/clocks/clock.tsx is a lazy module, but no row of rooms.ts lists it. Add it to the row of the page that loads it, or to dialogs.",
    ],
  },
  "a dynamic import in a module that no page imports": {
    changes: { "parts/clocks/left_over.tsx": loading('import("../confirm_dialog.tsx")') },
    problems: [
      "web/parts/clocks/left_over.tsx loads web/parts/confirm_dialog.tsx on demand, but no page imports web/parts/clocks/left_over.tsx. Remove it, or import it from a page.",
    ],
  },
  "a page that places.ts does not list": {
    changes: { "pages/clock_page.tsx": MODULE, "app.tsx": loading('import("./pages/clock_page.tsx")') },
    problems: [
      'web/pages/clock_page.tsx is not listed in web/places.ts. Add the page "clock" there, or remove the file.',
    ],
  },
  "an import() over two lines, and one of a computed path": {
    changes: {
      "parts/tabs.tsx": () => 'export const more = () =>\n  import(\n    "./confirm_dialog.tsx"\n  );\n',
      "parts/note.tsx": () => "export const more = (name: string) => import(`./${name}.tsx`);\n",
    },
    problems: ["parts/note.tsx:1", "parts/tabs.tsx:2"].map((place) =>
      `web/${place} has an import() that the build cannot read. Write import("./path.tsx") with one literal path, on one line.`
    ),
  },
  "a row with a module that is not loaded on demand": {
    changes: {
      "parts/connect/edit_client.tsx": MODULE,
      "pages/client_page.tsx": (text) => text.replace(/import\("[^"]*edit_client\.tsx"\)/, "null"),
    },
    problems: [
      "The row client of rooms.ts lists parts/connect/edit_client, which is not loaded on demand. Remove it from the row.",
    ],
  },
  "a module that does not exist": {
    changes: { "pages/audit_page.tsx": loading('import("./gone_page.tsx")') },
    problems: [
      "web/pages/audit_page.tsx loads web/pages/gone_page.tsx on demand, which does not exist.",
      'web/pages/gone_page.tsx is not listed in web/places.ts. Add the page "gone" there, or remove the file.',
    ],
  },
};

for (const [name, { changes, problems }] of Object.entries(PROBLEMS)) {
  Deno.test(`lazyModuleProblems() names ${name}`, () => {
    const found = lazyModuleProblems(withText(changes), places);
    assertEquals(found.filter((one) => problems.includes(one)).toSorted(), problems.toSorted());
  });
}

Deno.test("build() ends with exit code 1 and the message for an unknown module under parts", async () => {
  const copy = await Deno.makeTempDir({ prefix: "countersign_build_" });
  try {
    await copySources(copy);
    const live = `${copy}/console/web/pages/live_page.tsx`;
    await Deno.mkdir(`${copy}/console/web/parts/clocks`);
    await Deno.writeTextFile(`${copy}/console/web/parts/clocks/clock.tsx`, MODULE());
    await Deno.writeTextFile(
      live,
      loading('import("../parts/clocks/clock.tsx")')(await Deno.readTextFile(live)),
    );
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "-A", "--no-prompt", "console/build.ts", "--force"],
      cwd: copy,
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stderr);
    assertEquals(code, 1, text);
    assertStringIncludes(
      text,
      "Cannot build: web/parts/clocks/clock.tsx is a lazy module, but no row of rooms.ts",
    );
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});

/** What the build reads, with the packages of this checkout. */
async function copySources(to: string): Promise<void> {
  for (
    const path of [
      "console",
      "radius/protocol",
      "radius/flow",
      "scim/schema",
      "platform",
      "deno.json",
      "deno.lock",
    ]
  ) {
    await copyBelow(path, to);
  }
  await Deno.symlink(`${root}node_modules`, `${to}/node_modules`);
}

async function copyBelow(path: string, to: string): Promise<void> {
  const from = root + path;
  if (!(await Deno.stat(from)).isDirectory) {
    await Deno.copyFile(from, `${to}/${path}`);
    return;
  }
  await Deno.mkdir(`${to}/${path}`, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    if (name !== "dist") await copyBelow(`${path}/${name}`, to);
  }
}
