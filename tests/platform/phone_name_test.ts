// The default name of a phone, from its browser's user agent.

import { assertEquals } from "@std/assert";
import { type BrowserIdentity, proposePhoneName } from "../../platform/device_label.ts";

const hints = (brands: string[], platform: string) => ({
  brands: brands.map((brand) => ({ brand })),
  platform,
});
const ANDROID = "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko)";
const APPLE = "(KHTML, like Gecko)";

const ROWS: readonly (readonly [string, BrowserIdentity])[] = [
  ["Chrome on Android", {
    userAgent: `${ANDROID} Chrome/150.0.0.0 Mobile Safari/537.36`,
    userAgentData: hints(["Not)A;Brand", "Chromium", "Google Chrome"], "Android"),
  }],
  ["Edge on Windows", {
    userAgent: "",
    userAgentData: hints(["Microsoft Edge", "Chromium", "Not:A-Brand"], "Windows"),
  }],
  ["Chromium on Linux", { userAgent: "", userAgentData: hints(["Chromium"], "Linux") }],
  ["Samsung Internet on Android", {
    userAgent: `${ANDROID} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
  }],
  ["Firefox on Android", {
    userAgent: "Mozilla/5.0 (Android 16; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0",
  }],
  ["Safari on iPhone", {
    userAgent:
      `Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 ${APPLE} Version/19.0 Mobile/15E148 Safari/604.1`,
  }],
  ["Chrome on iPhone", {
    userAgent:
      `Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 ${APPLE} CriOS/150.0 Mobile/15E148 Safari/604.1`,
  }],
  ["Safari on Mac", {
    userAgent:
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 ${APPLE} Version/19.0 Safari/605.1.15`,
  }],
  ["Android", { userAgent: "Something (Android)" }],
  ["", { userAgent: "curl/8.0" }],
  ["Firefox on Windows", {
    userAgent: "Mozilla/5.0 (Windows NT 10.0) Firefox/150.0",
    userAgentData: hints([], ""),
  }],
];

for (const [name, told] of ROWS) {
  Deno.test(`proposePhoneName() returns ${JSON.stringify(name)} (${told.userAgent.slice(-20)})`, () => {
    assertEquals(proposePhoneName(told), name);
  });
}
