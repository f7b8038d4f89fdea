// Why a login ended as it did, in the words that explain it.

import type { Explanation } from "../api/conversations/explain_login.ts";
import { timeText } from "./format.ts";
import { t } from "./i18n/translate.ts";

/** Why a login was refused or a packet dropped, as one sentence. */
export function whyText({ code, values }: Pick<Explanation, "code" | "values">): string {
  const since = typeof values.sinceMs === "number" ? timeText(values.sinceMs) : "";
  return t(`explain.why_${code}`, { ...values, since });
}
