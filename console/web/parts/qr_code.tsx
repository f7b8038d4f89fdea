// A QR code, as the server drew it.

import type { QrPicture } from "../../api/qr_svg.ts";

interface QrCodeProps {
  /** `null`: what it should hold is too long for any code. */
  readonly picture: QrPicture | null;
  /** What it holds, for those who do not see it. */
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
