// The security headers of all HTTP responses, errors included.

import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";

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

/** For other responses: nothing may run. The other headers are the same for all responses. */
const OPTIONS = {
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
  },
  permissionsPolicy: {
    ...{ accelerometer: [], camera: [], displayCapture: [], geolocation: [] },
    ...{ gyroscope: [], microphone: [], payment: [], usb: [] },
  },
  xFrameOptions: "DENY",
  originAgentCluster: false,
  strictTransportSecurity: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  // A page has a policy of its own.
  overwrite: false,
} satisfies Parameters<typeof secureHeaders>[0];
const ONE_YEAR_S = 31_536_000;

const plain = secureHeaders(OPTIONS);
/** Tells browsers to use https only (RFC 6797). */
const overTls = secureHeaders({ ...OPTIONS, strictTransportSecurity: `max-age=${ONE_YEAR_S}` });

/** Adds the security headers to every response, errors included. Only a response that says so may be cached. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
  await (c.env.secure ? overTls : plain)(c, next);
  const { headers } = c.res;
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
};
