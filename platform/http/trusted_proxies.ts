// The reverse proxies whose X-Forwarded-For counts, as the settings say now.

import { createRangeCheck } from "../addresses.ts";
import type { LiveSettings } from "../config/live_settings.ts";

/** Whether an address is a trusted proxy, as the settings say now. */
export function followRanges(
  settings: Pick<LiveSettings, "config" | "onChange">,
): (address: string) => boolean {
  const { http } = settings.config;
  let isProxy = createRangeCheck(http.trustedProxies);
  settings.onChange((changed) => {
    if (changed.has("http.trusted_proxies")) isProxy = createRangeCheck(http.trustedProxies);
  });
  return (address) => isProxy(address);
}
