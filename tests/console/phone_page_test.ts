// The addresses of the installed phone page, the seed of its passcodes, and the name of the phone.

import { assertEquals, assertMatch } from "@std/assert";
import { loadDist } from "../../console/assets.ts";
import { build } from "../../console/build/build.ts";
import { startConsole } from "../fakes/console_app.ts";
import { FAKE_INVITATION, FAKE_TOKEN } from "../fakes/console_phone.ts";
import { openComposition } from "../fakes/composition.ts";

const DIST = new URL("../../console/dist", import.meta.url);
const COOKIE = `countersign-phone=${FAKE_TOKEN}`;

async function builtConsole() {
  await build();
  return await startConsole({ dist: await loadDist(DIST) });
}

Deno.test("/device leads to the folder of the phone page, with its query", async () => {
  await using site = await startConsole();
  const { status, headers } = await site.call("/device?lang=de");
  assertEquals([status, headers.get("location")], [308, "/device/?lang=de"]);
});

Deno.test("the phone page allows its worker and its manifest, and no other page does", async () => {
  await using site = await builtConsole();
  const policyOf = async (path: string) => {
    const response = await site.call(path);
    await response.body?.cancel();
    return response.headers.get("content-security-policy") ?? "";
  };
  const phone = await policyOf("/device/");
  for (const rule of ["manifest-src 'self'", "worker-src 'self'", "trusted-types phone-worker"]) {
    assertEquals(phone.includes(rule), true, rule);
  }
  const console = await policyOf("/live");
  assertEquals(/manifest-src|worker-src|phone-worker/.test(console), false);
  assertMatch(console, /trusted-types 'none'/);
});

Deno.test("the service worker is revalidated, controls only its folder, and may only call this server", async () => {
  await using site = await builtConsole();
  const worker = await site.call("/device/sw.js");
  const script = await worker.text();
  assertEquals([worker.status, worker.headers.get("cache-control")], [200, "no-cache"]);
  assertMatch(worker.headers.get("content-type") ?? "", /^text\/javascript/);
  assertEquals(worker.headers.has("service-worker-allowed"), false);
  assertEquals(
    worker.headers.get("content-security-policy"),
    "default-src 'none'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  );
  const { files, icon, badge, texts } = JSON.parse(/^const WORKER_BUILD=(.+);$/m.exec(script)?.[1] ?? "");
  for (const path of ["/device/", ...files, icon, badge]) {
    const response = await site.call(path);
    await response.body?.cancel();
    assertEquals(response.status, 200, path);
  }
  assertEquals(Object.keys(texts.en), Object.keys(texts.de));
  assertEquals(Object.keys(texts.en).includes("device.question"), true);
});

Deno.test("the web app manifest names the app, its scope, and icons of the stated sizes", async () => {
  await using site = await builtConsole();
  const response = await site.call("/device/manifest.webmanifest");
  assertMatch(response.headers.get("content-type") ?? "", /^application\/manifest\+json/);
  assertEquals(response.headers.get("cache-control"), "no-cache");
  const manifest = await response.json();
  const { start_url, scope, display } = manifest;
  assertEquals([start_url, scope, display], ["/device/", "/device/", "standalone"]);
  assertEquals(manifest.icons.map(({ purpose }: { purpose: string }) => purpose), ["any", "any", "maskable"]);
  for (const { src, sizes, type } of manifest.icons) {
    const icon = await site.call(src);
    assertEquals([icon.headers.get("content-type"), type], ["image/png", "image/png"]);
    const view = new DataView(await icon.arrayBuffer());
    assertEquals(`${view.getUint32(16)}x${view.getUint32(20)}`, sizes);
  }
});

Deno.test("the HTML of the phone page names the manifest and the icon for iOS", async () => {
  await using site = await builtConsole();
  const html = await (await site.call("/device/")).text();
  assertMatch(html, /<link rel="manifest" href="\/device\/manifest\.webmanifest">/);
  const [, touchIcon = ""] = /<link rel="apple-touch-icon" href="([^"]+)">/.exec(html) ?? [];
  const icon = await site.call(touchIcon);
  await icon.body?.cancel();
  assertEquals(icon.status, 200);
  assertEquals((await (await site.call("/live")).text()).includes("webmanifest"), false);
});

Deno.test("createDeviceApi() sends the seed of a pairing, which no cache may keep", async () => {
  await using site = await startConsole();
  const post = (path: string, json: unknown, cookie = COOKIE) =>
    site.call(`/device/api${path}`, { method: "POST", json, cookie });
  const refused = await post("/pairings/p1/passcode-seed", {}, "");
  assertEquals((await refused.json()).error.code, "unknown_token");
  await (await post("/invitation/accept", { invitation: FAKE_INVITATION }, "")).body?.cancel();
  const response = await post("/pairings/p1/passcode-seed", {});
  assertEquals(response.headers.get("cache-control"), "no-store");
  assertEquals(await response.json(), {
    seed: "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA",
    digits: 6,
    stepMs: 30_000,
    seedMs: 1,
  });
});

Deno.test("a phone names itself for all its accounts; administrators and the account page see the name", async () => {
  await using composition = await openComposition();
  const { app, radius, services: { embedded } } = composition;
  if (embedded === null) throw new Error("There is no embedded service");
  let cookie = "";
  const call = async (method: string, path: string, json?: unknown) => {
    const response = await app(
      new Request(`http://localhost:8080/device/api${path}`, {
        method,
        headers: {
          host: "localhost:8080",
          origin: "http://localhost:8080",
          "content-type": "application/json",
          cookie,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      }),
      { remoteAddress: "192.0.2.7" },
    );
    cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return { status: response.status, body: await response.json() };
  };
  for (const user of ["ada", "bob"]) {
    const { invitation } = await embedded.admin.invite(user);
    assertEquals((await call("POST", "/invitation/accept", { invitation, name: "Old" })).status, 200);
  }
  const namesOf = async () =>
    (await call("GET", "/view")).body.view.pairings.map(({ name }: { name?: string }) => name);
  assertEquals(await namesOf(), ["Old", "Old"]);
  assertEquals(await call("POST", "/name", { name: " Pixel of Ada " }), {
    status: 200,
    body: { name: "Pixel of Ada" },
  });
  assertEquals(await namesOf(), ["Pixel of Ada", "Pixel of Ada"]);
  const stored = ["ada", "bob"].flatMap((user) => radius.pairings.of(user));
  assertEquals(stored.map((one) => one.kind === "device" && one.name), ["Pixel of Ada", "Pixel of Ada"]);
  for (const name of ["", " ", "a\nb", "x".repeat(61)]) {
    assertEquals((await call("POST", "/name", { name })).body.error.code, "bad_phone_name");
  }
  const renames = (await composition.audits()).filter(({ action }) => action === "pairing.rename");
  assertEquals(
    renames.map(({ actor, object, before, after, source }) => [actor, object, before, after, source]),
    [
      ["user:ada", "user:ada", "Old", "Pixel of Ada", "192.0.2.7"],
      ["user:bob", "user:bob", "Old", "Pixel of Ada", "192.0.2.7"],
    ],
  );
});
