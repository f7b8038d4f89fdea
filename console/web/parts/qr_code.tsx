// A QR code as one path of run-length rows, so that no markup is made from text.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** The quiet zone that ISO/IEC 18004 asks for, in modules. */
const BORDER = 4;

/** @param props.label what it holds, for those who do not see it. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const drawn = useSignal<{ readonly size: number; readonly path: string } | null>(null);
  useEffect(() => {
    let isCurrent = true;
    void import("../qr_library.ts").then(({ encode }) => {
      const { size, data } = encode(text, { ecc: "M", border: BORDER });
      if (isCurrent) drawn.value = { size, path: pathOf(data) };
    });
    return () => {
      isCurrent = false;
    };
  }, [text]);
  const code = drawn.value;
  if (code === null) return <span class="qr-code" role="status" />;
  return (
    <svg class="qr-code" viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label={label}>
      <rect width={code.size} height={code.size} fill="#fff" />
      <path d={code.path} fill="#000" />
    </svg>
  );
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
