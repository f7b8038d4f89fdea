// Which modules share a chunk: imports of the page, imports of many lazy modules, and small modules that two import.

import { assertEquals } from "@std/assert";
import type { Metafile } from "esbuild";
import { sharedModules, tableModules } from "../../console/build/bundle.ts";

/** A build in which each file has the given octets and imports; `a -> b` loads b later. */
function metafile(files: Readonly<Record<string, { octets: number; imports?: string[]; lazy?: string[] }>>) {
  const edge = (kind: string) => (path: string) => ({ path, kind });
  const lazy = new Set(Object.values(files).flatMap((file) => file.lazy ?? []));
  const inputs = Object.fromEntries(
    Object.entries(files).map(([path, { octets, imports = [], lazy = [] }]) => [path, {
      bytes: octets,
      imports: [...imports.map(edge("import-statement")), ...lazy.map(edge("dynamic-import"))],
    }]),
  );
  const outputs = Object.fromEntries(
    Object.entries(files).map(([path, { octets }]) => [`out/${path}`, {
      bytes: octets,
      imports: [],
      exports: [],
      inputs: { [path]: { bytesInOutput: octets } },
      ...(path === "main" || lazy.has(path) ? { entryPoint: path } : {}),
    }]),
  );
  return { inputs, outputs } as unknown as Metafile;
}

const PAGES = Array.from({ length: 14 }, (_, at) => `p${at + 1}`);
const pages = (imports: Readonly<Record<string, string[]>>) =>
  Object.fromEntries(PAGES.map((page) => [page, { octets: 5000, imports: imports[page] ?? [] }]));

Deno.test("sharedModules() shares what the script imports, and never the script or a page", () => {
  const files = { main: { octets: 10, imports: ["a"], lazy: PAGES }, a: { octets: 9000, imports: ["b"] } };
  assertEquals(sharedModules(metafile({ ...files, b: { octets: 9000 }, ...pages({}) }), "main"), ["a", "b"]);
});

Deno.test("sharedModules() shares a large module of 14 lazy modules, with its imports, and none of 13", () => {
  const used = Object.fromEntries(
    PAGES.map((page) => [page, page === "p14" ? ["wide"] : ["wide", "narrow"]]),
  );
  const files = {
    main: { octets: 10, lazy: PAGES },
    wide: { octets: 9000, imports: ["deep"] },
    deep: { octets: 9000 },
    narrow: { octets: 9000 },
  };
  assertEquals(sharedModules(metafile({ ...files, ...pages(used) }), "main"), ["deep", "wide"]);
});

Deno.test("sharedModules() shares a small module of two if its imports are small too, and none of one", () => {
  const used = { p1: ["small", "heavy", "single"], p2: ["small", "heavy"] };
  const files = {
    main: { octets: 10, lazy: PAGES },
    small: { octets: 400, imports: ["tiny"] },
    tiny: { octets: 100 },
    heavy: { octets: 100, imports: ["large"] },
    large: { octets: 9000 },
    single: { octets: 10 },
  };
  assertEquals(sharedModules(metafile({ ...files, ...pages(used) }), "main"), ["small", "tiny"]);
});

Deno.test("tableModules() separates what only pages with a table import", () => {
  const table = "web/components/data_table.tsx";
  const used = Object.fromEntries(
    PAGES.map((page) => [page, page === "p14" ? ["button"] : [table, "button"]]),
  );
  const files = {
    main: { octets: 10, lazy: PAGES },
    [table]: { octets: 9000, imports: ["sorting"] },
    sorting: { octets: 900 },
    button: { octets: 900 },
  };
  const shared = ["button", "sorting", table];
  const { paths, users } = tableModules(metafile({ ...files, ...pages(used) }), { script: "main", shared });
  assertEquals([paths, [...users]], [["sorting", table], PAGES.slice(0, -1)]);
  const none = { main: { octets: 10, lazy: PAGES }, button: { octets: 900 } };
  assertEquals(
    tableModules(metafile({ ...none, ...pages({}) }), { script: "main", shared: ["button"] }).paths,
    [],
  );
});

Deno.test("sharedModules() shares nothing in a page without lazy modules", () => {
  assertEquals(
    sharedModules(metafile({ main: { octets: 10, imports: ["a"] }, a: { octets: 10 } }), "main"),
    [],
  );
});
