// The hardware tokens of a full console: one of a user, and a free one.

import type { Store } from "../../platform/store.ts";
import type { HardwareTokens } from "../../radius/tokens/hardware_tokens.ts";
import { addToken } from "../radius/rows/tokens.ts";

/** A hardware token without a user. */
export const FULL_FREE_TOKEN = "2000002";

/** A hardware token of a user. */
export const FULL_ASSIGNED_TOKEN = "1000001";

export async function fillTokens(
  people: { hardwareTokens: HardwareTokens; store: Store },
  { user, text }: { user: string; text: string },
): Promise<void> {
  const totp = { serial: FULL_ASSIGNED_TOKEN, kind: "totp", periodS: 30 } as const;
  await addToken(people, user, { ...totp, manufacturer: text.slice(0, 100) });
  await addToken(people, null, { serial: FULL_FREE_TOKEN });
}
