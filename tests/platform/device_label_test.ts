// Names of phones: accepted and refused ones, and their normalised form.

import { assertEquals } from "@std/assert";
import { parseDeviceLabel } from "../../platform/device_label.ts";

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
