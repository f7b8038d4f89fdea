// A QR code as one SVG path, which the pages draw without a library and without markup from text.

import { encode } from "uqr";

/** A square of `size` modules with its dark ones as one SVG path. */
export interface QrMatrix {
  readonly size: number;
  readonly path: string;
}

/** The quiet zone of ISO/IEC 18004, in modules. */
const BORDER = 4;
/** Capacity of the largest code at level M (ISO/IEC 18004, table 7). */
const MAX_OCTETS = 2331;

/** The code of a text; `null` if the text is too long. */
export function createQrMatrix(text: string): QrMatrix | null {
  if (new TextEncoder().encode(text).length > MAX_OCTETS) return null;
  const { size, data } = encode(text, { ecc: "M", border: BORDER });
  return { size, path: pathOf(data) };
}

/** One rectangle for each run of dark modules in a row. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  let path = "";
  for (const [y, row] of rows.entries()) {
    let start = -1;
    for (let x = 0; x <= row.length; x += 1) {
      const isDark = row[x] === true;
      if (isDark && start < 0) start = x;
      if (!isDark && start >= 0) {
        path += `M${start} ${y}h${x - start}v1h-${x - start}z`;
        start = -1;
      }
    }
  }
  return path;
}
