// The limits of bypass codes, by the settings: the routes enforce them, and the dialog offers only what they allow.

import type { HelpDeskSettings } from "../../../platform/config/config.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import type { BypassLimits } from "./help_desk_types.ts";

const MIN_MINUTES = 15;

export function bypassLimits({ bypassMaxMs, bypassMaxUses, bypassAnyUses }: HelpDeskSettings): BypassLimits {
  return {
    minMinutes: MIN_MINUTES,
    maxMinutes: Math.floor(bypassMaxMs / MINUTE_MS),
    maxUses: bypassMaxUses,
    anyUses: bypassAnyUses,
  };
}
