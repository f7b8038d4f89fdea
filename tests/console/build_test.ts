// The build: skipped when nothing changed, whole when two run at once, and within the bars for size.

import { assert, assertEquals } from "@std/assert";
import { loadDist } from "../../console/assets.ts";
import { BARS } from "../bench/console/bars.ts";
import { weighConsole } from "../bench/console/weights.ts";
import { build } from "../../console/build.ts";

const DIST = decodeURIComponent(new URL("../../console/dist", import.meta.url).pathname);
const MAX_SCRIPT_OCTETS = 25 * 1024;
const MAX_STYLE_OCTETS = 15 * 1024;

async function gzipOctets(body: Uint8Array<ArrayBuffer>): Promise<number> {
  const packed = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(packed).arrayBuffer()).byteLength;
}

Deno.test("build() does nothing when nothing changed", async () => {
  await build();
  assertEquals(await build(), false);
});

Deno.test("build() leaves whole files when two run at once, and no drafts", async () => {
  const task = () =>
    new Deno.Command(Deno.execPath(), { args: ["task", "--quiet", "build", "--force"], stdout: "null" })
      .output();
  const done = await Promise.all([task(), task()]);
  assertEquals(done.map(({ success }) => success), [true, true]);
  const names = await Array.fromAsync(Deno.readDir(DIST), ({ name }) => name);
  assertEquals(names.filter((name) => name.startsWith(".")), []);
  const { manifest, read } = await loadDist(DIST);
  for (const page of Object.values(manifest.pages)) {
    for (const name of [...page.scripts, ...page.styles, ...page.preloads]) assert(read(name) !== null, name);
  }
  assert(read(manifest.icon) !== null);
});

Deno.test("build() keeps each page of the console within its bar, and all styles and icons", async () => {
  await build();
  const { routes, styleOctets, spriteOctets } = weighConsole(await loadDist(DIST));
  assert(routes.length > 5);
  for (const { name, scriptOctets } of routes) {
    const most = 1024 * (name === "charts" ? BARS.chartsScriptKb : BARS.routeScriptKb);
    assert(scriptOctets > 5000 && scriptOctets <= most, `${name}: ${scriptOctets} octets of script`);
  }
  assert(styleOctets > 1000 && styleOctets <= 1024 * BARS.styleKb, `${styleOctets} octets of styles`);
  assert(spriteOctets > 500 && spriteOctets <= 1024 * BARS.spriteKb, `${spriteOctets} octets of icons`);
});

Deno.test("build() keeps the phone page within 25 KB of script and 15 KB of styles, packed", async () => {
  await build();
  const { manifest, read } = await loadDist(DIST);
  const weigh = async (names: readonly string[] = []) => {
    let total = 0;
    for (const name of names) total += await gzipOctets(read(name)?.body ?? new Uint8Array());
    return total;
  };
  const phone = manifest.pages.device;
  const [script, style] = [
    await weigh([...phone?.scripts ?? [], ...phone?.preloads ?? []]),
    await weigh(phone?.styles),
  ];
  assert(script > 0 && script <= MAX_SCRIPT_OCTETS, `${script} octets of script`);
  assert(style > 0 && style <= MAX_STYLE_OCTETS, `${style} octets of styles`);
});

Deno.test("build() keeps the account page within 25 KB of script and 15 KB of styles, packed", async () => {
  await build();
  const { manifest, read } = await loadDist(DIST);
  const weigh = async (names: readonly string[] = []) => {
    let total = 0;
    for (const name of names) total += await gzipOctets(read(name)?.body ?? new Uint8Array());
    return total;
  };
  const page = manifest.pages.me;
  const script = await weigh([...page?.scripts ?? [], ...page?.preloads ?? []]);
  const style = await weigh(page?.styles);
  assert(script > 5000 && script <= MAX_SCRIPT_OCTETS, `${script} octets of script`);
  assert(style > 1000 && style <= MAX_STYLE_OCTETS, `${style} octets of styles`);
});

Deno.test("build() writes no inline map, no address of elsewhere and no eval", async () => {
  const { manifest, read } = await loadDist(DIST);
  for (const { scripts, preloads, styles } of Object.values(manifest.pages)) {
    for (const name of [...scripts, ...preloads, ...styles]) {
      const text = new TextDecoder().decode(read(name)?.body);
      for (const foreign of text.match(/https?:\/\/[a-z0-9.-]+/g) ?? []) {
        // Names of XML namespaces, and the base that a URL is parsed against; nothing is fetched from them.
        assert(["http://www.w3.org", "http://localhost"].includes(foreign), `${name}: ${foreign}`);
      }
      assertEquals(/sourceMappingURL|\beval\(|new Function\(/.test(text), false, name);
    }
  }
});
