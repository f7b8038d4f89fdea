// The addresses of the phone page: the page, its web app manifest and its service worker. They are below /device/, which is the
// scope of the installed app, so that the worker never controls the console.

import { Hono } from "hono";
import type { DeviceService } from "../upstream/embedded/second_factor/interfaces.ts";
import { WORKER_POLICY } from "../platform/http/security_headers.ts";
import { ERROR_CODES } from "./api/error_codes.ts";
import { Refusal } from "./api/errors.ts";
import type { HttpEnv } from "./api/hono_env.ts";
import { assetResponse, type Dist } from "./assets.ts";
import { messagePreload, pageResponse } from "./html_shell.ts";

interface PhonePageDeps {
  /** `null` while an external service is used: there is no phone page. */
  readonly phone: () => DeviceService | null;
  readonly dist: Dist;
}

const PERMANENT_REDIRECT = 308;
/** Browsers ask for these files at each visit. */
const REVALIDATED = { "cache-control": "no-cache" };

export function createPhonePageRoutes({ phone, dist }: PhonePageDeps) {
  const file = (name: string, request: Request, headers: Readonly<Record<string, string>>): Response => {
    const asset = dist.read(name);
    if (asset === null) throw new Refusal("not_found");
    return assetResponse(asset, request, { ...REVALIDATED, ...headers });
  };
  const { phoneApp } = dist.manifest;
  return new Hono<HttpEnv>()
    // The browser keeps the fragment with an invitation (RFC 9110 §10.2.2).
    .get("/device", (c) => c.redirect(`/device/${new URL(c.req.url).search}`, PERMANENT_REDIRECT))
    .get(
      "/device/",
      (c) =>
        phone() === null
          ? noPhonePage()
          : pageResponse("device", dist, { preload: messagePreload(c.req.raw) }),
    )
    .get("/device/manifest.webmanifest", (c) => file(phoneApp.manifest, c.req.raw, {}))
    .get(
      "/device/sw.js",
      (c) => file(phoneApp.worker, c.req.raw, { "content-security-policy": WORKER_POLICY }),
    );
}

/** A refusal for a person who typed the address. */
function noPhonePage(): Response {
  const { status, message } = ERROR_CODES.no_phone_page;
  return new Response(`${message}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}
