// The headers that every HTTP answer carries, errors included.

/** For pages: only our own files, no inline script, and no string that becomes script. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** For pages without script: styles, pictures and forms of our own. */
export const SCRIPTLESS_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** For everything that is not a page: nothing at all may run. */
const ANSWER_POLICY =
  "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'";

const ALWAYS: readonly (readonly [string, string])[] = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "no-referrer"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  [
    "permissions-policy",
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()",
  ],
];

/** These stand unless a handler set its own: a page its policy, an asset its cache. */
const UNLESS_SET: readonly (readonly [string, string])[] = [
  ["content-security-policy", ANSWER_POLICY],
  ["cache-control", "no-store"],
];

const ONE_YEAR_S = 31_536_000;

/**
 * The same answer with the security headers on it.
 *
 * @param options.secure whether the answer leaves over https, so that browsers may be told to stay there.
 */
export function withSecurityHeaders(response: Response, { secure }: { secure: boolean }): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of ALWAYS) headers.set(name, value);
  for (const [name, value] of UNLESS_SET) if (!headers.has(name)) headers.set(name, value);
  if (secure) headers.set("strict-transport-security", `max-age=${ONE_YEAR_S}`);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
