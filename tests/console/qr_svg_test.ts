// QR codes as the server draws them for the pages.

import { assert, assertEquals } from "@std/assert";
import { encode } from "uqr";
import { createQrMatrix, type QrMatrix } from "../../console/api/qr_svg.ts";

const MOST_OCTETS = 2331;

/** The modules that a path covers. */
function modulesOf({ size, path }: QrMatrix): boolean[][] {
  const rows = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  for (const [, x, y, wide, back] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-(\d+)z/g)) {
    assertEquals(wide, back, "each run goes back to where it began");
    rows[Number(y)]?.fill(true, Number(x), Number(x) + Number(wide));
  }
  return rows;
}

Deno.test("createQrMatrix() covers the dark modules and no others", () => {
  for (
    const text of ["https://id.example/device#invite=abc", "otpauth://totp/Ada?secret=GEZDGNBV", "Zoë 7"]
  ) {
    const picture = createQrMatrix(text);
    assert(picture !== null);
    if (picture !== null) assertEquals(modulesOf(picture), encode(text, { ecc: "M", border: 4 }).data);
  }
});

Deno.test("createQrMatrix() contains only lengths, whatever the text is", () => {
  assert(/^[Mhvz0-9 -]+$/.test(createQrMatrix(`"><img src=x onerror=alert(1)>`)?.path ?? ""));
});

Deno.test("createQrMatrix() draws the longest text that fits into a code, and no longer one", () => {
  assertEquals(createQrMatrix("x".repeat(MOST_OCTETS))?.size, 177 + 2 * 4);
  assertEquals(createQrMatrix("x".repeat(MOST_OCTETS + 1)), null);
  assertEquals(createQrMatrix("ä".repeat(MOST_OCTETS / 2 + 1)), null, "octets count, not characters");
});
