// The offline shell: the network first for the page, the cache first for files with a hash, and one cache for each build.

import { assertEquals, assertRejects } from "@std/assert";
import { ShellCache } from "../../../console/device/worker/shell_cache.ts";

const ORIGIN = "https://gate.example";
const FILES = ["/assets/device-1.js", "/assets/device-1.css"];

/** Caches in memory. A missing file fails the whole `addAll`, as in browsers. */
function setUp({ version = "v1", network = new Map<string, Response>() } = {}) {
  const stored = new Map<string, Map<string, Response>>();
  const asked: string[] = [];
  const timeouts: number[] = [];
  const pathOf = (input: RequestInfo | URL) =>
    new URL(typeof input === "object" && "url" in input ? input.url : input, ORIGIN).pathname;
  const fetchOf = (input: RequestInfo | URL) => {
    asked.push(pathOf(input));
    const found = network.get(pathOf(input));
    return found === undefined ? Promise.reject(new TypeError("no network")) : Promise.resolve(found.clone());
  };
  const caches = {
    open(name: string) {
      const files = stored.get(name) ?? new Map<string, Response>();
      stored.set(name, files);
      return Promise.resolve({
        async addAll(requests: Request[]) {
          const answers = await Promise.all(requests.map((one) => fetchOf(one.url)));
          requests.forEach((one, at) => files.set(pathOf(one), answers[at] ?? new Response()));
        },
        match: (path: string) => Promise.resolve(files.get(path)?.clone()),
      } as unknown as Cache);
    },
    keys: () => Promise.resolve([...stored.keys()]),
    delete: (name: string) => Promise.resolve(stored.delete(name)),
  };
  const shellOf = (version: string) =>
    new ShellCache({
      version,
      files: FILES,
      caches,
      fetch: fetchOf,
      // Requests need an address with a host outside a browser.
      url: (path) => ORIGIN + path,
      timeout(ms) {
        timeouts.push(ms);
        return new AbortController().signal;
      },
    });
  return { shell: shellOf(version), shellOf, network, stored, asked, timeouts };
}

const page = () => ({ method: "GET", mode: "navigate", url: `${ORIGIN}/device/` }) as Request;
const file = (path: string) => ({ method: "GET", mode: "cors", url: ORIGIN + path }) as Request;
const online = () => new Map(["/device/", ...FILES].map((path) => [path, new Response(`network ${path}`)]));
const textOf = async (answer: Promise<Response> | null) => await (await answer)?.text();

Deno.test("ShellCache stores the page and all files, or fails as a whole", async () => {
  const { shell, stored, network } = setUp({ network: online() });
  await shell.fill();
  assertEquals([...stored.get("countersign-phone-v1")?.keys() ?? []], ["/device/", ...FILES]);
  network.delete(FILES[1] ?? "");
  await assertRejects(() => shell.fill());
});

Deno.test("ShellCache answers with the page of the network while there is one, so it is never out of date", async () => {
  const { shell, network, timeouts } = setUp({ network: online() });
  await shell.fill();
  network.set("/device/", new Response("the next build"));
  assertEquals(await textOf(shell.answer(page())), "the next build");
  assertEquals(timeouts, [5000]);
});

Deno.test("ShellCache answers with its page without the network, and while the server is down", async () => {
  const { shell, network } = setUp({ network: online() });
  await shell.fill();
  network.set("/device/", new Response("bad gateway", { status: 502 }));
  assertEquals(await textOf(shell.answer(page())), "network /device/");
  network.clear();
  assertEquals(await textOf(shell.answer(page())), "network /device/");
});

Deno.test("ShellCache passes errors of the network on if it has no page", async () => {
  const { shell, network } = setUp();
  await assertRejects(async () => await shell.answer(page()), TypeError);
  network.set("/device/", new Response("bad gateway", { status: 502 }));
  assertEquals((await shell.answer(page()))?.status, 502);
});

Deno.test("ShellCache answers with its own files, and fetches one that it lost", async () => {
  const { shell, network, asked, stored } = setUp({ network: online() });
  await shell.fill();
  asked.length = 0;
  assertEquals(await textOf(shell.answer(file(FILES[0] ?? ""))), `network ${FILES[0]}`);
  assertEquals(asked, []);
  stored.clear();
  assertEquals(await textOf(shell.answer(file(FILES[0] ?? ""))), `network ${FILES[0]}`);
  assertEquals([asked, network.size], [[FILES[0]], 3]);
});

Deno.test("ShellCache leaves the API, other pages, other files and changes to the browser", () => {
  const { shell } = setUp();
  const left = [
    file("/device/api/view"),
    file("/assets/other.js"),
    { ...page(), url: `${ORIGIN}/devices` } as Request,
    { ...page(), method: "POST" } as Request,
  ];
  assertEquals(left.map((request) => shell.answer(request)), left.map(() => null));
});

Deno.test("ShellCache deletes the caches of other builds, and no other cache", async () => {
  const { shell, shellOf, stored } = setUp({ network: online() });
  stored.set("of another page", new Map());
  await shell.fill();
  const next = shellOf("v2");
  await next.fill();
  await next.removeOld();
  assertEquals([...stored.keys()], ["of another page", "countersign-phone-v2"]);
});
