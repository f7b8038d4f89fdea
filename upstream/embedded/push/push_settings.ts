// The settings of push messages, as they are now.

import type { Config } from "../../../platform/config/config.ts";
import type { PushSettings } from "./push_notifications.ts";

export function createPushSettings(config: Pick<Config, "push" | "http">): PushSettings {
  return {
    get enabled() {
      return config.push.enabled;
    },
    get hosts() {
      return config.push.hosts;
    },
    get contact() {
      return config.push.contact || defaultContact(config.http.publicUrl);
    },
  };
}

/** RFC 8292 §2.1: a mailto: or https: address. Apple refuses tokens without one. */
function defaultContact(publicUrl: string): string {
  return `https://${URL.parse(publicUrl)?.host ?? "localhost"}`;
}
