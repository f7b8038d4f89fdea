// Dates as the telephony service writes them: RFC 2822 §3.3, in UTC.

/** E.g. `Tue, 21 Nov 2028 10:02:11 +0000`. */
export function formatMailDate(atMs: number): string {
  return new Date(atMs).toUTCString().replace(/GMT$/, "+0000");
}
