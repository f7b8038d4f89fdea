// The build: it is skipped without changes, is safe to run twice at once, and keeps the size limits.

import { assert, assertEquals } from "@std/assert";
import { type Dist, loadDist, scriptsOfPage } from "../../console/assets.ts";
import { BARS, weighConsole } from "../bench/console/bars.ts";
import { build, keysIn } from "../../console/build/build.ts";
import { PAGE_ROUTES } from "../../console/web/app/routes.ts";
import { catalogueFile } from "../../console/web/i18n/catalogue.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };

const DIST = decodeURIComponent(new URL("../../console/dist", import.meta.url).pathname);
const MAX_ALL_SCRIPT_OCTETS = BARS.allScriptKb * 1024;
const MAX_SCRIPT_OCTETS = BARS.routeScriptKb * 1024;
/**
 * Scripts and preloads. A page also needs HTML, styles, icons, messages, the session and its data: sixteen files in
 * total.
 */
const MAX_FILES_OF_PAGE = 9;
const MAX_STYLE_OCTETS = 15 * 1024;
/** Phones load it over mobile networks. */
const MAX_PHONE_SCRIPT_OCTETS = 26 * 1024;
const MAX_WORKER_OCTETS = 5 * 1024;

async function gzipOctets(body: Uint8Array<ArrayBuffer>): Promise<number> {
  const packed = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(packed).arrayBuffer()).byteLength;
}

Deno.test("build() does nothing when nothing changed", async () => {
  await build();
  assertEquals(await build(), false);
});

Deno.test("build() leaves complete files and no drafts when two builds run at once", async () => {
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

Deno.test("build() keeps the scripts, messages, styles and icons of each console page within their size limits", async () => {
  await build({ isRelease: true });
  const dist = await loadDist(DIST);
  const { routes, allScriptOctets, styleOctets, spriteOctets } = weighConsole(dist);
  assert(routes.length > 15);
  for (const { name, scriptOctets, gzipOctets, messageOctets } of routes) {
    assert(
      messageOctets > 5000 && messageOctets <= 1024 * BARS.messagesKb,
      `${name}: ${messageOctets} octets of messages`,
    );
    assert(
      scriptOctets > 15_000 && scriptOctets <= MAX_SCRIPT_OCTETS,
      `${name}: ${scriptOctets} octets of script`,
    );
    // Browsers accept only gzip over plain HTTP. Its sizes must stay near those of brotli.
    assert(gzipOctets <= 1.2 * scriptOctets, `${name}: ${gzipOctets} octets by gzip`);
  }
  assert(
    allScriptOctets > 50_000 && allScriptOctets <= MAX_ALL_SCRIPT_OCTETS,
    `${allScriptOctets} octets of script`,
  );
  assert(styleOctets > 1000 && styleOctets <= 1024 * BARS.styleKb, `${styleOctets} octets of styles`);
  assert(spriteOctets > 500 && spriteOctets <= 1024 * BARS.spriteKb, `${spriteOctets} octets of icons`);
});

Deno.test("build() makes each page of the console fetch few files, with shared code in one", async () => {
  await build();
  const { manifest } = await loadDist(DIST);
  const { scripts = [], preloads = [] } = manifest.pages.web ?? {};
  assertEquals([scripts.length, preloads.length], [1, 0]);
  for (const [module, files] of Object.entries(manifest.lazy)) {
    if (!module.startsWith("web/pages/")) continue;
    const all = new Set([...scripts, ...preloads, ...files]);
    assert(all.size <= MAX_FILES_OF_PAGE, `${module}: ${all.size} files`);
  }
});

Deno.test("build() lists every source that a page uses as an input, so that a change is noticed", async () => {
  await build();
  const { manifest: { inputs } } = await loadDist(DIST);
  const needed = [
    "build/bundle.ts",
    "web/main.tsx",
    "web/i18n/de.json",
    "web/icon.svg",
    "web/components/icons.tsx",
  ];
  const outside = [
    "../platform/audit_actions.ts",
    "../deno.lock",
    "device/main.tsx",
    "account/styles/page.css",
  ];
  assertEquals([...needed, ...outside].filter((path) => !inputs.files.includes(path)), []);
});

Deno.test("build() compresses every file that benefits, so that no request waits for compression", async () => {
  await build();
  const { manifest, read } = await loadDist(DIST);
  const { scripts = [], styles = [] } = manifest.pages.web ?? {};
  const names = [...scripts, ...styles, manifest.sprite, catalogueFile(manifest.messages.web ?? "", "en")];
  for (const name of names) {
    const { body, packed } = read(name) ?? { body: new Uint8Array() };
    assertEquals([...packed?.keys() ?? []], ["br", "gzip"], name);
    const gzip = packed?.get("gzip") ?? new Uint8Array();
    const plain = new Response(new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip")));
    assertEquals(new Uint8Array(await plain.arrayBuffer()), body, name);
  }
});

Deno.test("build() keeps the phone page within 26 KB of script, 5 KB of its worker and 15 KB of styles, compressed", async () => {
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
  const worker = await weigh([manifest.phoneApp.worker]);
  assert(script > 0 && script <= MAX_PHONE_SCRIPT_OCTETS, `${script} octets of script`);
  assert(worker > 0 && worker <= MAX_WORKER_OCTETS, `${worker} octets of the service worker`);
  assert(style > 0 && style <= MAX_STYLE_OCTETS, `${style} octets of styles`);
});

Deno.test("build() keeps the account page within 45 KB of script and 15 KB of styles, compressed", async () => {
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

Deno.test("keysIn() finds keys and templates of keys, and no other text", () => {
  const script = 'a(t("common.undo"),t(`common.now`),"common.no_such_message","index.js",`users.${x}.js`)';
  assertEquals([...keysIn(script)].filter((key) => !key.startsWith("users.")), ["common.undo", "common.now"]);
  assertEquals(
    keysIn("t(`common.role_${role}`)"),
    new Set(
      ["owner", "user_manager", "operator", "help_desk", "viewer"].map((role) => `common.role_${role}`),
    ),
  );
  const ofUsers = Object.keys(en).filter((key) => key.startsWith("users."));
  assertEquals(keysIn(script).intersection(new Set(ofUsers)).size, ofUsers.length);
});

const readMessages = (dist: Dist, name: string): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(dist.read(catalogueFile(name, "en"))?.body));

Deno.test("build() writes each message of the console to the files of a page, and none to both of its files", async () => {
  await build();
  const dist = await loadDist(DIST);
  const { messages, pageMessages } = dist.manifest;
  const ofFrame = new Set(Object.keys(readMessages(dist, messages.web ?? "")));
  const ofPages = Object.values(pageMessages).map((name) => new Set(Object.keys(readMessages(dist, name))));
  assertEquals(ofPages.filter((keys) => keys.size === 0 || !keys.isDisjointFrom(ofFrame)), []);
  const written = ofPages.reduce((all, keys) => all.union(keys), ofFrame);
  const missing = Object.keys(en).filter((key) =>
    !/^(?:account|common|device|approve)\./.test(key) && !written.has(key)
  );
  assertEquals(missing, []);
  assert(["shell.live", "common.undo", "errors.offline", "signin.about"].every((key) => ofFrame.has(key)));
});

Deno.test("build() writes the messages that the code of a page names, also those of its dialogs", async () => {
  await build();
  const dist = await loadDist(DIST);
  const { messages, pageMessages } = dist.manifest;
  for (
    const [page, key] of [["users", "users.not_created"], ["user", "users.totp_title"], [
      "live",
      "live.flow_states",
    ], [
      "charts",
      "reports.range",
    ], ["settings_topic", "settings.save"]] as const
  ) {
    assert(key in readMessages(dist, pageMessages[page] ?? ""), `${page}: ${key}`);
  }
  assert("device.title" in readMessages(dist, messages.device ?? ""));
  assert("errors.last_own_factor" in readMessages(dist, messages.me ?? ""));
});

Deno.test("the manifest has scripts for each page, so that the HTML preloads them", async () => {
  await build();
  const { manifest } = await loadDist(DIST);
  for (const name of [...Object.keys(PAGE_ROUTES), "sign_in"]) {
    assert(scriptsOfPage(manifest, name).length > 0, name);
  }
  assertEquals(scriptsOfPage(manifest, "charts").length, new Set(scriptsOfPage(manifest, "charts")).size);
  assertEquals(scriptsOfPage(manifest, "settings_topic"), scriptsOfPage(manifest, "settings"));
  assertEquals(scriptsOfPage(manifest, "constructor"), []);
});

Deno.test("build() writes no inline source map, no address of another host, and no eval", async () => {
  const { manifest, read } = await loadDist(DIST);
  for (const { scripts, preloads, styles } of Object.values(manifest.pages)) {
    for (const name of [...scripts, ...preloads, ...styles]) {
      const text = new TextDecoder().decode(read(name)?.body);
      for (const foreign of text.match(/https?:\/\/[a-z0-9.-]+/g) ?? []) {
        // These are XML namespaces, and the base for parsing a URL. Nothing is fetched from them.
        assert(["http://www.w3.org", "http://localhost"].includes(foreign), `${name}: ${foreign}`);
      }
      assertEquals(/sourceMappingURL|\beval\(|new Function\(/.test(text), false, name);
    }
  }
});
