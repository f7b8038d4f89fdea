// The security headers of all HTTP responses, errors included.

import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";

const PAGE_SOURCES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
];
const PAGE_LIMITS = [
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
];

/** For pages: only files of this server, no inline script, and no script from strings. */
export const PAGE_POLICY = [...PAGE_SOURCES, ...PAGE_LIMITS, "trusted-types 'none'"].join("; ");

/** For the phone page: also its web app manifest and its service worker, with a Trusted Types policy for the worker's script. */
export const PHONE_PAGE_POLICY = [
  ...PAGE_SOURCES,
  "manifest-src 'self'",
  "worker-src 'self'",
  ...PAGE_LIMITS,
  "trusted-types phone-worker",
].join("; ");

/** For the service worker of the phone page: it calls this server, and loads no further script. */
export const WORKER_POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** For pages without script: only styles, images and forms of this server. */
export const SCRIPTLESS_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** For other responses: no content may run. The other headers are the same for all responses. */
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
  // A page sets its own policy.
  overwrite: false,
} satisfies Parameters<typeof secureHeaders>[0];
const ONE_YEAR_S = 31_536_000;

const plain = secureHeaders(OPTIONS);
/** Tells browsers to use https only (RFC 6797). */
const overTls = secureHeaders({ ...OPTIONS, strictTransportSecurity: `max-age=${ONE_YEAR_S}` });

/** Adds the security headers to every response, errors included. A response may be cached only if it has its own cache-control. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
  await (c.env.secure ? overTls : plain)(c, next);
  const { headers } = c.res;
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
};
