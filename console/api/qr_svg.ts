// A QR code as one path of run-length rows: the pages draw it without a library and without making markup from text.

import { encode } from "uqr";

/** A square of `size` modules with its dark ones as one SVG path. */
export interface QrPicture {
  readonly size: number;
  readonly path: string;
}

/** The quiet zone that ISO/IEC 18004 asks for, in modules. */
const BORDER = 4;
/** What the largest code holds at level M (ISO/IEC 18004, table 7), in octets. */
const MOST_OCTETS = 2331;

/** The picture of a text; `null` for one that no code can hold. */
export function qrPicture(text: string): QrPicture | null {
  if (new TextEncoder().encode(text).length > MOST_OCTETS) return null;
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
