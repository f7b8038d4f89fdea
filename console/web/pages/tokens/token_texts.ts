// The texts of a hardware token: its type and its state.

import type { HardwareTokenState, HardwareTokenView } from "../../../api/tokens/token_types.ts";
import type { Tone } from "../../app/login_state_labels.ts";
import type { IconName } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";

/** "TOTP, 6 digits, 30 s"; the hash if it is not SHA-1. */
export function tokenTypeText(
  { kind, digits, periodS, algorithm }: Pick<HardwareTokenView, "kind" | "digits" | "periodS" | "algorithm">,
): string {
  const parts = [kind.toUpperCase(), t("tokens.digits_count", { count: digits })];
  if (kind === "totp") parts.push(`${periodS} s`);
  if (algorithm !== "SHA1") parts.push(algorithm);
  return parts.join(", ");
}

export function tokenStateText(state: HardwareTokenState): string {
  return t(`tokens.state_${state}`);
}

export const TOKEN_STATES: Readonly<
  Record<HardwareTokenState, { readonly tone: Tone; readonly shape: IconName }>
> = {
  free: { tone: "idle", shape: "ring" },
  assigned: { tone: "ok", shape: "check" },
  disabled: { tone: "bad", shape: "close" },
  expired: { tone: "wait", shape: "alert" },
};
