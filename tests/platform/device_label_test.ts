// Names of phones: accepted and refused ones, and their normalised form.

import { assertEquals } from "@std/assert";
import { deviceKind, parseDeviceLabel } from "../../platform/device_label.ts";

/** The input, and the resulting name. */
const TAKEN = [
  ["Pixel of Ada", "Pixel of Ada"],
  ["  Safari on iPhone ", "Safari on iPhone"],
  ["Zoe\u0308s Handy", "Zoës Handy"],
  ["👩‍💻 phone", "👩‍💻 phone"],
  ["هاتف", "هاتف"],
  ["x".repeat(60), "x".repeat(60)],
  ["😀".repeat(60), "😀".repeat(60)],
  [`"><img src=x onerror=alert(1)>`, `"><img src=x onerror=alert(1)>`],
] as const;

for (const [given, name] of TAKEN) {
  Deno.test(`parseDeviceLabel() accepts ${JSON.stringify(given.slice(0, 30))}`, () => {
    assertEquals(parseDeviceLabel(given), name);
  });
}

const REFUSED = {
  "nothing": "",
  "blanks": "   ",
  "what cannot be seen": "\u200b\u200d",
  "a control character": "a\u0007b",
  "a line end": "a\nb",
  "a line separator": "a\u2028b",
  "an override of direction": "a\u202eb",
  "an isolate": "a\u2066b",
  "a mark of direction": "\u200fa",
  "a lone surrogate": "a\ud800",
  "61 characters": "x".repeat(61),
  "a megabyte": "x".repeat(1 << 20),
};

for (const [what, given] of Object.entries(REFUSED)) {
  Deno.test(`parseDeviceLabel() refuses ${what}`, () => assertEquals(parseDeviceLabel(given), null));
}

const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.5 Safari/605.1.15";

Deno.test("deviceKind() believes a page that it runs on a tablet, and nothing else", () => {
  const rows = [
    [MAC, undefined, "computer"],
    [MAC, "tablet", "tablet"],
    [MAC, "phone", "computer"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)", "", "phone"],
    ["curl/8", "x".repeat(9000), null],
  ] as const;
  for (const [agent, given, kind] of rows) assertEquals(deviceKind(agent, given), kind);
});
