// A QR code, rendered by the server.

import type { QrMatrix } from "../../api/qr_svg.ts";

interface QrCodeProps {
  /** `null`: the content is too long for a QR code. */
  readonly picture: QrMatrix | null;
  /** For screen readers. */
  readonly label: string;
}

export function QrCode({ picture, label }: QrCodeProps) {
  if (picture === null) return null;
  const { size, path } = picture;
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
